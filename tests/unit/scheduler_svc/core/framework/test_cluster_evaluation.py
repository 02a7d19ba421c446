"""Plugins that look at the whole cluster are asked each time; the rest is kept and patched."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.changes import ChangeLog
from scheduler_svc.core.columns import PODS_ROW, Int64Array, NodeView
from scheduler_svc.core.framework.cluster_evaluation import (
    ClassEvaluation,
    ClusterEvaluation,
    evaluation_of,
)
from scheduler_svc.core.framework.evaluation import INFEASIBLE, Evaluation
from scheduler_svc.core.framework.interface import (
    ClusterScorePlugin,
    Plugin,
    PreFilterResult,
    Scope,
    State,
)
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.status import Code, Status
from tests.builders import make_cache, make_node_info, make_pod_info, make_profile
from tests.scripted_plugins import Filtering, NormalizedScoring, PreFiltering, Scoring, named

NO = Status(Code.UNSCHEDULABLE, ("no",))


def pod_counts(nodes: NodeView) -> Int64Array:
    columns, rows = nodes.columns, nodes.rows
    counts: Int64Array = (columns.allocatable[PODS_ROW] - columns.free[PODS_ROW])[rows]
    return counts


class FewerThanTwo(Filtering):
    """Rejects every Node while there are two Pods anywhere."""

    filter_scope = Scope.CLUSTER

    def filter(self, state: State, nodes: NodeView) -> BoolArray | None:
        everywhere = NodeView(nodes.columns, slice(0, nodes.columns.capacity))
        if pod_counts(everywhere).sum() < 2:
            return None
        return np.zeros(nodes.count, dtype=np.bool_)


class Room(Filtering):
    """Rejects Nodes on which there is any Pod."""

    filter_scope = Scope.USAGE

    def filter(self, state: State, nodes: NodeView) -> BoolArray | None:
        is_empty: BoolArray = pod_counts(nodes) == 0
        return is_empty


class Fairness(ClusterScorePlugin):
    """Gives 100 to the feasible Nodes with the fewest Pods, nonsense where it does not count."""

    def score_feasible(
        self, state: State, nodes: NodeView, feasible: BoolArray
    ) -> Int64Array | None:
        counts = pod_counts(nodes)
        fewest = counts[feasible].min()
        return np.where(feasible, np.where(counts == fewest, 100, 0), 10**12)


class NarrowFairness(ClusterScorePlugin):
    """Gives 100 to the Nodes with the fewest Pods, in the type of most totals."""

    def score_feasible(
        self, state: State, nodes: NodeView, feasible: BoolArray
    ) -> npt.NDArray[np.int16]:
        counts = pod_counts(nodes)
        return np.where(counts == counts[feasible].min(), 100, 0).astype(np.int16)


class Silent(ClusterScorePlugin):
    """Skips, as upstream's PreScore may."""

    def score_feasible(
        self, state: State, nodes: NodeView, feasible: BoolArray
    ) -> Int64Array | None:
        return None


class NormalizedPodCount(NormalizedScoring):
    """Scores by the number of Pods in relation to the fullest feasible Node."""

    score_scope = Scope.USAGE

    def score(self, state: State, nodes: NodeView) -> Int64Array:
        return pod_counts(nodes)


def evaluate(
    cache: Cache,
    *,
    filters: Sequence[Plugin] = (),
    scores: Sequence[Plugin] = (),
    pre_filters: Sequence[Plugin] = (),
    weights: dict[str, int] | None = None,
) -> ClassEvaluation:
    points = {"preFilter": pre_filters, "filter": filters, "score": scores}
    prepared = prepare(make_profile(points, weights), make_pod_info("new"), cache.cluster)
    evaluation = evaluation_of(prepared)
    evaluation.refresh(cache.columns)
    return evaluation


def totals(evaluation: ClassEvaluation, cache: Cache) -> dict[str, int]:
    columns = cache.columns
    evaluation.refresh(columns)
    assert len(evaluation.totals) == columns.capacity
    rows = {name: row for name, row in columns.rows.items() if columns.live[row]}
    assert (np.delete(evaluation.totals, list(rows.values())) == INFEASIBLE).all()
    return {name: int(evaluation.totals[row]) for name, row in rows.items()}


def nodes(*names: str) -> Cache:
    return make_cache(make_node_info(name) for name in names)


def test_a_class_that_concerns_single_nodes_is_evaluated_node_by_node() -> None:
    cache = nodes("a")
    local = evaluate(cache, filters=[named("Room", Room)()], scores=[named("S", Scoring)({})])
    assert isinstance(local, Evaluation)
    around = evaluate(cache, filters=[named("F", FewerThanTwo)()])
    assert isinstance(around, ClusterEvaluation)
    assert isinstance(evaluate(cache, scores=[named("S", Fairness)()]), ClusterEvaluation)


def test_a_filter_of_the_cluster_is_asked_about_all_nodes_each_time() -> None:
    cache = nodes("a", "b")
    evaluation = evaluate(cache, filters=[named("F", FewerThanTwo)()])
    assert totals(evaluation, cache) == {"a": 0, "b": 0}
    cache.upsert(make_pod_info("x", node="a"))
    cache.upsert(make_pod_info("y", node="a"))
    assert totals(evaluation, cache) == {"a": INFEASIBLE, "b": INFEASIBLE}
    cache.remove("uid-x")
    assert totals(evaluation, cache) == {"a": 0, "b": 0}


def test_scores_of_the_cluster_compare_feasible_nodes_only() -> None:
    cache = nodes("a", "b", "c")
    evaluation = evaluate(
        cache,
        filters=[named("F", Filtering)({"c": NO})],
        scores=[named("Fairness", Fairness)(), named("Silent", Silent)()],
        weights={"Fairness": 3},
    )
    assert totals(evaluation, cache) == {"a": 300, "b": 300, "c": INFEASIBLE}
    cache.upsert(make_pod_info("x", node="a"))
    assert totals(evaluation, cache) == {"a": 0, "b": 300, "c": INFEASIBLE}


@pytest.mark.parametrize(("weight", "largest"), [(1, 100), (3, 300), (327, 32_700), (328, 32_800)])
@pytest.mark.parametrize("plugin", [Fairness, NarrowFairness])
def test_scores_of_any_type_are_weighted(
    plugin: type[ClusterScorePlugin], weight: int, largest: int
) -> None:
    cache = nodes("a", "b")
    cache.upsert(make_pod_info("x", node="a"))
    evaluation = evaluate(cache, scores=[named("S", plugin)()], weights={"S": weight})
    assert totals(evaluation, cache) == {"a": 0, "b": largest}
    shares = evaluation.shares_at(cache.columns, np.arange(2))
    assert shares["S"].tolist() == [0, largest]


def test_other_scores_are_added() -> None:
    cache = nodes("a", "b")
    evaluation = evaluate(
        cache,
        scores=[
            named("S", Scoring)({"a": 7, "b": 1}),
            named("N", NormalizedScoring)({"a": 2, "b": 4}),
            named("Fairness", Fairness)(),
        ],
        weights={"S": 2},
    )
    assert totals(evaluation, cache) == {"a": 14 + 50 + 100, "b": 2 + 100 + 100}


def test_the_shares_of_some_nodes_add_up_to_their_totals() -> None:
    cache = nodes("a", "b", "c")
    evaluation = evaluate(
        cache,
        filters=[named("F", Filtering)({"c": NO})],
        scores=[
            named("Fairness", Fairness)(),
            named("S", Scoring)({"a": 7, "b": 1}),
            named("Silent", Silent)(),
            named("N", NormalizedScoring)({"a": 2, "b": 4}),
            named("Same", NormalizedScoring)({"a": 3, "b": 3, "c": 3}),
        ],
        weights={"Fairness": 3, "S": 2},
    )
    given = evaluation.shares_at(cache.columns, cache.columns.rows_of(["b", "a"]))
    assert {name: share.tolist() for name, share in given.items()} == {
        "Fairness": [300, 300],
        "S": [2, 14],
        "N": [100, 50],
        "Same": [100, 100],
    }
    assert list(given) == ["Fairness", "S", "N", "Same"]


def test_normalized_scores_compare_the_nodes_that_remain() -> None:
    class NotC(Filtering):
        filter_scope = Scope.CLUSTER

    cache = nodes("a", "b", "c")
    evaluation = evaluate(
        cache,
        filters=[named("F", NotC)({"c": NO})],
        scores=[
            named("Spec", NormalizedScoring)({"a": 1, "b": 2, "c": 4}),
            named("Usage", NormalizedPodCount)({}),
        ],
    )
    assert totals(evaluation, cache) == {"a": 50, "b": 100, "c": INFEASIBLE}
    for name, node in (("x", "a"), ("y", "a"), ("z", "b")):
        cache.upsert(make_pod_info(name, node=node))
    assert totals(evaluation, cache) == {"a": 50 + 100, "b": 100 + 50, "c": INFEASIBLE}


@pytest.mark.parametrize("capacity", [1, 64])
def test_changed_specifications_are_scored_anew(capacity: int) -> None:
    cache = nodes("a", "b")
    cache.columns.spec_log = ChangeLog(capacity=2)
    cache.columns.usage_log = ChangeLog(capacity=capacity)
    scores = {"a": 1, "b": 2}
    evaluation = evaluate(
        cache,
        filters=[named("F", FewerThanTwo)()],
        scores=[named("N", NormalizedScoring)(scores), named("U", NormalizedPodCount)({})],
    )
    assert totals(evaluation, cache) == {"a": 50, "b": 100}
    scores["a"] = 2
    cache.set_node(make_node_info("a", labels={"new": ""}))
    assert totals(evaluation, cache) == {"a": 100, "b": 100}
    for number in range(4):
        scores["b"] = number
        cache.set_node(make_node_info("b", labels={"new": str(number)}))
    cache.upsert(make_pod_info("x", node="b"))
    assert totals(evaluation, cache) == {"a": 66 + 0, "b": 100 + 100}


def test_without_nodes_nothing_is_feasible_until_there_is_one() -> None:
    cache = make_cache()
    scores = [named("N", NormalizedScoring)({"a": 1}), named("Fairness", Fairness)()]
    evaluation = evaluate(cache, scores=scores)
    assert totals(evaluation, cache) == {}
    cache.set_node(make_node_info("a"))
    assert totals(evaluation, cache) == {"a": 200}


def test_arrays_grow_with_the_columns() -> None:
    cache = nodes("a")
    evaluation = evaluate(
        cache, scores=[named("N", NormalizedScoring)({"a": 1}), named("Fairness", Fairness)()]
    )
    small = evaluation.size_bytes
    for number in range(100):
        cache.set_node(make_node_info(f"n{number}"))
    result = totals(evaluation, cache)
    assert (result["a"], result["n99"]) == (200, 100)
    assert evaluation.size_bytes > small


def test_only_named_nodes_are_feasible() -> None:
    cache = nodes("a", "b")
    result = PreFilterResult(node_names=frozenset({"b"}))
    evaluation = evaluate(
        cache,
        pre_filters=[named("P", PreFiltering)(result)],
        scores=[named("Fairness", Fairness)()],
    )
    assert totals(evaluation, cache) == {"a": INFEASIBLE, "b": 100}


def test_a_filter_may_be_asked_about_candidates_only() -> None:
    class NotFirst(Filtering):
        filter_scope = Scope.CLUSTER
        asks_candidates_only = True
        answers: ClassVar[list[list[bool] | None]] = [None, [True, False]]

        def filter(self, state: State, nodes: NodeView) -> BoolArray | None:
            assert nodes.count == 2
            answer = self.answers.pop(0)
            return None if answer is None else np.array(answer)

    cache = nodes("a", "b", "c")
    evaluation = evaluate(
        cache,
        filters=[named("F", Filtering)({"a": NO}), named("Candidates", NotFirst)()],
    )
    assert totals(evaluation, cache) == {"a": INFEASIBLE, "b": 0, "c": INFEASIBLE}
