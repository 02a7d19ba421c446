"""The raw bind run: what a scheduler could reach at most on this API server.

Each Pod is created and bound at once by the same client, round-robin over the Nodes. Nothing is
decided, nothing else is written.
"""

import itertools
from collections.abc import Callable

from benchmarks.cluster import Cluster
from benchmarks.manifests import node_name
from kubeio.resources import ResourcePath


class RawBinder:
    """Binds Pod after Pod to Node after Node."""

    def __init__(self, cluster: Cluster, *, node_count: int) -> None:
        self._cluster = cluster
        self._nodes = itertools.cycle(range(node_count))

    async def create_and_bind(
        self, pods: ResourcePath, name: str, body: bytes, note_created: Callable[[str], None]
    ) -> None:
        """Create a Pod and bind it; `note_created` is called as the first is sent."""
        note_created(name)
        await self._cluster.create(pods, body)
        await self._cluster.bind(pods, name, node_name(next(self._nodes)))
