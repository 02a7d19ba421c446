"""Whatever happens, columns equal a recount, and evaluations that are kept equal new ones."""

from functools import lru_cache

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.changes import ChangeLog
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.class_cache import ClassCache
from scheduler_svc.core.framework.cluster_evaluation import evaluation_of
from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.verdict import judge
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Node, Pod
from scheduler_svc.core.pods import PodInfo, PodInterner
from tests.property.pools import NODE_KINDS, PENDING_KINDS, POD_KINDS, node_of, pod_of
from tests.property.profiles import full_profile
from tests.reference.amounts import is_counted, pod_requests, quantity, rounded
from tests.reference.settings import Settings

NODE_NAMES = ("n0", "n1", "n2", "n3")
UNSEEN = "unseen"

kinds = st.sampled_from(sorted(POD_KINDS))
places = st.sampled_from((*NODE_NAMES, UNSEEN))

PROFILES = (
    Settings(),
    Settings(
        strategy="RequestedToCapacityRatio",
        shape=((0, 0), (50, 10), (100, 3)),
        fit_resources=(("cpu", 1), ("example.com/gpu", 3)),
        balanced_resources=("cpu", "memory", "hugepages-2Mi"),
    ),
)


@lru_cache
def recounted(kind: str, *, defaults: bool) -> dict[str, int]:
    """Give what a Pod of this kind takes of its Node, by the plain reference."""
    return pod_requests(pod_of(kind, "any", node="any"), on_node=True, defaults=defaults)


class CacheMachine(RuleBasedStateMachine):
    """Drives a cache beside plain lists of the Nodes and the Pods on them."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.columns = self.cluster.columns
        # Short, so that now and then a reader comes too late.
        self.columns.usage_log = ChangeLog(capacity=8)
        self.columns.spec_log = ChangeLog(capacity=8)
        self.cache = Cache(self.cluster)
        self.interner = PodInterner()
        self.profiles: list[Profile] = [full_profile(s) for s in PROFILES]
        self.profile = self.profiles[0]
        self.classes = ClassCache(self.profile, self.cluster)
        self.pending: list[PodInfo] = []
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[str, str]] = {}  # kind and Node's name by uid
        self.assumed: set[str] = set()
        self.created = 0
        self.step_count = 0
        self.has_grown = False

    def intern(self, pod: Pod) -> PodInfo:
        return self.interner.intern(pod)

    @rule(name=st.sampled_from(NODE_NAMES), kind=st.sampled_from(sorted(NODE_KINDS)))
    def node_is_new_or_changes(self, name: str, kind: str) -> None:
        node = node_of(kind, name)
        known = self.nodes.get(name)
        former = self.cache.set_node(NodeInfo.from_node(node))
        assert former == (None if known is None else NodeInfo.from_node(known))
        self.nodes[name] = node

    @rule(data=st.data())
    @precondition(lambda self: self.nodes)
    def node_goes(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        former = self.cache.remove_node(name)
        assert former == NodeInfo.from_node(self.nodes.pop(name))

    @rule(name=places)
    def unknown_node_goes(self, name: str) -> None:
        if name not in self.nodes:
            assert self.cache.remove_node(name) is None

    @rule(kinds=st.lists(st.sampled_from(sorted(NODE_KINDS)), min_size=1, max_size=3))
    @precondition(lambda self: not self.has_grown)
    def many_nodes_come(self, kinds: list[str]) -> None:
        """More than there is room for."""
        self.has_grown = True
        for i in range(70):
            name = f"many-{i}"
            self.nodes[name] = node_of(kinds[i % len(kinds)], name)
            self.cache.set_node(NodeInfo.from_node(self.nodes[name]))

    @rule(kind=kinds, place=places)
    def pod_is_seen(self, kind: str, place: str) -> None:
        self.created += 1
        pod = self.intern(pod_of(kind, f"p{self.created}", node=place))
        assert self.cache.upsert(pod) is None
        self.pods[pod.uid] = (kind, place)

    @rule(data=st.data(), kind=kinds)
    @precondition(lambda self: self.nodes)
    def pod_is_assumed(self, data: st.DataObject, kind: str) -> None:
        self.created += 1
        place = data.draw(st.sampled_from(sorted(self.nodes)))
        pod = self.intern(pod_of(kind, f"p{self.created}"))
        # A Pod that is assumed has no status yet that would say it was resized.
        self.cache.assume(pod, self.columns.rows[place])
        self.pods[pod.uid] = ("nothing" if kind == "resized" else kind, place)
        if kind == "resized":
            self.cache.forget(pod.uid)
            del self.pods[pod.uid]
            return
        self.assumed.add(pod.uid)

    @rule(data=st.data(), kind=kinds, moves=st.booleans(), place=places)
    @precondition(lambda self: self.pods)
    def pod_is_seen_again(self, data: st.DataObject, kind: str, moves: bool, place: str) -> None:
        """It may be an assumed one, on its Node or another, or have changed."""
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        if not moves:
            place = self.pods[uid][1]
        known, was_assumed = self.cache.get(uid), uid in self.assumed
        pod = self.intern(pod_of(kind, uid.removeprefix("uid-"), node=place, version=2))
        assert self.cache.upsert(pod) is (None if was_assumed else known)
        self.assumed.discard(uid)
        self.pods[uid] = (kind, place)

    @rule(data=st.data())
    @precondition(lambda self: self.pods)
    def assumption_is_forgotten(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        assert self.cache.forget(uid) is (uid in self.assumed)
        if uid in self.assumed:
            self.assumed.remove(uid)
            del self.pods[uid]

    @rule(data=st.data())
    @precondition(lambda self: self.pods)
    def pod_goes(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        known = self.cache.get(uid)
        removed = self.cache.remove(uid)
        assert known is not None
        assert removed is not None
        assert (removed.uid, removed.shape) == (uid, known.shape)
        assert removed.node_name == self.pods[uid][1]
        assert self.cache.remove(uid) is None
        self.assumed.discard(uid)
        del self.pods[uid]

    @initialize(
        of_images=st.sampled_from(["image", "tolerates"]),
        of_labels=st.sampled_from(["selector", "prefers", "named", "not named"]),
        of_any_kind=st.sampled_from(sorted(PENDING_KINDS)),
        which=st.sampled_from([0, 1]),
        kinds=st.lists(st.sampled_from(sorted(NODE_KINDS)), min_size=2, max_size=2),
    )
    def classes_are_chosen(
        self, of_images: str, of_labels: str, of_any_kind: str, which: int, kinds: list[str]
    ) -> None:
        self.profile = self.profiles[which]
        self.classes = ClassCache(self.profile, self.cluster)
        chosen = (of_images, of_labels, of_any_kind)
        self.pending = [self.intern(pod_of(kind, "new")) for kind in chosen]
        for name, kind in zip(NODE_NAMES, kinds, strict=False):
            self.node_is_new_or_changes(name, kind)

    @invariant()
    def kept_evaluations_equal_new_ones(self) -> None:
        """One class is looked at after every step, the others after some have gone by."""
        self.step_count += 1
        for pod, period in zip(self.pending, (1, 3, 7), strict=False):
            if self.step_count % period == 0:
                self.judge(pod)

    def judge(self, pod: PodInfo) -> None:
        kept = self.classes.evaluation(pod)
        prepared = prepare(self.profile, pod, self.cluster)
        fresh = evaluation_of(prepared)
        fresh.refresh(self.columns)
        assert kept.totals.tolist() == fresh.totals.tolist()
        verdict = judge(prepared, self.columns)
        expected = np.full(self.columns.capacity, INFEASIBLE)
        expected[verdict.rows] = verdict.totals
        assert kept.totals.tolist() == expected.tolist()

    @invariant()
    def columns_equal_a_recount(self) -> None:
        self.cache.validate()
        assert self.columns.node_count == len(self.nodes)
        assert len(self.cache) == len(self.pods)
        assert self.cache.assumed_count == len(self.assumed)
        occupied = {place for _, place in self.pods.values()}
        assert self.columns.rows.keys() == self.nodes.keys() | occupied
        live = {name for name, row in self.columns.rows.items() if self.columns.live[row]}
        assert live == self.nodes.keys()
        assert int(self.columns.live.sum()) == len(live)

    @invariant()
    def columns_equal_the_reference(self) -> None:
        for name in occupied_or_few(self.nodes, self.pods):
            row = self.columns.rows.get(name)
            if row is None:
                continue
            kinds_here = [kind for kind, place in self.pods.values() if place == name]
            offered = allocatable(self.nodes.get(name))
            for resource in self.columns.resource_names:
                requested = sum(
                    1 if resource == "pods" else recounted(kind, defaults=False).get(resource, 0)
                    for kind in kinds_here
                )
                cell = self.columns.resource_row(resource), row
                assert self.columns.allocatable[cell] == offered.get(resource, 0)
                assert self.columns.free[cell] == offered.get(resource, 0) - requested
                assert self.columns.room[cell] == self.columns.free[cell]
                assert self.columns.divisors[cell] == max(offered.get(resource, 0), 1)
            for scored, resource in enumerate(("cpu", "memory")):
                usage = sum(recounted(kind, defaults=True)[resource] for kind in kinds_here)
                assert self.columns.free[scored, row] == offered.get(resource, 0) - usage

    @invariant()
    def what_every_node_offers_is_known(self) -> None:
        live = self.columns.allocatable[:, self.columns.live]
        for resource in range(len(live)):
            offered = bool((live[resource] > 0).all())
            assert self.columns.is_offered_everywhere((resource,)) is offered

    @invariant()
    def labels_are_those_of_the_nodes(self) -> None:
        column = self.columns.label_column("zone")
        for name, node in self.nodes.items():
            code = column.codes[self.columns.rows[name]]
            expected = (node.metadata.labels or {}).get("zone")
            assert (None if code < 0 else column.values[code]) == expected


def occupied_or_few(nodes: dict[str, Node], pods: dict[str, tuple[str, str]]) -> set[str]:
    """Give the Nodes that are worth looking at: all but the many that are alike."""
    return {name for name in nodes if not name.startswith("many")} | {p for _, p in pods.values()}


@lru_cache
def _allocatable(pairs: tuple[tuple[str, str], ...]) -> dict[str, int]:
    return {name: rounded(name, quantity(text)) for name, text in pairs if is_counted(name)}


def allocatable(node: Node | None) -> dict[str, int]:
    """Give what a Node offers, by the plain reference."""
    offered = (node.status.allocatable if node else None) or {}
    return _allocatable(tuple((name, str(text)) for name, text in offered.items()))


TestCacheEvents = CacheMachine.TestCase
TestCacheEvents.settings = settings(max_examples=60, stateful_step_count=40)
