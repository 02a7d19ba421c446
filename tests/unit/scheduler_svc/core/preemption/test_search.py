"""Who would have to go from which Node."""

from collections.abc import Sequence

import numpy as np
import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.disruption_objects import PodDisruptionBudget
from scheduler_svc.core.framework.diagnosis import Diagnosis
from scheduler_svc.core.framework.interface import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    Rejection,
    Scope,
    State,
)
from scheduler_svc.core.framework.post_filter import FailedAttempt
from scheduler_svc.core.label_selectors import EVERYTHING
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.objects import ContainerPort
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.pod_counts import PodCounter, PodQuery, PodTerm
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.ports import EVERY_ADDRESS
from scheduler_svc.core.preemption.budgets import Budgets
from scheduler_svc.core.preemption.search import NO_VICTIMS, Search, SearchResult
from scheduler_svc.core.status import Code, Status
from tests.builders import make_node_info
from tests.unit.scheduler_svc.core.preemption.building import budget, failed_attempt, pod

CROWDED = Status(Code.UNSCHEDULABLE, ("too many Pods in all",))


class AtMostInAll(PreFilterPlugin, FilterPlugin):
    """Lets a Pod run anywhere while there are fewer than so many Pods of a namespace in all."""

    name = "AtMostInAll"
    filter_scope = Scope.CLUSTER

    def __init__(self, limit: int, namespace: str = "default") -> None:
        self._limit, self._namespace = limit, namespace
        self.asked_counts: list[int] = []

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        term = PodTerm(frozenset({self._namespace}), EVERYTHING)
        return PreFilterResult(state=cluster.pod_counts.counter(PodQuery((term,))))

    def is_concerned_by(self, state: State, pod: PodInfo) -> bool:
        return pod.namespace == self._namespace

    def filter(self, state: PodCounter, nodes: NodeView) -> BoolArray:
        self.asked_counts.append(nodes.count)
        return np.full(nodes.count, state.tally.total < self._limit, dtype=np.bool_)

    def rejections(self, state: State, nodes: NodeView) -> Sequence[Rejection]:
        return [Rejection.of_all(CROWDED, nodes)]


def search(
    attempt: FailedAttempt,
    *budgets: PodDisruptionBudget,
    rows: Sequence[int] | None = None,
    wanted: int = 100,
) -> SearchResult:
    order = range(attempt.cache.columns.node_count) if rows is None else rows
    return Search(attempt, Budgets(budgets)).run(np.array(order, dtype=np.intp), wanted)


def victims(result: SearchResult) -> dict[int, list[str]]:
    return {c.row: [victim.name for victim in c.victims] for c in result.candidates}


def reasons(result: SearchResult) -> dict[int, tuple[str, ...]]:
    return {row: group.status.reasons for group in result.groups for row in group.rows.tolist()}


def wants(cpu: float, priority: int = 10, **fields: int) -> PodInfo:
    return pod("new", priority, requests={"cpu": str(cpu)})


def on(node: str, name: str, cpu: float, priority: int = 0, started: str = "10:00") -> PodInfo:
    return pod(name, priority, started=started, node=node, requests={"cpu": str(cpu)})


def test_the_least_important_go_and_no_more_than_needed() -> None:
    pods = [on("n", "high", 1, 5), on("n", "mid", 1, 3), on("n", "low", 1, 1)]
    attempt = failed_attempt(wants(2), [make_node_info("n")], pods)
    assert victims(search(attempt)) == {0: ["low"]}


def test_a_smaller_one_may_stay_where_a_more_important_one_has_to_go() -> None:
    pods = [on("n", "large", 3, 5), on("n", "small", 1, 1)]
    attempt = failed_attempt(wants(3), [make_node_info("n")], pods)
    assert victims(search(attempt)) == {0: ["large"]}


def test_among_equals_the_oldest_stays() -> None:
    pods = [on("n", "young", 2, 1, "11:00"), on("n", "old", 2, 1, "09:00")]
    attempt = failed_attempt(wants(2), [make_node_info("n")], pods)
    assert victims(search(attempt)) == {0: ["young"]}


def test_only_lower_priorities_are_victims() -> None:
    nodes = [make_node_info(name) for name in ("a", "b", "c")]
    pods = [on("a", "same", 4, 10), on("b", "higher", 3, 11), on("b", "lower", 1, 1)]
    result = search(failed_attempt(wants(2), nodes, pods))
    assert victims(result) == {}
    assert reasons(result) == {
        0: NO_VICTIMS.reasons,
        1: ("Insufficient cpu",),
        2: NO_VICTIMS.reasons,
    }


def test_each_node_is_searched_for_itself() -> None:
    nodes = [make_node_info(name) for name in ("a", "b", "c")]
    pods = [
        *[on("a", f"a{i}", 1, i) for i in range(4)],
        on("b", "b0", 4, 5),
        *[on("c", f"c{i}", 2, 9 - i) for i in range(2)],
    ]
    result = search(failed_attempt(wants(2), nodes, pods))
    assert victims(result) == {0: ["a1", "a0"], 1: ["b0"], 2: ["c1"]}


def test_those_whose_budget_is_spent_are_spared_first() -> None:
    pods = [
        pod("web", 1, node="n", requests={"cpu": "2"}, labels={"app": "web"}),
        on("n", "other", 2, 5),
    ]
    attempt = failed_attempt(wants(2), [make_node_info("n")], pods)
    assert victims(search(attempt)) == {0: ["web"]}
    result = search(attempt, budget("web", 0, {"app": "web"}))
    assert victims(result) == {0: ["other"]}
    assert [c.violation_count for c in result.candidates] == [0]


def test_broken_budgets_are_counted_and_victims_come_by_importance() -> None:
    pods = [
        pod("web", 1, node="n", requests={"cpu": "2"}, labels={"app": "web"}),
        on("n", "other", 2, 5),
    ]
    attempt = failed_attempt(wants(4), [make_node_info("n")], pods)
    [candidate] = search(attempt, budget("web", 0, {"app": "web"})).candidates
    assert [victim.name for victim in candidate.victims] == ["other", "web"]
    assert candidate.violation_count == 1


def test_a_port_that_two_pods_hold_counts_as_free_while_one_of_them_is_off() -> None:
    """As upstream's set of ports has it; afterwards it is taken as before."""
    port = [ContainerPort(host_port=80)]
    held = [
        pod("stays", 20, node="n", ports=port),
        pod("first", 1, node="n", ports=port),
        pod("second", 1, node="n", ports=port),
    ]
    attempt = failed_attempt(pod("new", 10, ports=port), [make_node_info("n")], held)
    assert victims(search(attempt)) == {0: ["first", "second"]}
    free = attempt.cache.columns.ports.free([("TCP", 80, EVERY_ADDRESS)], slice(0, 1))
    assert free is not None
    assert not free.any()


def test_host_ports_are_freed() -> None:
    port = [ContainerPort(host_port=80)]
    held = [
        pod("web", 1, node="n", ports=port),
        pod("plain", 1, node="n"),
    ]
    preemptor = pod("new", 10, ports=port)
    assert victims(search(failed_attempt(preemptor, [make_node_info("n")], held))) == {0: ["web"]}


def test_room_is_left_for_nominated_pods() -> None:
    nodes = [make_node_info("n")]
    pods = [on("n", f"p{i}", 1, i) for i in range(4)]
    rival = pod("rival", 10, requests={"cpu": "2"})
    attempt = failed_attempt(wants(1), nodes, pods, nominated=[(rival, "n")])
    assert victims(search(attempt)) == {0: ["p2", "p1", "p0"]}
    lower = pod("rival", 9, requests={"cpu": "2"})
    attempt = failed_attempt(wants(1), nodes, pods, nominated=[(lower, "n")])
    assert victims(search(attempt)) == {0: ["p0"]}
    large = pod("rival", 10, requests={"cpu": "4"})
    result = search(failed_attempt(wants(1), nodes, pods, nominated=[(large, "n")]))
    assert reasons(result) == {0: ("Insufficient cpu",)}


def test_enough_candidates_are_enough_unless_all_break_a_budget() -> None:
    nodes = [make_node_info(f"n{i:03}") for i in range(120)]
    pods = [
        pod(f"p{i}", 1, node=f"n{i:03}", requests={"cpu": "4"}, labels={"app": "web"})
        for i in range(120)
    ]
    attempt = failed_attempt(wants(4), nodes, pods)
    rows = [*range(50, 120), *range(50)]
    result = search(attempt, rows=rows, wanted=40)
    assert [c.row for c in result.candidates] == rows[:40]
    result = search(attempt, budget("web", 0, {"app": "web"}), rows=rows, wanted=40)
    assert len(result.candidates) == 120


def test_nodes_that_are_no_candidates_are_made_up_for() -> None:
    nodes = [make_node_info(f"n{i:03}") for i in range(120)]
    pods = [on(f"n{i:03}", f"p{i}", 4, 1 if i % 2 else 10) for i in range(120)]
    result = search(failed_attempt(wants(4), nodes, pods), wanted=40)
    assert len(result.candidates) >= 40
    assert [c.row for c in result.candidates][:40] == list(range(1, 80, 2))


def test_where_a_filter_looks_at_other_nodes_it_is_one_after_the_other() -> None:
    nodes = [make_node_info(name) for name in ("a", "b", "c")]
    pods = [on("a", "a0", 1), on("b", "b0", 1), on("b", "b1", 1), on("c", "c0", 4, 10)]
    filters: list[Plugin] = [NodeResourcesFit(), AtMostInAll(3)]
    result = search(failed_attempt(wants(1), nodes, pods, filters=filters))
    # Without a0 there are three, without those of b two; c0 is as important.
    assert reasons(result) == {0: CROWDED.reasons, 2: NO_VICTIMS.reasons}
    assert victims(result) == {1: ["b0", "b1"]}


def test_nodes_that_fail_by_themselves_are_not_asked_about_others() -> None:
    crowd = AtMostInAll(1)
    pods = [on("a", "a0", 1), on("a", "a1", 2, 10), on("b", "b0", 4)]
    nodes = [make_node_info(name) for name in ("a", "b")]
    attempt = failed_attempt(wants(4), nodes, pods, filters=[NodeResourcesFit(), crowd])
    crowd.asked_counts.clear()
    result = search(attempt)
    assert reasons(result) == {0: ("Insufficient cpu",), 1: CROWDED.reasons}
    assert crowd.asked_counts == [1]


def test_pods_that_concern_no_such_filter_are_searched_together() -> None:
    crowd = AtMostInAll(9, namespace="elsewhere")
    nodes = [make_node_info(f"n{i}") for i in range(5)]
    pods = [on(f"n{i}", f"p{i}", 4, 1) for i in range(5)]
    attempt = failed_attempt(wants(4), nodes, pods, filters=[NodeResourcesFit(), crowd])
    crowd.asked_counts.clear()
    assert victims(search(attempt)) == {row: [f"p{row}"] for row in range(5)}
    assert crowd.asked_counts == [5]


class ReadingPods(FilterPlugin):
    """Rejects Nodes on which there is a Pod called `grump`."""

    name = "ReadingPods"
    filter_scope = Scope.USAGE

    def __init__(self) -> None:
        self.cluster: Cluster | None = None

    def filter(self, state: State, nodes: NodeView) -> BoolArray:
        assert self.cluster is not None
        rows = np.arange(nodes.columns.capacity)[nodes.rows].tolist()
        names = [{pod.name for pod in self.cluster.pods_on(row)} for row in rows]
        return np.array(["grump" not in on_node for on_node in names], dtype=np.bool_)

    def rejections(self, state: State, nodes: NodeView) -> Sequence[Rejection]:
        return [Rejection.of_all(CROWDED, nodes)]


def test_filters_that_read_the_pods_of_a_node_see_them_go() -> None:
    class Meeting(ReadingPods, PreFilterPlugin):
        def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
            self.cluster = cluster
            return PreFilterResult()

    pods = [on("n", "grump", 0.1, 5), on("n", "friend", 0.1, 1)]
    filters: list[Plugin] = [NodeResourcesFit(), Meeting()]
    attempt = failed_attempt(wants(1), [make_node_info("n")], pods, filters=filters)
    assert victims(search(attempt)) == {0: ["grump"]}


def test_a_node_that_needs_no_victim_is_odd() -> None:
    attempt = failed_attempt(wants(1), [make_node_info("n")], [on("n", "p", 1)])
    result = search(attempt)
    assert result.candidates == []
    assert result.errors == ['expected at least one victim pod on node "n"']


@pytest.mark.parametrize("rows", [[], [0]])
def test_the_search_leaves_everything_as_it_was(rows: list[int]) -> None:
    attempt = failed_attempt(wants(4), [make_node_info("n")], [on("n", "p", 1)])
    search(attempt, rows=rows)
    attempt.cache.validate()
    assert attempt.cache.cluster.speculated == []
    assert isinstance(attempt.diagnosis, Diagnosis)
