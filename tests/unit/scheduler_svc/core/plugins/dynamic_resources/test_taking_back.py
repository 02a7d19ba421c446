"""PostFilter: what is undone so that a Pod may fit."""

from typing import Any

import pytest

from scheduler_svc.core.devices.writes import Deallocate, DeleteClaim
from scheduler_svc.core.effects import PodReference, RunCleanup
from scheduler_svc.core.framework.interface import PreFilterPlugin, PreFilterResult
from scheduler_svc.core.status import Code, Status
from tests.builders import make_node_info, make_profile
from tests.device_builders import (
    allocation,
    container,
    device_cluster,
    make_claim,
    make_claiming_pod,
    make_class,
    result,
    used_by,
)
from tests.unit.scheduler_svc.core.plugins.dynamic_resources.staging import POINTS, Stage

GPU = "example.com/gpu"
POD = PodReference("default", "p", "uid-p")
NODES = [make_node_info("n1"), make_node_info("n2")]
GONE = {"allocation": allocation(result("d0", "n9"), node="n9")}
ANYWHERE = {"allocation": allocation(result("d1", "net"))}


def outcome(here: Stage, pod: Any) -> tuple[Code, str, Any]:
    """Give the code, the text, and the work."""
    result_ = here.post_filter(pod)
    works = [effect.payload for effect in result_.effects if isinstance(effect, RunCleanup)]
    return result_.status.code, result_.status.message, works[0] if works else None


def test_a_pod_without_claims_has_none_to_give_back() -> None:
    here = Stage(device_cluster(NODES))
    text = "no new claims to deallocate"
    assert outcome(here, make_claiming_pod("p")) == (Code.UNSCHEDULABLE, text, None)
    assert outcome(here, make_claiming_pod("p", "missing")) == (Code.UNSCHEDULABLE, text, None)


@pytest.mark.parametrize(
    ("users", "taken"), [((), True), (("p",), True), (("q",), False), (("p", "q"), False)]
)
def test_a_claim_that_no_node_reaches_is_deallocated_unless_others_use_it(
    users: tuple[str, ...], taken: bool
) -> None:
    status = GONE | {"reservedFor": used_by(*users)}
    here = Stage(
        device_cluster(NODES, make_claim("a", status=ANYWHERE), make_claim("b", status=status))
    )
    code, text, work = outcome(here, make_claiming_pod("p", "a", "b"))
    assert code is Code.UNSCHEDULABLE
    if taken:
        assert text == "deallocation of ResourceClaim completed"
        assert work == Deallocate("b", "uid-b", "1")
    else:
        assert (text, work) == ("still not schedulable", None)


def test_what_is_wanted_is_done_for_the_pod() -> None:
    here = Stage(device_cluster(NODES, make_claim("b", status=GONE)))
    (effect,) = here.post_filter(make_claiming_pod("p", "b")).effects
    assert isinstance(effect, RunCleanup)
    assert (effect.pod, effect.plugin) == (POD, "DynamicResources")


def test_without_devices_to_be_had_nothing_is_undone() -> None:
    here = Stage(device_cluster(NODES, make_claim("c")))
    text = "still not schedulable"
    assert outcome(here, make_claiming_pod("p", "c")) == (Code.UNSCHEDULABLE, text, None)


def test_a_claim_left_from_an_earlier_attempt_is_deleted() -> None:
    owner = {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    made = {
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [owner],
    }
    gpu = make_class("gpu", extendedResourceName=GPU)
    here = Stage(device_cluster(NODES, gpu, make_claim("old", metadata=made)))
    pod = make_claiming_pod("p", containers=[container("c", {GPU: "1"})])
    assert outcome(here, pod) == (
        Code.UNSCHEDULABLE,
        "deletion of ResourceClaim completed",
        DeleteClaim("old", "uid-old"),
    )
    fresh = Stage(device_cluster(NODES, gpu))
    assert outcome(fresh, pod)[1] == "still not schedulable"


class Rejecting(PreFilterPlugin):
    """Turns every Pod away before any Node."""

    name = "Rejecting"

    def __init__(self, code: Code) -> None:
        self._code = code

    def pre_filter(self, pod: Any, cluster: Any) -> PreFilterResult:
        del pod, cluster
        return PreFilterResult(Status(self._code, ("no",)))


@pytest.mark.parametrize(
    ("code", "quirks", "expected"),
    [
        # kube-scheduler's plugin does not find its own state then.
        (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, True, (Code.ERROR, "not found", None)),
        (
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            False,
            (Code.UNSCHEDULABLE, "still not schedulable", None),
        ),
        (Code.UNSCHEDULABLE, True, (Code.UNSCHEDULABLE, "still not schedulable", None)),
    ],
)
def test_a_pod_that_another_plugin_turned_away_first(
    code: Code, quirks: bool, expected: object
) -> None:
    here = Stage(device_cluster(NODES, make_claim("b", status=GONE)), upstream_quirks=quirks)
    points: dict[str, list[Any]] = {point: [here.plugin] for point in POINTS}
    points["preFilter"].insert(0, Rejecting(code))
    here.profile = make_profile(points)
    assert outcome(here, make_claiming_pod("p", "b")) == expected


def test_a_pod_that_another_plugin_turned_away_later() -> None:
    """In a profile where the plugins of devices come first."""
    here = Stage(device_cluster(NODES, make_claim("b", status=GONE)))
    points: dict[str, list[Any]] = {point: [here.plugin] for point in POINTS}
    points["preFilter"].append(Rejecting(Code.UNSCHEDULABLE_AND_UNRESOLVABLE))
    here.profile = make_profile(points)
    unmoved = (Code.UNSCHEDULABLE, "still not schedulable", None)
    assert outcome(here, make_claiming_pod("p", "b")) == unmoved
    text = "no new claims to deallocate"
    assert outcome(here, make_claiming_pod("q")) == (Code.UNSCHEDULABLE, text, None)
