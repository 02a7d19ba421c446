"""What a user's plugin sees of a Pod and of a Node: plain values, read-only."""

from collections.abc import Mapping, Sequence
from typing import Final

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import PODS_ROW
from scheduler_svc.core.framework.interface import Scope
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import OwnerReference, Taint, Toleration
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Requests

DECLARABLE: Final = frozenset({"annotations", "labels", "name", "namespace", "owner", "uid"})
"""What a plugin may name in `pod_fields`; everything else of a Pod can be read in any case."""


class UndeclaredError(Exception):
    """A plugin has read something in `filter` or `score` that it does not declare to depend on."""


def check_scope(scope: Scope, needed: Scope, what: str) -> None:
    """Refuse what a plugin's answers do not say they depend on: they would go stale."""
    if _WIDTH[scope] < _WIDTH[needed]:
        raise UndeclaredError(f"{what} is read, so the plugin needs scope = Scope.{needed.name}")


_WIDTH: Final = {Scope.SPEC: 0, Scope.USAGE: 1, Scope.CLUSTER: 2}


class Pod:
    """A Pod, as a plugin sees it.

    Verdicts and scores are kept for all Pods alike, so `filter` and `score` may read of a
    Pod's identity only what the plugin names in `pod_fields`; elsewhere all can be read.
    """

    __slots__ = ("_allowed", "_info")

    def __init__(self, info: PodInfo, allowed: frozenset[str] = DECLARABLE) -> None:
        self._info = info
        self._allowed = allowed

    def __repr__(self) -> str:
        return f"<Pod {self._info.key}>"

    def _check(self, field: str) -> None:
        if field not in self._allowed:
            needed = ", ".join(map(repr, sorted({*self._allowed, field})))
            raise UndeclaredError(
                f"pod.{field} is read, so the plugin needs pod_fields = frozenset({{{needed}}})"
            )

    @property
    def namespace(self) -> str:
        """Its namespace."""
        self._check("namespace")
        return self._info.namespace

    @property
    def name(self) -> str:
        """Its name."""
        self._check("name")
        return self._info.name

    @property
    def uid(self) -> str:
        """Its uid."""
        self._check("uid")
        return self._info.uid

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        self._check("labels")
        return dict(self._info.labels)

    @property
    def annotations(self) -> Mapping[str, str]:
        """Those of its annotations that the plugin names in `pod_annotations`."""
        self._check("annotations")
        return dict(self._info.annotations)

    @property
    def owner(self) -> OwnerReference | None:
        """Its controller: `api_version`, `kind`, `name`, `uid`; None without one."""
        self._check("owner")
        return self._info.owner

    @property
    def scheduler_name(self) -> str:
        """The profile that is to schedule it."""
        return self._info.scheduler_name

    @property
    def priority(self) -> int:
        """The priority that its PriorityClass stands for."""
        return self._info.priority

    @property
    def node_selector(self) -> Mapping[str, str]:
        """The labels that its Node must have."""
        return dict(self._info.shape.node_selector or ())

    @property
    def tolerations(self) -> Sequence[Toleration]:
        """The taints it accepts."""
        return self._info.shape.tolerations

    @property
    def images(self) -> Sequence[str]:
        """Images of all its containers and image volumes, with their tags."""
        return self._info.shape.images

    @property
    def requests(self) -> Mapping[str, int]:
        """What it takes of its Node: `cpu` in thousandths, all else in bytes or pieces."""
        return amounts(self._info.requests)


def uid_of(pod: Pod) -> str:
    """Give a Pod's uid for the scheduler's own use, whatever its plugin declares."""
    return pod._info.uid  # noqa: SLF001 - the view is this module's


def amounts(requests: Requests) -> dict[str, int]:
    """Give requests by name; what is not requested is left out."""
    known = {
        CPU: requests.milli_cpu,
        MEMORY: requests.memory_bytes,
        EPHEMERAL_STORAGE: requests.ephemeral_storage_bytes,
        **dict(requests.scalars),
    }
    return {name: amount for name, amount in known.items() if amount}


class Node:
    """A Node, as a plugin sees it: what it is, what it has left, and the Pods on it."""

    __slots__ = ("_cluster", "_info", "_row", "_scope")

    def __init__(self, info: NodeInfo, row: int, cluster: Cluster, scope: Scope) -> None:
        self._info = info
        self._row = row
        self._cluster = cluster
        self._scope = scope

    def __repr__(self) -> str:
        return f"<Node {self._info.name}>"

    @property
    def name(self) -> str:
        """Its name."""
        return self._info.name

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self._info.labels

    @property
    def taints(self) -> Sequence[Taint]:
        """Its taints."""
        return self._info.taints

    @property
    def unschedulable(self) -> bool:
        """Whether it is cordoned."""
        return self._info.unschedulable

    @property
    def allocatable(self) -> Mapping[str, int]:
        """What it offers: `cpu` in thousandths, all else in bytes or pieces."""
        return dict(self._info.allocatable)

    def free(self, resource: str) -> int:
        """Give what is left of a resource; below 0 where more is taken than there is."""
        check_scope(self._scope, Scope.USAGE, "what a Node has left")
        columns = self._cluster.columns
        return int(columns.free[columns.resource_row(resource), self._row])

    @property
    def pod_count(self) -> int:
        """How many Pods are on it."""
        check_scope(self._scope, Scope.USAGE, "the number of Pods on a Node")
        columns = self._cluster.columns
        return dict(self._info.allocatable).get(PODS, 0) - int(columns.free[PODS_ROW, self._row])

    @property
    def pods(self) -> Sequence[Pod]:
        """The Pods on it. O(Pods)."""
        check_scope(self._scope, Scope.USAGE, "the Pods on a Node")
        return [Pod(info) for info in self._cluster.pods_on(self._row)]
