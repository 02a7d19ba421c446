"""Filters and Scores of users' plugins, Node by Node and over arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from berthmaster.testing import cluster, node, pod
from scheduler_svc.core.columns import Int64Array, NodeView
from scheduler_svc.core.custom_plugins.adapt import adapt
from scheduler_svc.core.custom_plugins.base import NodePlugin, Normalize, Reject, VectorPlugin
from scheduler_svc.core.custom_plugins.guard import NoAnswerError, PlainGuard
from scheduler_svc.core.custom_plugins.node_arrays import Nodes
from scheduler_svc.core.custom_plugins.views import Node, Pod
from scheduler_svc.core.framework.cluster_evaluation import evaluation_of
from scheduler_svc.core.framework.interface import FilterPlugin, Scope
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.status import Code, Status
from tests.builders import make_cache, make_profile

NODES = [node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}), node("c")]


class ByZone(NodePlugin[Any]):
    """Rejects zone y for good, Nodes without a zone for now."""

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        zone = node.labels.get("zone")
        if zone is None:
            return "node(s) had no zone"
        return Reject("node(s) were in zone y", resolvable=False) if zone == "y" else None


def test_a_node_filter() -> None:
    world = cluster(nodes=NODES, plugins=[ByZone()])
    assert world.judge(pod()).reasons == {
        "b": ("node(s) were in zone y",),
        "c": ("node(s) had no zone",),
    }
    assert world.schedule(pod()).node == "a"


def test_reasons_reach_the_user() -> None:
    world = cluster(nodes=NODES[1:], plugins=[ByZone()])
    outcome = world.schedule(pod())
    assert outcome.node == ""
    assert outcome.message == (
        "0/2 nodes are available: 1 node(s) had no zone, 1 node(s) were in zone y."
    )


class OneATeam(VectorPlugin[Any]):
    """Rejects Nodes that have a Pod of the same team."""

    reason = "node(s) had a Pod of the team"

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        team = {"team": pod.labels.get("team", "")}
        empty: BoolArray = nodes.count_pods(pod.namespace, team) == 0
        return empty


def test_a_vector_filter() -> None:
    taken = pod("t", on="a", labels={"team": "data"})
    world = cluster(nodes=NODES[:2], pods=[taken], plugins=[OneATeam()])
    mine = pod(labels={"team": "data"})
    assert world.judge(mine).reasons == {"a": ("node(s) had a Pod of the team",)}
    assert world.schedule(mine).node == "b"
    assert world.schedule(pod("other", labels={"team": "data"})).node == ""
    world.remove(taken)
    world.wait(10)
    assert world.schedule(pod("third", labels={"team": "web"})).node != ""


def test_a_vector_filter_without_a_reason_names_itself() -> None:
    class Never(VectorPlugin[Any]):
        resolvable = False

        def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
            return np.zeros(len(nodes), dtype=np.bool_)

    verdict = cluster(nodes=NODES[:1], plugins=[Never()]).judge(pod())
    assert verdict.reasons == {"a": ("node(s) rejected by Never",)}


class Fraction(NodePlugin[Any]):
    """Scores by the length of the name."""

    def score(self, pod: Pod, node: Node) -> float:
        return 10.7 * len(node.labels)


def test_a_node_score() -> None:
    verdict = cluster(nodes=NODES, plugins=[Fraction()], weights={"Fraction": 3}).judge(pod())
    assert verdict.scores == {"Fraction": {"a": 63, "b": 63, "c": 30}}
    assert verdict.totals == {"a": 63, "b": 63, "c": 30}
    assert verdict.best == ["a", "b"]


class Crowd(VectorPlugin[Any]):
    """Scores by the number of Pods in the zone."""

    normalize = Normalize.LOWER_IS_BETTER
    scope = Scope.CLUSTER

    def score(self, pod: Pod, nodes: Nodes) -> Int64Array:
        return nodes.count_pods_by_label("zone", None, {})


def test_scores_by_what_is_on_other_nodes() -> None:
    nodes = [*NODES[:2], node("d", labels={"zone": "x"})]
    world = cluster(nodes=nodes, plugins=[Crowd()])
    assert world.judge(pod()).scores["Crowd"] == {"a": 0, "b": 0, "d": 0}
    world.add(pod("p", on="a"), pod("q", on="a"), pod("r", on="b"))
    assert world.judge(pod()).scores["Crowd"] == {"a": 0, "b": 100, "d": 0}
    assert world.schedule(pod("new")).node == "b"


def test_scores_of_the_cluster_may_be_percentages_already() -> None:
    class Half(Crowd):
        normalize = Normalize.NONE

    world = cluster(nodes=NODES[:2], pods=[pod("p", on="a")], plugins=[Half()])
    assert world.judge(pod()).scores["Half"] == {"a": 1, "b": 0}


class PerPod(NodePlugin[Any]):
    """Prefers Nodes with fewer Pods, one Node at a time."""

    normalize = Normalize.LOWER_IS_BETTER

    def score(self, pod: Pod, node: Node) -> float:
        return len(node.pods)


def test_kept_scores_follow_the_pods() -> None:
    world = cluster(nodes=NODES, plugins=[PerPod()])
    placed = [world.schedule(pod(f"p{i}")).node for i in range(6)]
    assert sorted(placed[:3]) == sorted(placed[3:]) == ["a", "b", "c"]


class Fragile(NodePlugin[Any]):
    """Fails at Node b."""

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        if node.name == "b":
            raise KeyError("zone")
        return None


class FragileScore(NodePlugin[Any]):
    """Gives text as the score of Node b."""

    def score(self, pod: Pod, node: Node) -> Any:
        return "high" if node.name == "b" else 1


class FragileArrays(VectorPlugin[Any]):
    """Gives too few answers."""

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        return np.ones(1, dtype=np.bool_)


class FragileReasons(NodePlugin[Any]):
    """Fails when it is asked a second time."""

    asked = False

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        if self.asked:
            raise ValueError("again?")
        self.asked = True
        return "no"


def profile(plugin: Any) -> Profile:
    adapter = adapt(plugin, PlainGuard())
    if isinstance(adapter, FilterPlugin):
        return make_profile({"preFilter": [adapter], "filter": [adapter]})
    return make_profile({"preScore": [adapter], "score": [adapter]})


@pytest.mark.parametrize(
    ("plugin", "failure"),
    [
        (Fragile(), "plugin \"Fragile\" failed in filter of Node b: KeyError: 'zone'"),
        (
            FragileScore(),
            "plugin \"FragileScore\" failed in score of Node b: gave 'high', not a number",
        ),
        (
            FragileArrays(),
            (
                'plugin "FragileArrays" failed in filter: gave an array bool (1,), '
                "not bool (3,), one a Node"
            ),
        ),
    ],
)
def test_a_failure_is_the_classes(plugin: Any, failure: str) -> None:
    cache = make_cache(NODES)
    prepared = prepare(profile(plugin), pod(), cache.cluster)
    evaluation_of(prepared).refresh(cache.columns)
    assert prepared.failure() == Status(Code.ERROR, (failure,), type(plugin).__name__)


class Answering(NodePlugin[Any]):
    """Answers the same for Node b, whatever that is; passes the others."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def filter(self, pod: Pod, node: Node) -> Any:
        if node.name != "b":
            return None
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Mute:
    """Cannot be shown."""

    def __repr__(self) -> str:
        raise OSError("no")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (42, "gave 42, not None, a reason or a Reject with one"),
        (SystemExit(3), "SystemExit: 3"),
        (NoAnswerError("no answer within 2 s"), "no answer within 2 s"),
        (Mute(), "OSError: no"),
        (object(), "gave <object object>, not None, a reason or a Reject with one"),
    ],
)
def test_a_failure_names_the_node(answer: Any, said: str) -> None:
    cache = make_cache(NODES)
    prepared = prepare(profile(Answering(answer)), pod(), cache.cluster)
    evaluation_of(prepared).refresh(cache.columns)
    failure = prepared.failure()
    assert failure is not None
    assert failure.reasons == (f'plugin "Answering" failed in filter of Node b: {said}',)


def test_the_operator_may_end_it_at_any_node() -> None:
    cache = make_cache(NODES)
    prepared = prepare(profile(Answering(KeyboardInterrupt())), pod(), cache.cluster)
    with pytest.raises(KeyboardInterrupt):
        evaluation_of(prepared).refresh(cache.columns)


def test_a_reason_that_is_changed_later_is_judged_as_any_answer() -> None:
    class Never(VectorPlugin[Any]):
        def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
            self.__dict__["reason"] = 5
            return np.zeros(len(nodes), dtype=np.bool_)

    cache = make_cache(NODES[:1])
    [(plugin, state)] = prepare(profile(Never()), pod(), cache.cluster).filters
    everywhere = NodeView(cache.columns, np.arange(1))
    plugin.filter(state, everywhere)
    [rejection] = plugin.rejections(state, everywhere)
    assert rejection.status.code is Code.ERROR
    assert "gave Reject(reason=5, resolvable=True), not None" in rejection.status.message


class Annotated(NodePlugin[Any]):
    """Shows which annotations it sees, as the reason."""

    pod_fields = frozenset({"annotations"})
    pod_annotations = frozenset({"a/kept"})

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        return ", ".join(pod.annotations)


def test_plugins_see_the_annotations_that_they_name_and_no_others() -> None:
    world = cluster(nodes=NODES[:1], plugins=[Annotated()])
    new = pod(annotations={"a/kept": "1", "b/other": "2"})
    assert world.judge(new).reasons == {"a": ("a/kept",)}
    assert world.schedule(new).message == "0/1 nodes are available: 1 a/kept."


@pytest.mark.parametrize("ask", ["schedule", "judge"])
def test_in_a_test_a_plugin_raises_what_it_raises(ask: str) -> None:
    world = cluster(nodes=NODES, plugins=[Fragile()])
    with pytest.raises(KeyError, match="zone") as caught:
        getattr(world, ask)(pod())
    assert caught.traceback[-1].name == "filter"


def test_after_a_failure_it_is_the_reason_of_every_node() -> None:
    cache = make_cache(NODES)
    prepared = prepare(profile(Fragile()), pod(), cache.cluster)
    [(plugin, state)] = prepared.filters
    everywhere = NodeView(cache.columns, np.arange(3))
    mask = plugin.filter(state, everywhere)
    assert mask is not None
    assert not mask.any()
    [rejection] = plugin.rejections(state, everywhere)
    assert rejection.status.code is Code.ERROR
    assert rejection.nodes.all()


def test_reasons_may_fail_as_well() -> None:
    cache = make_cache(NODES[:1])
    prepared = prepare(profile(FragileReasons()), pod(), cache.cluster)
    [(plugin, state)] = prepared.filters
    everywhere = NodeView(cache.columns, np.arange(1))
    plugin.filter(state, everywhere)
    assert prepared.failure() is None
    [rejection] = plugin.rejections(state, everywhere)
    assert rejection.status.code is Code.ERROR
    assert prepared.failure() is not None


def test_a_plugin_that_changes_its_mind_still_has_rejected() -> None:
    class Fickle(NodePlugin[Any]):
        answers = iter(["no", None])

        def filter(self, pod: Pod, node: Node) -> str | Reject | None:
            return next(self.answers)

    cache = make_cache(NODES[:1])
    prepared = prepare(profile(Fickle()), pod(), cache.cluster)
    [(plugin, state)] = prepared.filters
    everywhere = NodeView(cache.columns, np.arange(1))
    plugin.filter(state, everywhere)
    [rejection] = plugin.rejections(state, everywhere)
    assert rejection.status.reasons == ("node(s) rejected by Fickle",)


@pytest.mark.parametrize("rows", [lambda n: slice(0, n), np.arange])
def test_rows_of_no_node_are_not_asked_about(rows: Callable[[int], Any]) -> None:
    cache = make_cache(NODES, [pod("ghosts", on="ghost")])
    capacity = cache.columns.capacity
    for plugin in (ByZone(), Fraction()):
        prepared = prepare(profile(plugin), pod(), cache.cluster)
        view = NodeView(cache.columns, rows(capacity))
        if prepared.filters:
            [(filtering, state)] = prepared.filters
            mask = filtering.filter(state, view)
            assert mask is not None
            assert mask[:3].tolist() == [True, False, False]
    # A vectorised one is, and what it says of them is not used.
    evaluation = evaluation_of(prepare(profile(Fraction()), pod(), cache.cluster))
    evaluation.refresh(cache.columns)
    assert evaluation.totals[: len(NODES)].tolist() == [21, 21, 10]
