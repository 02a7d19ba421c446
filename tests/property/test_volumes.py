"""Volumes: vectorised as Node by Node, and kept answers as fresh ones after any events."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.framework.class_cache import ClassCache
from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.verdict import judge
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_svc.core.plugins.volume_binding import VolumeBinding
from scheduler_svc.core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_svc.core.plugins.volume_zone import VolumeZone
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code
from tests.builders import make_profile
from tests.property.storage import NODE_NAMES, nodes, nodes_by_name, objects, pods
from tests.reference.volumes import StorageWorld, pre_filter, rejection
from tests.storage import DRIVER, KINDS, make_storage_cache, tell, untell

STORED = tuple(KINDS.values())
RUNNING = tuple(f"r{number}" for number in range(5))


def make_volumes_profile(binding: VolumeBinding | None = None) -> Profile:
    plugins = [VolumeRestrictions(), NodeVolumeLimits(), binding or VolumeBinding(), VolumeZone()]
    return make_profile({"preFilter": plugins, "filter": plugins})


def world_of(cluster: Cluster, running: list[PodInfo]) -> StorageWorld:
    lists = [list(cluster.objects[kind].by_key.values()) for kind in STORED]
    known = [info for info in cluster.columns.infos if info is not None]
    volumes, claims, classes, csi_nodes, drivers, capacities, attachments = lists
    return StorageWorld(
        known, running, volumes, claims, classes, csi_nodes, drivers, capacities, attachments
    )


def rejected(cluster: Cluster, pod: PodInfo) -> dict[str, list[str]] | str:
    """Give the reasons by Node, or the one that keeps the Pod from all."""
    prepared = prepare(make_volumes_profile(), pod, cluster)
    if prepared.rejection is not None:
        assert prepared.rejection.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return prepared.rejection.message
    verdict = judge(prepared, cluster.columns)
    names = cluster.columns.names
    found: dict[str, list[str]] = {names[row]: [] for row in verdict.rows}
    for group in verdict.diagnosis.groups:
        found |= {names[row]: sorted(group.status.reasons) for row in group.rows}
    return found


@given(
    known=st.lists(nodes, min_size=1, max_size=4, unique_by=lambda node: node.name),
    stored=st.lists(objects, max_size=25),
    running=st.tuples(*(pods(name, on_node=True) for name in RUNNING[:3])),
    pod=pods("new", on_node=False),
)
def test_columns_decide_as_the_reference_does(
    known: list[NodeInfo], stored: list[Any], running: tuple[PodInfo, ...], pod: PodInfo
) -> None:
    cluster = make_storage_cache(known, stored, running).cluster
    world = world_of(cluster, list(running))
    reason = pre_filter(world, pod)
    if reason:
        assert rejected(cluster, pod) == reason
        return
    expected = {node.name: sorted(rejection(world, pod, node)) for node in world.nodes}
    assert rejected(cluster, pod) == expected


class Life:
    """A cluster to which things happen, and evaluations that are kept meanwhile."""

    def __init__(self) -> None:
        self.cache = make_storage_cache()
        self.binding = VolumeBinding()
        self.profile = make_volumes_profile(self.binding)
        self.classes = ClassCache(self.profile, self.cache.cluster)
        self.running: dict[str, PodInfo] = {}
        self.reserved: dict[str, tuple[PodInfo, str]] = {}

    def happen(self, event: Any) -> None:
        match event:
            case ("node", NodeInfo() as node):
                self.cache.set_node(node)
            case ("no node", str(name)):
                self.cache.remove_node(name)
            case ("object", found):
                tell(self.cache.cluster, found)
            case ("no object", found):
                untell(self.cache.cluster, found)
            case ("pod", PodInfo() as pod):
                # Another one of that name: a Pod's volumes never change.
                self.cache.remove(pod.uid)
                self.cache.upsert(pod)
                self.running[pod.uid] = pod
            case ("no pod", str(name)):
                self.cache.remove(f"uid-{name}")
                self.running.pop(f"uid-{name}", None)
            case ("place", PodInfo() as pod):
                self.place(pod)
            case ("give back", PodInfo() as pod):
                self.give_back(pod)

    def place(self, pod: PodInfo) -> None:
        """Reserve the volumes of a Pod on the first Node that fits, as the scheduler does."""
        self.give_back(pod)
        totals = self.classes.evaluation(pod).totals
        prepared = self.classes.evaluation(pod).prepared
        rows = [row for row, total in enumerate(totals) if total != INFEASIBLE]
        if prepared.rejection is None and rows:
            node = self.cache.columns.names[rows[0]]
            self.reserved[pod.uid] = pod, node
            assert self.binding.reserve(pod, node, self.cache.cluster).code is Code.SUCCESS

    def give_back(self, pod: PodInfo) -> None:
        former = self.reserved.pop(pod.uid, None)
        if former is not None:
            self.binding.unreserve(former[0], former[1], self.cache.cluster)

    def feasible(self, pod: PodInfo) -> set[str]:
        evaluation = self.classes.evaluation(pod)
        if evaluation.prepared.rejection is not None:
            return set()
        columns = self.cache.columns
        return {n for n, row in columns.rows.items() if evaluation.totals[row] != INFEASIBLE}

    def rebuilt(self) -> Cache:
        """Make the same cluster anew, assumptions and all."""
        cluster = self.cache.cluster
        known = [info for info in cluster.columns.infos if info is not None]
        stored = [o for kind in STORED for o in cluster.objects[kind].by_key.values()]
        fresh = make_storage_cache(known, stored, self.running.values())
        volumes, assumed = fresh.cluster.volumes, cluster.volumes
        for key in cluster.objects[ObjectKind.PERSISTENT_VOLUME].by_key:
            newest = assumed.persistent_volumes.get(key)
            if newest is not None and newest is not volumes.persistent_volumes.get(key):
                volumes.persistent_volumes.assumed.assume(newest)
        for key in cluster.objects[ObjectKind.PERSISTENT_VOLUME_CLAIM].by_key:
            claim = assumed.claims.get(key)
            if claim is not None and claim is not volumes.claims.get(key):
                volumes.claims.assume(claim)
        return fresh


events = st.one_of(
    st.tuples(st.just("node"), nodes),
    st.tuples(st.just("no node"), st.sampled_from(NODE_NAMES)),
    st.tuples(st.just("object"), objects),
    st.tuples(st.just("object"), objects),
    st.tuples(st.just("no object"), objects),
    st.tuples(st.just("pod"), st.sampled_from(RUNNING).flatmap(lambda n: pods(n, on_node=True))),
    st.tuples(st.just("no pod"), st.sampled_from(RUNNING)),
    st.tuples(st.just("place"), pods("mine", on_node=False)),
    st.tuples(st.just("give back"), pods("mine", on_node=False)),
)


@given(
    first=st.tuples(*nodes_by_name.values()),
    stored=st.lists(objects, max_size=15),
    happened=st.lists(events, max_size=15),
    waiting=st.tuples(pods("x", on_node=False), pods("y", on_node=False)),
)
def test_kept_answers_equal_fresh_ones_after_any_events(
    first: tuple[NodeInfo, ...],
    stored: list[Any],
    happened: list[Any],
    waiting: tuple[PodInfo, ...],
) -> None:
    life = Life()
    for event in (*(("node", n) for n in first), *(("object", o) for o in stored), *happened):
        life.happen(event)
        for pod in waiting:
            life.feasible(pod)
    fresh = life.rebuilt()
    for pod in waiting:
        found = rejected(fresh.cluster, pod)
        expected = set() if isinstance(found, str) else {n for n, why in found.items() if not why}
        assert life.feasible(pod) == expected
    ours, theirs = life.cache.cluster.volumes, fresh.cluster.volumes
    assert ours.attached.held() == theirs.attached.held()
    assert ours.attached.counted(DRIVER) == theirs.attached.counted(DRIVER)
    for driver in ("csi.a", "csi.b"):
        assert ours.attached.counted(driver) == theirs.attached.counted(driver)
