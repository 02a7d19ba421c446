"""Each right of the controller's role is needed, and together they are enough."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from deploy.controlplane import ControlPlane
from tests.integration.controller_objects import ControllerProcess
from tests.integration.rest import request, wait_for
from tests.integration.rights.audit import calls_of, right_of
from tests.integration.rights.controller_case import ControllerCase
from tests.integration.rights.kinds import GROUPS, GROUPS_OF_KUBERNETES, PROFILES
from tests.integration.rights.roles import Account, Right, create_account, rights_of

pytestmark = pytest.mark.integration

CLUSTER: Final = rights_of("ClusterRole", "berthmaster-controller")
LEASE: Final = rights_of("Role", "berthmaster-controller-lease")
LEASE_PATH: Final = (
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berthmaster-controller"
)
ALONE: Final = "--leader-elect=false"


def _log(case: ControllerCase) -> str:
    return case.process.log()


ACTS: Final[
    Mapping[str, tuple[Callable[[ControllerCase], None], Callable[[ControllerCase], str]]]
] = {
    "list podgroups.scheduling.x-k8s.io": (ControllerCase.look, ControllerCase.readiness),
    "watch podgroups.scheduling.x-k8s.io": (ControllerCase.look, _log),
    "list podgroups.scheduling.k8s.io": (ControllerCase.look, ControllerCase.readiness),
    "watch podgroups.scheduling.k8s.io": (ControllerCase.look, _log),
    "patch podgroups/status.scheduling.x-k8s.io": (ControllerCase.group, _log),
    "patch podgroups/status.scheduling.k8s.io": (ControllerCase.group_of_kubernetes, _log),
    "list schedulerprofiles": (ControllerCase.look, ControllerCase.readiness),
    "watch schedulerprofiles": (ControllerCase.look, _log),
    "patch schedulerprofiles/status": (ControllerCase.profile, _log),
    "list pods": (ControllerCase.look, ControllerCase.readiness),
    "watch pods": (ControllerCase.look, ControllerCase.readiness),
    "create events": (ControllerCase.profile, _log),
    "create tokenreviews": (ControllerCase.ask_for_metrics, _log),
    "create subjectaccessreviews": (ControllerCase.ask_for_metrics, _log),
}
"""By the right: what is done, and where it is told that the right is missing."""


@contextmanager
def running(
    plane: ControlPlane, account: Account, reader: str, folder: Path, *arguments: str
) -> Iterator[ControllerCase]:
    """Run a controller with an account's token; what its case has made is gone afterwards."""
    with ControllerProcess(
        folder / "log",
        *("--kubeconfig", str(account.kubeconfig_path), "--secure-port", "0"),
        *("--bind-address", "127.0.0.1", *arguments),
    ) as process:
        case = ControllerCase(plane, process, name=account.name, reader=reader)
        try:
            yield case
        finally:
            case.clear()


def account_without(plane: ControlPlane, folder: Path, missing: Right) -> Account:
    name = re.sub(r"\W+", "-", f"controller no {missing}").strip("-").lower()
    rights = [right for right in CLUSTER if right != missing]
    lease_rights = [right for right in LEASE if right != missing]
    return create_account(plane, folder, name, rights, lease_rights)


@pytest.mark.parametrize("missing", CLUSTER, ids=str)
def test_what_the_controller_may_not_do_is_told_of(
    plane: ControlPlane, reader: str, tmp_path: Path, missing: Right
) -> None:
    account = account_without(plane, tmp_path, missing)
    act, tell = ACTS[str(missing)]
    with running(plane, account, reader, tmp_path, ALONE) as case:
        act(case)
        wait_for("it is told", lambda: missing.refusal in tell(case).replace("\\", ""))


@pytest.mark.parametrize("missing", LEASE, ids=lambda right: f"{right.verb}-{right.name}")
def test_lease_that_the_controller_may_not_have_is_told_of(
    plane: ControlPlane, reader: str, tmp_path: Path, missing: Right
) -> None:
    account = account_without(plane, tmp_path, missing)
    request(plane, "DELETE", LEASE_PATH)
    if missing.verb == "update":
        body = {
            "metadata": {"name": LEASE_PATH.rpartition("/")[2]},
            "spec": {"holderIdentity": "", "leaseDurationSeconds": 1},
        }
        assert request(plane, "POST", LEASE_PATH.rpartition("/")[0], body)[0] == 201
    with running(plane, account, reader, tmp_path) as case:
        wait_for("the log tells", lambda: missing.refusal in _log(case).replace("\\", ""))


def test_every_right_of_the_controller_is_tried() -> None:
    assert ACTS.keys() == {str(right) for right in CLUSTER}


def test_nothing_is_refused_to_a_controller_with_all_rights_and_all_are_used(
    plane: ControlPlane, reader: str, audit_log: Path, tmp_path: Path
) -> None:
    request(plane, "DELETE", LEASE_PATH)
    account = create_account(plane, tmp_path, "controller-all", CLUSTER, LEASE)
    with running(plane, account, reader, tmp_path) as case:
        case.group()
        wait_for("the group's status", lambda: case.status(GROUPS).get("phase"))
        case.clear()
        case.group_of_kubernetes()
        wait_for("its status", lambda: case.status(GROUPS_OF_KUBERNETES).get("conditions"))
        case.profile()
        wait_for("the profile's status", lambda: case.status(PROFILES).get("conditions"))
        wait_for("an Event", case.events)
        assert 'code="403"' not in case.metrics()
        assert "[-]" not in case.readiness()
        case.process.send_signal(signal.SIGTERM)
        assert case.process.wait_exit() == 0
        assert "orbidden" not in case.process.log()
    calls = calls_of(audit_log, account)
    assert [call for call in calls if call["responseStatus"]["code"] in (401, 403)] == []
    seen = {right_of(call) for call in calls}
    unused = {right for right in (*CLUSTER, *LEASE) if right._replace(name="") not in seen}
    assert unused == set()
