"""A cluster at one moment, in the form the live scheduler keeps it."""

from collections.abc import Iterable

from msgspec.structs import replace

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.errors import InputError
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.shell.explain.kinds import (
    NODE,
    POD,
    PRIORITY_CLASS,
    SCHEDULER_PROFILE,
    KubernetesObject,
    Manifest,
    PriorityClass,
    decode_manifest,
)
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile


class Snapshot:
    """Nodes, Pods and other objects; an object told again replaces its former version.

    Of Pods' annotations those in `annotations` are kept.

    Attributes
    ----------
    cache
        The Pods that take room on a Node, counted in `cache.cluster`.
    nominator
        The pending Pods that room is kept for.
    pending
        The Pods without a Node, by namespace/name, in the order they were told.
    priority_classes, scheduler_profiles
        By name.
    """

    def __init__(self, annotations: frozenset[str] = frozenset()) -> None:
        self.cache = Cache(Cluster())
        self.nominator = Nominator(self.cache.columns)
        self.pending: dict[str, PodInfo] = {}
        self.priority_classes: dict[str, PriorityClass] = {}
        self.scheduler_profiles: dict[str, SchedulerProfile] = {}
        self._interner = PodInterner(annotations)
        self._uids: dict[str, str] = {}
        self._keys: dict[str, str] = {}

    @property
    def cluster(self) -> Cluster:
        """What plugins read."""
        return self.cache.cluster

    def add(self, object_: KubernetesObject) -> None:
        """Take in an object. Raises `InputError`, naming it, for one that cannot be used."""
        content = object_.content
        try:
            if object_.kind == POD:
                self._add_pod(self._interner.intern(content))
            elif object_.kind == NODE:
                self.cache.set_node(NodeInfo.from_node(content))
            elif object_.kind == PRIORITY_CLASS:
                self.priority_classes[object_.name] = content
            elif object_.kind == SCHEDULER_PROFILE:
                self.scheduler_profiles[object_.name] = content
            else:
                self.cluster.objects[ObjectKind(object_.kind)].upsert(content)
        except InputError as error:
            where = f"{object_.namespace}/{object_.name}".removeprefix("/")
            raise InputError(f"{object_.kind} {where}: {error}") from error

    def _add_pod(self, pod: PodInfo) -> None:
        if self._keys.setdefault(pod.uid, pod.key) != pod.key:
            # Somebody has copied a manifest: it is another Pod all the same.
            pod = replace(pod, uid=pod.key)
        former = self._uids.get(pod.key, pod.uid)
        if former != pod.uid:
            self.nominator.forget(former)
            self.cache.remove(former)
        self._uids[pod.key] = pod.uid
        self.pending.pop(pod.key, None)
        self.nominator.forget(pod.uid)
        if pod.is_finished:
            self.cache.remove(pod.uid)
        elif pod.node_name:
            self.cache.upsert(pod)
        else:
            self.cache.remove(pod.uid)
            self.pending[pod.key] = pod
            self.nominator.nominate(pod, pod.nominated_node_name)


def snapshot_of(manifests: Iterable[Manifest]) -> Snapshot:
    """Give the snapshot that manifests make; kinds without a part in decisions are left out."""
    snapshot = Snapshot()
    for manifest in manifests:
        object_ = decode_manifest(manifest)
        if object_ is not None:
            snapshot.add(object_)
    return snapshot
