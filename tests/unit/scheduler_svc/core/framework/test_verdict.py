"""The whole answer about a class of Pods: feasible Nodes with shares, all others with reasons."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import Int64Array, NodeView
from scheduler_svc.core.framework.cluster_evaluation import evaluation_of
from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.framework.interface import (
    ClusterScorePlugin,
    Plugin,
    PreFilterResult,
    State,
)
from scheduler_svc.core.framework.post_filter import PostFilterResult
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import (
    ExplainedAttempt,
    Verdict,
    explain_attempt,
    judge,
    totals_without,
)
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.status import SUCCESS, Code, Status
from tests.builders import at, make_cache, make_cluster, make_node_info, make_pod_info, make_profile
from tests.scripted_plugins import (
    Filtering,
    NormalizedScoring,
    PostFiltering,
    PreFiltering,
    Scoring,
    named,
)

NO = Status(Code.UNSCHEDULABLE, ("no",))


def verdict_of(
    points: Mapping[str, Sequence[Plugin]], weights: dict[str, int] | None = None
) -> Verdict:
    cluster = make_cluster([make_node_info(name) for name in "abc"], [make_pod_info(node="ghost")])
    return judge(prepare(make_profile(points, weights), make_pod_info(), cluster), cluster.columns)


def test_shares_are_normalized_scores_times_weights() -> None:
    verdict = verdict_of(
        {
            "filter": [named("F", Filtering)({"c": NO})],
            "score": [
                named("Plain", Scoring)({"a": 7, "b": 20, "c": 90}),
                named("Normalized", NormalizedScoring)({"a": 4, "b": 1, "c": 90}),
            ],
        },
        {"Plain": 2, "Normalized": 3},
    )
    assert verdict.rows.tolist() == [0, 1]
    assert {name: share.tolist() for name, share in verdict.shares.items()} == {
        "Plain": [14, 40],
        "Normalized": [300, 75],
    }
    assert verdict.totals.tolist() == [314, 115]
    assert verdict.best_rows.tolist() == [0]
    assert [group.rows.tolist() for group in verdict.diagnosis.groups] == [[2]]


def test_all_nodes_with_the_highest_total_are_best() -> None:
    verdict = verdict_of({"score": [named("S", Scoring)({"a": 7, "b": 5, "c": 7})]})
    assert verdict.best_rows.tolist() == [0, 2]


def test_no_node_is_best_where_none_is_feasible() -> None:
    rejected = dict.fromkeys("abc", NO)
    verdict = verdict_of(
        {
            "filter": [named("F", Filtering)(rejected)],
            "score": [named("S", NormalizedScoring)({"a": 1})],
        }
    )
    assert len(verdict.rows) == len(verdict.totals) == len(verdict.best_rows) == 0
    assert verdict.shares == {}
    assert verdict.diagnosis.fit_error() == "0/3 nodes are available: 3 no."


def test_no_node_is_feasible_where_pre_filter_turns_the_pod_away() -> None:
    verdict = verdict_of({"preFilter": [named("P", PreFiltering)(PreFilterResult(NO))]})
    assert len(verdict.rows) == 0
    assert verdict.diagnosis.fit_error() == "0/3 nodes are available: no."


def test_only_possible_nodes_are_feasible() -> None:
    names = frozenset({"b", "ghost", "unheard-of"})
    result = PreFilterResult(node_names=names)
    verdict = verdict_of({"preFilter": [named("P", PreFiltering)(result)]})
    assert verdict.rows.tolist() == [1]


def test_without_nodes_there_is_nothing_to_say() -> None:
    cluster = Cluster()
    verdict = judge(prepare(make_profile({}), make_pod_info(), cluster), cluster.columns)
    assert len(verdict.rows) == 0
    assert verdict.diagnosis.fit_error() == "0/0 nodes are available:"


def test_scores_of_the_cluster_are_shares_unless_they_are_left_out() -> None:
    class Fixed(ClusterScorePlugin):
        def score_feasible(
            self, state: State, nodes: NodeView, feasible: BoolArray
        ) -> Int64Array | None:
            assert feasible.all()
            return np.arange(nodes.count, dtype=np.int64)

    class Silent(ClusterScorePlugin):
        def score_feasible(
            self, state: State, nodes: NodeView, feasible: BoolArray
        ) -> Int64Array | None:
            return None

    verdict = verdict_of(
        {
            "filter": [named("F", Filtering)({"a": NO})],
            "score": [named("Fixed", Fixed)(), named("Silent", Silent)()],
        },
        {"Fixed": 5},
    )
    assert {name: share.tolist() for name, share in verdict.shares.items()} == {"Fixed": [0, 5]}
    assert verdict.totals.tolist() == [0, 5]
    assert verdict.best_rows.tolist() == [2]


def explained(
    points: Mapping[str, Sequence[Plugin]],
    *,
    nodes: str = "ab",
    nominated: str = "",
    with_post_filter: bool = True,
) -> ExplainedAttempt:
    """Explain an attempt for a Pod of 3 CPUs; another one, as important, may be nominated."""
    cache = make_cache([make_node_info(name) for name in nodes])
    nominator = Nominator(cache.columns)
    nominator.nominate(make_pod_info("rival", requests={"cpu": 2}), nominated)
    fit = NodeResourcesFit()
    profile = make_profile({"preFilter": [fit], "filter": [fit], **points})
    pod = make_pod_info(requests={"cpu": 3})
    return explain_attempt(profile, pod, cache, nominator, at(3), with_post_filter=with_post_filter)


HELP = PostFilterResult(SUCCESS, "a")


def test_an_attempt_leaves_room_for_nominated_pods() -> None:
    attempt = explained({"score": [named("S", NormalizedScoring)({"a": 4, "b": 2})]}, nominated="a")
    assert attempt.verdict.rows.tolist() == [1]
    # Compared with the Nodes that remain.
    assert attempt.verdict.totals.tolist() == [100]
    [group] = attempt.verdict.diagnosis.groups
    assert (group.status.message, group.rows.tolist()) == ("Insufficient cpu", [0])
    assert attempt.failure is None


@pytest.mark.parametrize(
    ("nodes", "nominated", "wanted", "expected"),
    [
        ("a", "a", True, HELP),
        ("a", "a", False, None),
        ("ab", "a", True, None),
        ("", "", True, HELP),
    ],
    ids=["fits nowhere", "not wanted", "fits", "no Nodes"],
)
def test_post_filter_is_asked_if_wanted_and_nothing_fits(
    nodes: str, nominated: str, wanted: bool, expected: PostFilterResult | None
) -> None:
    points = {"postFilter": [named("P", PostFiltering)(HELP)]}
    attempt = explained(points, nodes=nodes, nominated=nominated, with_post_filter=wanted)
    assert attempt.post_filter == expected


def test_without_post_filters_there_is_no_answer_of_theirs() -> None:
    assert explained({}, nodes="a", nominated="a").post_filter is None


def test_a_failure_ends_the_attempt() -> None:
    broken = PreFilterResult(Status(Code.ERROR, ("broken",)))
    points: dict[str, Sequence[Plugin]] = {
        "preFilter": [named("B", PreFiltering)(broken)],
        "postFilter": [named("P", PostFiltering)(HELP)],
    }
    attempt = explained(points)
    assert attempt.failure == Status(Code.ERROR, ('running PreFilter plugin "B": broken',), "B")
    assert attempt.post_filter is None


def test_totals_are_compared_with_the_nodes_that_remain() -> None:
    cluster = make_cluster([make_node_info(name) for name in "abc"])
    scoring = named("S", NormalizedScoring)({"a": 8, "b": 4, "c": 1})
    prepared = prepare(make_profile({"score": [scoring]}), make_pod_info(), cluster)
    evaluation = evaluation_of(prepared)
    evaluation.refresh(cluster.columns)
    assert evaluation.totals[:3].tolist() == [100, 50, 12]
    blocked = np.array([0], dtype=np.intp)
    totals = totals_without(prepared, cluster.columns, evaluation.totals, blocked)
    assert totals[:3].tolist() == [INFEASIBLE, 100, 25]
    assert evaluation.totals[:3].tolist() == [100, 50, 12]


def test_scores_that_are_known_to_be_zero_are_shares_all_the_same() -> None:
    cluster = make_cluster([make_node_info(name) for name in "ab"])
    prepared = prepare(make_profile({}), make_pod_info(), cluster)
    prepared.zero_scores = ["Devices"]
    verdict = judge(prepared, cluster.columns)
    assert {name: share.tolist() for name, share in verdict.shares.items()} == {"Devices": [0, 0]}
    assert verdict.totals.tolist() == [0, 0]
