"""Filters where room is kept for nominated Pods: with them there, and without."""

from collections.abc import Sequence

import numpy as np

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.framework.filtering import NodeGroup
from scheduler_svc.core.framework.interface import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    Rejection,
    Scope,
)
from scheduler_svc.core.framework.nominated import RespectedPods, ask_all, respected_pods
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.label_selectors import EVERYTHING
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.pod_counts import PodCounter, PodQuery, PodTerm
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status
from tests.builders import make_cache, make_node_info, make_pod_info, make_profile

LONELY = Status(Code.UNSCHEDULABLE, ("lonely",))
CROWDED = Status(Code.UNSCHEDULABLE, ("crowded",))


class Counting(PreFilterPlugin, FilterPlugin):
    """Lets a Pod run where there are so many Pods in all, at least and at most."""

    name = "Counting"
    filter_scope = Scope.CLUSTER

    def __init__(self, fewest: int, most: int) -> None:
        self._fewest, self._most = fewest, most

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        query = PodQuery((PodTerm(None, EVERYTHING),))
        return PreFilterResult(state=cluster.pod_counts.counter(query))

    def filter(self, state: PodCounter, nodes: NodeView) -> BoolArray:
        fits = self._fewest <= state.tally.total <= self._most
        return np.full(nodes.count, fits, dtype=np.bool_)

    def rejections(self, state: PodCounter, nodes: NodeView) -> Sequence[Rejection]:
        status = LONELY if state.tally.total < self._fewest else CROWDED
        return [Rejection.of_all(status, nodes)]


def nominated(cache: Cache, *pairs: tuple[PodInfo, str]) -> Nominator:
    nominator = Nominator(cache.columns)
    for pod, node_name in pairs:
        nominator.nominate(pod, node_name)
    return nominator


def rival(name: str = "rival", cpu: int = 3, priority: int = 5) -> PodInfo:
    return make_pod_info(name, priority=priority, requests={"cpu": cpu})


def ask(
    pod: PodInfo, cache: Cache, respected: RespectedPods | None, *filters: Plugin
) -> tuple[list[int], dict[int, str]]:
    plugins = filters or (NodeResourcesFit(),)
    profile = make_profile({"preFilter": plugins, "filter": plugins})
    prepared = prepare(profile, pod, cache.cluster)
    groups: list[NodeGroup] = []
    rows = np.arange(cache.columns.node_count)
    passed = ask_all(prepared.filters, respected, cache.columns, rows, groups)
    cache.validate()
    return passed.tolist(), {r: g.status.message for g in groups for r in g.rows.tolist()}


def test_nobody_is_respected_where_nobody_is_nominated() -> None:
    cache = make_cache([make_node_info("n")])
    assert respected_pods(rival(), cache, nominated(cache)) is None
    low = rival("low", priority=1)
    assert respected_pods(rival(), cache, nominated(cache, (low, "n"))) is None


def test_no_room_is_taken_that_is_kept_for_others() -> None:
    cache = make_cache([make_node_info(name) for name in "abc"])
    pod = make_pod_info("new", priority=5, requests={"cpu": 2})
    pairs = [(rival("r0"), "a"), (rival("r1", cpu=1), "b"), (rival("r2", 1), "b")]
    respected = respected_pods(pod, cache, nominated(cache, *pairs))
    assert ask(pod, cache, respected) == ([1, 2], {0: "Insufficient cpu"})


def test_what_is_nominated_to_one_node_plays_no_part_on_another() -> None:
    cache = make_cache([make_node_info(name) for name in "abc"], [make_pod_info("p", node="c")])
    pod = make_pod_info("new", priority=5)
    respected = respected_pods(pod, cache, nominated(cache, (rival("r0"), "a"), (rival("r1"), "b")))
    # One Pod is there, and for each of the two Nodes one nominated Pod more.
    assert ask(pod, cache, respected, Counting(0, 2)) == ([0, 1, 2], {})
    assert ask(pod, cache, respected, Counting(0, 1)) == ([2], {0: "crowded", 1: "crowded"})


def test_a_pod_must_pass_without_the_nominated_ones_too() -> None:
    cache = make_cache([make_node_info(name) for name in "ab"])
    pod = make_pod_info("new", priority=5)
    respected = respected_pods(pod, cache, nominated(cache, (rival(), "a")))
    assert ask(pod, cache, respected, Counting(1, 9)) == ([], {0: "lonely", 1: "lonely"})


def test_filters_that_look_at_one_node_are_asked_first() -> None:
    cache = make_cache([make_node_info(name) for name in "ab"])
    pod = make_pod_info("new", priority=5, requests={"cpu": 2})
    respected = respected_pods(pod, cache, nominated(cache, (rival(), "a"), (rival("r1", 1), "b")))
    filters = NodeResourcesFit(), Counting(0, 0)
    expected = {0: "Insufficient cpu", 1: "crowded"}
    assert ask(pod, cache, respected, *filters) == ([], expected)
