"""Whether a Pod may preempt, whom, and what it is told."""

import msgspec
import numpy as np
import pytest

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.effects import PodReference, ReportPreemption
from scheduler_svc.core.framework.diagnosis import Diagnosis
from scheduler_svc.core.framework.interface import State
from scheduler_svc.core.framework.post_filter import FailedAttempt, PostFilterResult
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.objects import PodCondition
from scheduler_svc.core.plugins.default_preemption import DefaultPreemption
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Code, Status
from tests.builders import make_node_info, make_pod_info
from tests.scripted_plugins import Filtering, PreFiltering, node_names
from tests.unit.scheduler_svc.core.preemption.building import budget, failed_attempt, pod

PREEMPTED = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler")
CLEARED = ""


def on(node: str, name: str, cpu: int, priority: int = 0) -> PodInfo:
    return pod(name, priority, node=node, requests={"cpu": cpu})


def wants(cpu: int, priority: int = 10) -> PodInfo:
    return pod("new", priority, requests={"cpu": cpu})


def ask(attempt: FailedAttempt, plugin: DefaultPreemption | None = None) -> PostFilterResult:
    return (plugin or DefaultPreemption()).post_filter(attempt)


def text(result: PostFilterResult) -> str:
    assert result.status.code is Code.UNSCHEDULABLE
    assert result.preemption is None
    return result.status.message


def victim_count(result: PostFilterResult) -> int:
    [report] = result.effects
    assert isinstance(report, ReportPreemption)
    return report.victim_count


def test_every_pod_may_enter_the_queue_and_no_event_is_waited_for() -> None:
    plugin = DefaultPreemption()
    assert plugin.pre_enqueue(make_pod_info()) == SUCCESS
    assert plugin.events_to_register() == ()


def test_the_best_node_is_nominated_and_its_victims_named() -> None:
    nodes = [make_node_info("a"), make_node_info("b")]
    pods = [on("a", "a0", 4, 5), on("b", "b0", 2, 3), on("b", "b1", 2, 1)]
    result = ask(failed_attempt(wants(4), nodes, pods))
    assert result.status == SUCCESS
    assert result.nomination == "b"
    assert result.preemption is not None
    assert result.preemption.node_name == "b"
    assert [victim.name for victim in result.preemption.victims] == ["b0", "b1"]
    assert result.effects == (
        ReportPreemption(PodReference("default", "new", "uid-new"), "berthmaster", 2),
    )


def test_victims_that_are_leaving_already_are_not_counted_alone() -> None:
    leaving = pod("a0", 1, node="a", requests={"cpu": 4}, is_terminating=True)
    result = ask(failed_attempt(wants(4), [make_node_info("a")], [leaving]))
    assert result.nomination == "a"
    assert victim_count(result) == 0


def test_a_pod_may_have_sworn_off_preemption() -> None:
    preemptor = wants(4)
    shape = msgspec.structs.replace(preemptor.shape, may_preempt=False)
    preemptor = msgspec.structs.replace(preemptor, shape=shape)
    attempt = failed_attempt(preemptor, [make_node_info("a")], [on("a", "a0", 4)])
    result = ask(attempt)
    assert text(result) == "preemption: not eligible due to preemptionPolicy=Never."
    assert result.nomination is None
    assert victim_count(result) == 0


def test_without_candidates_the_nomination_is_cleared() -> None:
    nodes = [make_node_info("a", cpu=2), make_node_info("b"), make_node_info("c")]
    pods = [on("b", "b0", 4, 10), on("c", "c0", 3, 11), on("c", "c1", 1, 1)]
    result = ask(failed_attempt(wants(4), nodes, pods))
    assert text(result) == (
        "preemption: 0/3 nodes are available: 1 Insufficient cpu, "
        "1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )
    assert result.nomination == CLEARED
    assert result.rejectors == {"NodeResourcesFit"}


def test_without_nodes_it_is_an_error() -> None:
    result = ask(failed_attempt(wants(4), []))
    assert result.status == Status(Code.ERROR, ("preemption: no nodes available",))
    assert result.nomination is None


def test_where_nothing_can_help_nobody_is_looked_at() -> None:
    nodes = [make_node_info("a", cpu=2), make_node_info("b", cpu=2)]
    result = ask(failed_attempt(wants(4), nodes))
    assert text(result) == (
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )
    assert result.nomination == CLEARED


def terminating(name: str, priority: int, *conditions: PodCondition) -> PodInfo:
    return pod(
        name,
        priority,
        node="a",
        requests={"cpu": 2},
        is_terminating=True,
        conditions=conditions,
    )


@pytest.mark.parametrize(
    ("leaving", "waits"),
    [
        (terminating("a0", 1, PREEMPTED), True),
        (terminating("a0", 1), False),
        (terminating("a0", 1, PodCondition("DisruptionTarget", "True", "Evicted")), False),
        (pod("a0", 1, node="a", requests={"cpu": 2}, conditions=[PREEMPTED]), False),
        (terminating("a0", 10, PREEMPTED), False),
    ],
    ids=["preempted", "deleted", "evicted by others", "not terminating", "as important"],
)
def test_it_waits_for_victims_on_its_nominated_node(leaving: PodInfo, waits: bool) -> None:
    nodes = [make_node_info("a"), make_node_info("b")]
    pods = [leaving, on("a", "a1", 2, 1), on("b", "b0", 4, 1)]
    preemptor = wants(4)
    result = ask(failed_attempt(preemptor, nodes, pods, nominated=[(preemptor, "a")]))
    if waits:
        assert text(result) == (
            "preemption: not eligible due to a terminating pod on the nominated node."
        )
        assert result.nomination is None
    else:
        assert result.nomination in ("a", "b")


def test_a_pod_that_has_been_evicted_counts_as_leaving_before_it_is_seen_to() -> None:
    preemptor = wants(4)
    attempt = failed_attempt(
        preemptor, [make_node_info("a")], [on("a", "a0", 4)], nominated=[(preemptor, "a")]
    )
    assert ask(attempt).nomination == "a"
    waiting = ask(msgspec.structs.replace(attempt, evicted_uids={"uid-a0"}))
    assert "terminating pod" in text(waiting)


@pytest.mark.parametrize("nominated", ["small", "unheard-of"])
def test_it_looks_elsewhere_if_its_nominated_node_is_beyond_help(nominated: str) -> None:
    nodes = [make_node_info("small", cpu=2), make_node_info("b")]
    preempted = msgspec.structs.replace(terminating("a0", 1, PREEMPTED), node_name="small")
    preemptor = wants(4)
    pods = [preempted, on("b", "b0", 4, 1)]
    attempt = failed_attempt(preemptor, nodes, pods, nominated=[(preemptor, nominated)])
    assert ask(attempt).nomination == "b"


def test_budgets_are_read_anew_when_they_change() -> None:
    nodes = [make_node_info("a"), make_node_info("b")]
    pods = [
        pod("a0", 1, node="a", requests={"cpu": 4}, labels={"app": "web"}),
        on("b", "b0", 4, 5),
    ]
    attempt = failed_attempt(wants(4), nodes, pods)
    plugin = DefaultPreemption()
    assert ask(attempt, plugin).nomination == "a"
    store = attempt.cache.cluster.objects[ObjectKind.POD_DISRUPTION_BUDGET]
    store.upsert(budget("web", 0, {"app": "web"}))
    assert ask(attempt, plugin).nomination == "b"
    store.upsert(budget("web", 1, {"app": "web"}))
    assert ask(attempt, plugin).nomination == "a"


def test_chance_decides_where_the_search_begins() -> None:
    nodes = [make_node_info(f"n{i}") for i in range(4)]
    pods = [on(f"n{i}", f"p{i}", 4, 1) for i in range(4)]
    found = [ask(failed_attempt(wants(4), nodes, pods, seed=s)).nomination for s in range(5)]
    assert found == ["n0", "n1", "n2", "n3", "n0"]


@pytest.mark.parametrize(
    ("percentage", "absolute", "expected"),
    [(10, 100, 99), (10, 0, 49), (0, 20, 49), (80, 0, 99), (0, 1, 49), (100, 100, 99)],
)
def test_so_many_nodes_are_looked_at(percentage: int, absolute: int, expected: int) -> None:
    # The later the Node, the less harm is done there.
    nodes = [make_node_info(f"n{i}") for i in range(100)]
    pods = [on(f"n{i}", f"p{i}", 4, 1 if i in (49, 99) else 5) for i in range(100)]
    pods[49] = pod("p49", 1, started="09:00", node="n49", requests={"cpu": 4})
    plugin = DefaultPreemption(
        min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute
    )
    attempt = failed_attempt(wants(4), nodes, pods, seed=30)
    assert ask(attempt, plugin).nomination == f"n{expected}"


ODD = "expected at least one victim pod on node"


@pytest.mark.parametrize(
    ("count", "message"),
    [(1, f'preemption: {ODD} "n0"'), (2, f'preemption: [{ODD} "n0", {ODD} "n1"]')],
)
def test_nodes_that_turned_the_pod_away_for_no_reason_are_an_error(
    count: int, message: str
) -> None:
    nodes = [make_node_info(f"n{i}") for i in range(count)]
    pods = [on(f"n{i}", f"p{i}", 1) for i in range(count)]
    attempt = failed_attempt(wants(1), nodes, pods)
    everywhere = Diagnosis(count, absent_status=Status(Code.UNSCHEDULABLE, ("no",)))
    result = ask(msgspec.structs.replace(attempt, diagnosis=everywhere))
    assert result.status == Status(Code.ERROR, (message,))
    assert result.nomination is None


class Broken(PreFiltering, Filtering):
    """Fails on the Nodes it is asked about, but for one."""

    name = "Broken"

    def __init__(self, sound: str) -> None:
        PreFiltering.__init__(self)
        Filtering.__init__(self)
        self._sound, self._failed = sound, False

    def filter(self, state: State, nodes: NodeView) -> BoolArray:
        passed = np.array([name == self._sound for name in node_names(nodes)], dtype=np.bool_)
        self._failed |= not passed.all()
        return passed

    def failure(self, state: State) -> Status | None:
        return Status(Code.ERROR, ("broken",)) if self._failed else None


@pytest.mark.parametrize("sound", ["", "n1"])
def test_a_filter_that_fails_once_there_is_room(sound: str) -> None:
    """Its error is that of the preemption, unless another Node is a candidate."""
    nodes = [make_node_info("n0"), make_node_info("n1")]
    pods = [on("n0", "p0", 4), on("n1", "p1", 4)]
    attempt = failed_attempt(wants(4), nodes, pods, filters=[NodeResourcesFit(), Broken(sound)])
    assert attempt.prepared.failure() is None, "nobody got that far"
    result = ask(attempt)
    if sound:
        assert (result.status, result.nomination) == (SUCCESS, sound)
    else:
        assert result.status == Status(Code.ERROR, ("preemption: broken",))
        assert result.nomination is None
