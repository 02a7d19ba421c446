"""An evaluation that is kept and patched equals one made from scratch."""

from collections.abc import Hashable, Sequence

import numpy as np
import pytest

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.changes import ChangeLog
from scheduler_svc.core.columns import PODS_ROW, Int64Array, NodeColumns, NodeView
from scheduler_svc.core.framework.evaluation import INFEASIBLE, Evaluation
from scheduler_svc.core.framework.interface import Plugin, PreFilterResult, Scope, State
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.status import Code, Status
from tests.builders import make_cache, make_node_info, make_pod_info, make_profile
from tests.scripted_plugins import (
    Filtering,
    NormalizedScoring,
    PreFiltering,
    Scoring,
    named,
    node_names,
)

NO = Status(Code.UNSCHEDULABLE, ("no",))


def pod_counts(nodes: NodeView) -> Int64Array:
    counts: Int64Array = nodes.allocatable[PODS_ROW] - nodes.free[PODS_ROW]
    return counts


class RoomFilter(Filtering):
    """Rejects Nodes on which there is any Pod."""

    filter_scope = Scope.USAGE

    def filter(self, state: State, nodes: NodeView) -> BoolArray | None:
        is_empty: BoolArray = nodes.free[PODS_ROW] == nodes.allocatable[PODS_ROW]
        return is_empty


class PodCount(Scoring):
    """Scores by the number of Pods."""

    score_scope = Scope.USAGE

    def score(self, state: State, nodes: NodeView) -> Int64Array:
        return pod_counts(nodes)


class NormalizedPodCount(NormalizedScoring):
    """Scores by the number of Pods in relation to the fullest feasible Node."""

    score_scope = Scope.USAGE

    def score(self, state: State, nodes: NodeView) -> Int64Array:
        return pod_counts(nodes)


class NodeCount(Scoring):
    """Scores every Node by the number of Nodes, which is beyond the Node's own scope."""

    def score(self, state: State, nodes: NodeView) -> Int64Array:
        return np.full(nodes.count, nodes.columns.node_count, dtype=np.int64)

    def score_version(self, state: State, columns: NodeColumns) -> Hashable:
        return columns.node_count


def evaluate(
    cache: Cache,
    *,
    filters: Sequence[Plugin] = (),
    scores: Sequence[Plugin] = (),
    pre_filters: Sequence[Plugin] = (),
    weights: dict[str, int] | None = None,
) -> Evaluation:
    points = {"preFilter": pre_filters, "filter": filters, "score": scores}
    prepared = prepare(make_profile(points, weights), make_pod_info("new"), cache.cluster)
    evaluation = Evaluation(prepared)
    evaluation.refresh(cache.columns)
    return evaluation


def totals(evaluation: Evaluation, cache: Cache) -> dict[str, int]:
    """Bring the evaluation up to date; give the total of each Node that is there."""
    columns = cache.columns
    evaluation.refresh(columns)
    assert len(evaluation.totals) == columns.capacity
    rows = {name: row for name, row in columns.rows.items() if columns.live[row]}
    unknown = np.delete(evaluation.totals, list(rows.values()))
    assert (unknown == INFEASIBLE).all()
    return {name: int(evaluation.totals[row]) for name, row in rows.items()}


def cluster(*names: str) -> Cache:
    return make_cache(make_node_info(name) for name in names)


def test_totals_are_weighted_sums() -> None:
    cache = cluster("a", "b")
    scores = [
        named("Plain", Scoring)({"a": 7, "b": 20}),
        named("Normalized", NormalizedScoring)({"a": 4, "b": 1}),
    ]
    evaluation = evaluate(cache, scores=scores, weights={"Plain": 2, "Normalized": 3})
    # Normalized: 4 of 4 is 100, 1 of 4 is 25.
    assert totals(evaluation, cache) == {"a": 2 * 7 + 3 * 100, "b": 2 * 20 + 3 * 25}


def test_without_scores_every_feasible_node_has_0() -> None:
    cache = cluster("a", "b")
    evaluation = evaluate(cache, filters=[named("F", Filtering)({"b": NO})])
    assert totals(evaluation, cache) == {"a": 0, "b": INFEASIBLE}


def test_without_nodes_nothing_is_feasible() -> None:
    cache = make_cache()
    evaluation = evaluate(cache, scores=[named("N", NormalizedScoring)({"a": 1})])
    assert totals(evaluation, cache) == {}
    cache.set_node(make_node_info("a"))
    assert totals(evaluation, cache) == {"a": 100}


def test_only_named_nodes_are_feasible() -> None:
    cache = cluster("a", "b")
    result = PreFilterResult(node_names=frozenset({"b", "unheard-of"}))
    evaluation = evaluate(cache, pre_filters=[named("P", PreFiltering)(result)])
    assert totals(evaluation, cache) == {"a": INFEASIBLE, "b": 0}


def test_plugins_are_asked_about_named_nodes_only() -> None:
    asked: list[str] = []

    class Asking(Scoring):
        def score(self, state: State, nodes: NodeView) -> Int64Array:
            asked.extend(node_names(nodes))
            return super().score(state, nodes)

    result = PreFilterResult(node_names=frozenset({"b"}))
    evaluate(
        cluster("a", "b", "c"),
        pre_filters=[named("P", PreFiltering)(result)],
        scores=[named("S", Asking)({})],
    )
    assert asked == ["b"]


def test_a_named_node_may_come_later() -> None:
    cache = cluster("a")
    result = PreFilterResult(node_names=frozenset({"b"}))
    scores = [named("N", NormalizedScoring)({"a": 4, "b": 2}), named("S", Scoring)({"b": 3})]
    evaluation = evaluate(cache, pre_filters=[named("P", PreFiltering)(result)], scores=scores)
    assert totals(evaluation, cache) == {"a": INFEASIBLE}
    cache.set_node(make_node_info("b"))
    assert totals(evaluation, cache) == {"a": INFEASIBLE, "b": 100 + 3}


def test_usage_is_looked_at_again() -> None:
    cache = cluster("a", "b")
    evaluation = evaluate(
        cache, filters=[named("Room", RoomFilter)()], scores=[named("Count", PodCount)({})]
    )
    assert totals(evaluation, cache) == {"a": 0, "b": 0}
    cache.upsert(make_pod_info("x", node="a"))
    assert totals(evaluation, cache) == {"a": INFEASIBLE, "b": 0}
    cache.remove("uid-x")
    assert totals(evaluation, cache) == {"a": 0, "b": 0}


def test_a_filter_of_usage_may_pass_every_node() -> None:
    class Everywhere(Filtering):
        filter_scope = Scope.USAGE

    cache = cluster("a")
    evaluation = evaluate(cache, filters=[named("Everywhere", Everywhere)()])
    assert totals(evaluation, cache) == {"a": 0}


def test_a_specification_that_changed_is_looked_at_again() -> None:
    cache = cluster("a", "b")
    scores = {"a": 5, "b": 10}
    evaluation = evaluate(cache, scores=[named("S", Scoring)(scores)])
    scores["a"] = 50
    assert totals(evaluation, cache) == {"a": 5, "b": 10}
    cache.set_node(make_node_info("a", labels={"new": ""}))
    assert totals(evaluation, cache) == {"a": 50, "b": 10}
    cache.remove_node("b")
    cache.set_node(make_node_info("c"))
    assert totals(evaluation, cache) == {"a": 50, "c": 0}


def test_a_new_extreme_changes_all_shares() -> None:
    cache = cluster("a", "b", "c")
    scores = {"a": 2, "b": 4, "c": 4}
    evaluation = evaluate(cache, scores=[named("N", NormalizedScoring)(scores)])
    assert totals(evaluation, cache) == {"a": 50, "b": 100, "c": 100}
    cache.remove_node("b")
    assert totals(evaluation, cache) == {"a": 50, "c": 100}
    cache.remove_node("c")
    assert totals(evaluation, cache) == {"a": 100}


def test_a_node_that_is_not_feasible_sets_no_extreme() -> None:
    cache = cluster("a", "b")
    evaluation = evaluate(
        cache,
        filters=[named("Room", RoomFilter)()],
        scores=[named("N", NormalizedScoring)({"a": 2, "b": 4})],
    )
    cache.upsert(make_pod_info("x", node="b"))
    assert totals(evaluation, cache) == {"a": 100, "b": INFEASIBLE}
    cache.upsert(make_pod_info("y", node="a"))
    assert totals(evaluation, cache) == {"a": INFEASIBLE, "b": INFEASIBLE}
    cache.remove("uid-x")
    cache.remove("uid-y")
    assert totals(evaluation, cache) == {"a": 50, "b": 100}


def test_normalized_scores_of_usage() -> None:
    cache = cluster("a", "b")
    evaluation = evaluate(cache, scores=[named("N", NormalizedPodCount)({})])
    assert totals(evaluation, cache) == {"a": 0, "b": 0}
    for name, node in (("x", "a"), ("y", "a"), ("z", "b")):
        cache.upsert(make_pod_info(name, node=node))
    assert totals(evaluation, cache) == {"a": 100, "b": 50}


def test_a_change_that_leaves_the_extremes_alone() -> None:
    cache = cluster("a", "b", "c")
    scores = {"a": 0, "b": 2, "c": 4}
    evaluation = evaluate(cache, scores=[named("N", NormalizedScoring)(scores)])
    scores["b"] = 1
    cache.set_node(make_node_info("b", labels={"new": ""}))
    assert totals(evaluation, cache) == {"a": 0, "b": 25, "c": 100}


def test_usage_that_makes_no_node_feasible_or_not_leaves_normalized_shares_alone() -> None:
    cache = cluster("a", "b")
    scores = [named("Count", PodCount)({}), named("N", NormalizedScoring)({"a": 1, "b": 4})]
    evaluation = evaluate(cache, scores=scores)
    cache.upsert(make_pod_info("x", node="a"))
    assert totals(evaluation, cache) == {"a": 1 + 25, "b": 100}
    cache.upsert(make_pod_info("y", node="a"))
    cache.upsert(make_pod_info("z", node="b"))
    assert totals(evaluation, cache) == {"a": 2 + 25, "b": 1 + 100}


def test_scores_that_become_different_while_no_node_is_feasible() -> None:
    cache = cluster("a", "b")
    scores = {"a": 4, "b": 4}
    evaluation = evaluate(
        cache,
        filters=[named("Room", RoomFilter)()],
        scores=[named("N", NormalizedScoring)(scores)],
    )
    for node in ("a", "b"):
        cache.upsert(make_pod_info(f"on-{node}", node=node))
    assert totals(evaluation, cache) == {"a": INFEASIBLE, "b": INFEASIBLE}
    scores["a"] = 1
    cache.set_node(make_node_info("a", labels={"new": ""}))
    assert totals(evaluation, cache) == {"a": INFEASIBLE, "b": INFEASIBLE}
    cache.remove("uid-on-a")
    cache.remove("uid-on-b")
    assert totals(evaluation, cache) == {"a": 25, "b": 100}


@pytest.mark.parametrize("is_feasible", [True, False])
def test_growth_beyond_the_capacity(is_feasible: bool) -> None:
    names = [f"n{i}" for i in range(64)]
    cache = cluster(*names)
    scores = {"n0": 2, "n1": 4, "n64": 3}
    rejected = {} if is_feasible else dict.fromkeys((*names, "n64"), NO)
    evaluation = evaluate(
        cache,
        filters=[named("F", Filtering)(rejected)],
        scores=[named("N", NormalizedScoring)(scores)],
    )
    assert cache.columns.capacity == 64
    cache.set_node(make_node_info("n64"))
    expected = {name: 25 * scores.get(name, 0) for name in (*names, "n64")}
    if not is_feasible:
        expected = dict.fromkeys(expected, INFEASIBLE)
    assert totals(evaluation, cache) == expected


def test_changes_that_are_forgotten_are_all_looked_at() -> None:
    cache = cluster("a", "b", "c")
    cache.columns.usage_log = ChangeLog(capacity=2)
    evaluation = evaluate(cache, scores=[named("Count", PodCount)({})])
    for i, node in enumerate("aabbbc"):
        cache.upsert(make_pod_info(f"p{i}", node=node))
    assert totals(evaluation, cache) == {"a": 2, "b": 3, "c": 1}


def test_many_changes_are_looked_at_together() -> None:
    cache = cluster("a", "b")
    asked: list[int] = []

    class Counting(PodCount):
        def score(self, state: State, nodes: NodeView) -> Int64Array:
            asked.append(len(node_names(nodes)))
            return super().score(state, nodes)

    evaluation = evaluate(cache, scores=[named("Count", Counting)({})])
    asked.clear()
    for i in range(17):
        cache.upsert(make_pod_info(f"p{i}", node="a"))
    assert totals(evaluation, cache) == {"a": 17, "b": 0}
    assert asked == [2]


def test_a_score_that_depends_on_other_nodes_is_asked_again_when_its_version_changes() -> None:
    cache = cluster("a", "b")
    evaluation = evaluate(cache, scores=[named("V", NodeCount)({})])
    assert totals(evaluation, cache) == {"a": 2, "b": 2}
    cache.set_node(make_node_info("c"))
    assert totals(evaluation, cache) == {"a": 3, "b": 3, "c": 3}


def test_the_shares_of_some_nodes_add_up_to_their_totals() -> None:
    cache = cluster("a", "b")
    scores = [named("S", Scoring)({"a": 5, "b": 9}), named("N", NormalizedScoring)({"b": 4})]
    evaluation = evaluate(cache, scores=scores)
    given = evaluation.shares_at(cache.columns, cache.columns.rows_of(["b", "a"]))
    assert {name: share.tolist() for name, share in given.items()} == {"S": [9, 5], "N": [100, 0]}


def test_nothing_is_asked_when_nothing_changed() -> None:
    cache = cluster("a")
    scores = {"a": 5}
    evaluation = evaluate(cache, scores=[named("S", Scoring)(scores)])
    scores["a"] = 50
    assert totals(evaluation, cache) == {"a": 5}


def test_size_counts_the_arrays() -> None:
    cache = cluster("a", "b")
    plain = evaluate(cache, scores=[named("S", Scoring)({})])
    # One bool, one int64, and the total of at most 100 in an int8.
    assert plain.size_bytes == 64 * (1 + 8 + 1)
    normalized = evaluate(cache, scores=[named("N", NormalizedScoring)({"a": 1})])
    # One bool and the total; the sum without the share, the share and the raw score: int64.
    assert normalized.size_bytes == 64 * (1 + 1 + 3 * 8)
