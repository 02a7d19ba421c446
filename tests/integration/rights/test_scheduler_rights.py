"""Each right of the scheduler's role is needed, and together they are enough.

A scheduler that lacks one says so where its operator looks, in the API server's own words: in
the log, in ``/readyz``, or in the answer to whoever asked. All rights together are never
refused, neither by what the scheduler counts nor by what the API server notes.
"""

from __future__ import annotations

import re
import signal
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from deploy.controlplane import ControlPlane
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from scheduler_svc.shell.extenders.full_objects import FullObjects
from scheduler_svc.shell.extenders.wire import ExtenderError
from tests.faultproxy import FaultProxy
from tests.integration.rest import read, request, wait_for
from tests.integration.rights.audit import calls_of, right_of
from tests.integration.rights.case import PODS, Case
from tests.integration.rights.kinds import PROFILES
from tests.integration.rights.roles import Account, Right, create_account, rights_of
from tests.integration.rights.scheduler_scenarios import SCENARIOS
from tests.integration.scheduler_faults.link import Link
from tests.integration.scheduler_faults.loop_thread import LoopThread
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

CLUSTER: Final = rights_of("ClusterRole", "berthmaster-scheduler")
LEASE: Final = rights_of("Role", "berthmaster-lease")
PROFILE_VIEWS: Final = [
    right
    for right in CLUSTER
    if right.verb in ("list", "watch") and right.resource == "schedulerprofiles"
]
VIEWS: Final = [
    right for right in CLUSTER if right.verb in ("list", "watch") and right not in PROFILE_VIEWS
]
WRITES: Final = [right for right in CLUSTER if str(right) in SCENARIOS]
VIEWS_OF: Final = {
    ("", "pods"): {"pods", "failed-pods"},
    ("scheduling.k8s.io", "podgroups"): {"podgroups.scheduling.k8s.io"},
}
"""By group and resource, where there are more views than one, or one of another name."""
NODES_IN_FULL: Final = Right("get", resource="nodes")
LEASE_PATH: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berthmaster"
OPEN: Final = ("--authorization", "none")
ALONE: Final = "--leader-elect=false"


class AccountLink(Link):
    """The way to the API server with an account's token."""

    def __init__(
        self, loop: LoopThread, plane: ControlPlane, directory: Path, account: Account
    ) -> None:
        super().__init__(loop, plane, directory)
        self._proxy = FaultProxy(
            plane.url, ca_path=plane.ca_path, token=account.token, directory=directory
        )


def scheduler(kubeconfig: Path, folder: Path, *arguments: str) -> SchedulerProcess:
    return SchedulerProcess(
        folder / "log",
        *("--kubeconfig", str(kubeconfig), "--secure-port", "0"),
        *("--bind-address", "127.0.0.1", *arguments),
    )


def account_without(plane: ControlPlane, folder: Path, missing: Right) -> Account:
    name = re.sub(r"\W+", "-", f"no {missing.verb} {missing.group} {missing.resource}").strip("-")
    rights = [right for right in CLUSTER if right != missing]
    name = f"{name}-{missing.path.count('/')}" if missing.path else name
    return create_account(
        plane, folder, name.lower(), rights, [right for right in LEASE if right != missing]
    )


def says(text: str, right: Right) -> bool:
    """Tell whether a text has the API server's words about a missing right, however quoted."""
    return right.refusal in text.replace("\\", "")


def readiness(process: SchedulerProcess) -> str:
    return process.get("/readyz?verbose")[1]


def failing(process: SchedulerProcess, missing: Right) -> set[str]:
    """Give the checks of readiness that fail for a right that is missing."""
    lines = readiness(process).splitlines()
    return {line.split()[0] for line in lines if says(line, missing)}


@pytest.mark.parametrize("missing", VIEWS, ids=str)
def test_view_that_may_not_be_had_is_named_by_readiness(
    plane: ControlPlane, tmp_path: Path, missing: Right
) -> None:
    account = account_without(plane, tmp_path, missing)
    with scheduler(account.kubeconfig_path, tmp_path, ALONE, *OPEN) as process:
        views = VIEWS_OF.get((missing.group, missing.resource), {missing.resource})
        checks = {f"[-]watch-{view}" for view in views}
        wait_for("/readyz tells", lambda: checks <= failing(process, missing))
        assert failing(process, missing) == checks
        assert says(process.wait_line("reason=forbidden"), missing)
        # Without a list the cluster is not known; without a watch what was listed is.
        is_ready_to_lead = "Listed the cluster" in process.log()
        assert is_ready_to_lead == (missing.verb == "watch")


@pytest.mark.parametrize("missing", PROFILE_VIEWS, ids=str)
def test_profiles_that_may_not_be_had_are_told_of_and_the_others_served(
    plane: ControlPlane, tmp_path: Path, missing: Right
) -> None:
    account = account_without(plane, tmp_path, missing)
    with scheduler(account.kubeconfig_path, tmp_path, ALONE, *OPEN) as process:
        assert says(process.wait_line("reason=forbidden"), missing)
        process.wait_line("Leading:")
        wait_for("it is ready", lambda: process.get("/readyz")[0] == 200)


@pytest.mark.parametrize("missing", WRITES, ids=str)
def test_what_may_not_be_done_is_told_of(
    plane: ControlPlane, loop: LoopThread, reader: str, tmp_path: Path, missing: Right
) -> None:
    account = account_without(plane, tmp_path, missing)
    with (
        AccountLink(loop, plane, tmp_path / "link", account) as link,
        scheduler(link.kubeconfig_path, tmp_path, ALONE) as process,
    ):
        process.wait_line("Leading:")
        tokens = {"reader": reader, "own_token": account.token}
        case = Case(plane, process, link, name=account.name, **tokens)
        SCENARIOS[str(missing)].act(case)

        def is_told() -> bool:
            answers = "\n".join(text for _, text in case.answers)
            return says(process.log(), missing) or (bool(missing.path) and says(answers, missing))

        wait_for("the log tells", is_told)
        delete_made(plane, case.name)


def delete_made(plane: ControlPlane, prefix: str) -> None:
    """Delete Pods and profiles, so that the next scheduler has nothing to do about them."""
    at_once = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    for collection in (PODS, PROFILES):
        for item in request(plane, "GET", collection)[1]["items"]:
            if item["metadata"]["name"].startswith(prefix):
                request(plane, "DELETE", f"{collection}/{item['metadata']['name']}", at_once)


@pytest.mark.parametrize("missing", LEASE, ids=str)
def test_lease_that_may_not_be_had_is_told_of(
    plane: ControlPlane, tmp_path: Path, missing: Right
) -> None:
    account = account_without(plane, tmp_path, missing)
    request(plane, "DELETE", LEASE_PATH)
    if missing.verb == "update":
        given_back = {"holderIdentity": "", "leaseDurationSeconds": 1}
        body = {"metadata": {"name": "berthmaster"}, "spec": given_back}
        assert request(plane, "POST", LEASE_PATH.rpartition("/")[0], body)[0] == 201
    with scheduler(account.kubeconfig_path, tmp_path, *OPEN) as process:
        wait_for("the log tells", lambda: says(process.log(), missing))


async def read_node_in_full(account: Account, name: str) -> str:
    """Read a Node that no view has yet, as is done for extenders; give what went wrong."""
    credentials = await Credentials.load(str(account.kubeconfig_path))
    async with KubeClient(credentials, user_agent="test") as client:
        try:
            await FullObjects(client).nodes([name])
        except ExtenderError as error:
            return str(error)
    return ""


async def test_node_that_may_not_be_read_is_told_of(plane: ControlPlane, tmp_path: Path) -> None:
    account = account_without(plane, tmp_path, NODES_IN_FULL)
    assert says(await read_node_in_full(account, "any"), NODES_IN_FULL)


def test_every_right_is_tried() -> None:
    needed = set(CLUSTER) - {*VIEWS, *PROFILE_VIEWS, *WRITES}
    assert needed == {NODES_IN_FULL}
    assert SCENARIOS.keys() == {str(right) for right in WRITES}


@pytest.fixture
def account(plane: ControlPlane, tmp_path: Path) -> Account:
    """Give an account with all rights."""
    return create_account(plane, tmp_path, "all", CLUSTER, LEASE)


async def test_nothing_is_refused_with_all_rights_and_all_are_used(
    plane: ControlPlane,
    loop: LoopThread,
    account: Account,
    reader: str,
    audit_log: Path,
    tmp_path: Path,
) -> None:
    request(plane, "DELETE", LEASE_PATH)
    with (
        AccountLink(loop, plane, tmp_path / "link", account) as link,
        scheduler(link.kubeconfig_path, tmp_path, "-v", "2") as process,
    ):
        process.wait_line("Leading:")
        scenarios = {
            Case(
                *(plane, process, link),
                name=f"all-{number}",
                reader=reader,
                own_token=account.token,
            ): scenario
            for number, scenario in enumerate(dict.fromkeys(SCENARIOS.values()))
        }
        for case, scenario in scenarios.items():
            scenario.act(case)
        for case, scenario in scenarios.items():
            wait_for(scenario.act.__doc__ or "", partial(scenario.works, case))
        await read_node_in_full(account, "all-0")
        _, metrics = process.get("/metrics", token=reader)
        assert 'code="403"' not in metrics
        assert re.search(r'api_calls_total{code="201",resource="pods/binding"', metrics)
        assert "[+]watch-resourceclaims ok" in readiness(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait_exit() == 0
        assert "orbidden" not in process.log()
        [profile] = read(plane, PROFILES)["items"]
        assert not profile.get("status", {}).get("observedBy")  # it has taken itself out
        delete_made(plane, "all-")
    calls = calls_of(audit_log, account)
    refused = [call for call in calls if call["responseStatus"]["code"] in (401, 403, 422)]
    assert [(call["requestURI"], call["responseStatus"]) for call in refused] == []
    seen = {right_of(call) for call in calls}
    unused = [right for right in (*CLUSTER, *LEASE) if right._replace(name="") not in seen]
    # Of these the API server asks nobody by a call of their own.
    assert [r for r in unused if not r.path and r.resource != "resourceclaims/binding"] == []
