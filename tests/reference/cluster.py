"""A cluster as the reference sees it: Nodes, and the Pods on each."""

import msgspec

from scheduler_svc.core.objects import Node, Pod
from tests.reference.amounts import is_counted, pod_requests, quantity, rounded


class HostedNode(msgspec.Struct):
    """A Node and the Pods on it."""

    node: Node
    pods: list[Pod]

    @property
    def name(self) -> str:
        return self.node.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        return self.node.metadata.labels or {}

    @property
    def allocatable(self) -> dict[str, int]:
        offered = self.node.status.allocatable or {}
        return {n: rounded(n, quantity(text)) for n, text in offered.items() if is_counted(n)}

    def requested(self, name: str, *, defaults: bool = False) -> int:
        """Give the sum of what the Pods request of one resource."""
        if name == "pods":
            return len(self.pods)
        return sum(
            pod_requests(pod, on_node=True, defaults=defaults).get(name, 0) for pod in self.pods
        )


class Cluster(msgspec.Struct):
    """All Nodes."""

    nodes: list[HostedNode]

    @classmethod
    def of(cls, nodes: list[Node], pods: list[Pod]) -> "Cluster":
        """Put each Pod on the Node that it names; those on unknown Nodes play no part."""
        return cls(
            [HostedNode(n, [p for p in pods if p.spec.node_name == n.metadata.name]) for n in nodes]
        )
