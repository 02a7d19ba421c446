"""The client: creates Nodes and Pods as fast as it may, and asks the API server what is there."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.errors import BenchmarkError
from benchmarks.manifests import Manifest, node_manifest
from benchmarks.workloads import NodeShape
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.errors import shorten
from kubeio.resources import ResourcePath
from kubeio.writes import WritePool

NODES: Final = ResourcePath("", "v1", "nodes")
PODS: Final = ResourcePath("", "v1", "pods")
NAMESPACES: Final = ResourcePath("", "v1", "namespaces")
LEASES: Final = ResourcePath("coordination.k8s.io", "v1", "leases", "kube-system")
EVENTS: Final = ResourcePath("events.k8s.io", "v1", "events")
USER_AGENT: Final = "berthmaster-benchmarks"
NODE_CONCURRENCY: Final = 32
SAMPLE_COUNT: Final = 200


class _EventSummary(msgspec.Struct, frozen=True):
    reason: str
    regarding: dict[str, str]


class _EventList(msgspec.Struct, frozen=True):
    items: list[_EventSummary]


class _ListCount(msgspec.Struct, frozen=True, rename="camel"):
    remaining_item_count: int = 0


class _Page(msgspec.Struct, frozen=True):
    metadata: _ListCount
    items: list[msgspec.Raw]


class _Named(msgspec.Struct, frozen=True):
    metadata: dict[str, Any]


class _NamedList(msgspec.Struct, frozen=True):
    items: list[_Named]


class Cluster:
    """One API server, seen by a client that may do everything.

    Use `connect`.
    """

    def __init__(self, client: KubeClient, pool: WritePool) -> None:
        self.client = client
        self._pool = pool

    @classmethod
    @asynccontextmanager
    async def connect(cls, kubeconfig: Path) -> AsyncIterator["Cluster"]:
        """Connect with a kubeconfig; disconnects at the end of the block."""
        credentials = await Credentials.load(str(kubeconfig))
        async with (
            KubeClient(credentials, user_agent=USER_AGENT) as client,
            WritePool(credentials, user_agent=USER_AGENT) as pool,
        ):
            yield cls(client, pool)

    async def create(self, resource: ResourcePath, body: bytes) -> None:
        """Create one object.

        Raises
        ------
        BenchmarkError
            If the API server refuses it.
        """
        await self._post(resource.collection, body, resource.plural)

    async def create_at(self, path: str, body: bytes) -> None:
        """Create one object at a path; `BenchmarkError` if the API server refuses."""
        await self._post(path, body, path.rpartition("/")[2])

    async def bind(self, pods: ResourcePath, name: str, node: str) -> None:
        """Bind one Pod of a namespace; `BenchmarkError` if the API server refuses."""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        body = msgspec.json.encode(binding)
        await self._post(pods.object(name, "binding"), body, "pods/binding")

    async def _post(self, path: str, body: bytes, resource: str) -> None:
        response = await self._pool.post(path, body, resource=resource)
        if not response.ok:
            raise BenchmarkError(
                f"POST {path}: the API server answers {response.status}: {shorten(response.body)}"
            )

    async def create_namespace(self, name: str) -> None:
        """Create a namespace."""
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await self.create(NAMESPACES, msgspec.json.encode(manifest))

    async def create_nodes(self, pool: Sequence[NodeShape], count: int) -> None:
        """Create the first `count` Nodes of a pool."""
        bodies = (msgspec.json.encode(node_manifest(index, pool)) for index in range(count))
        await each_of(bodies, lambda body: self.create(NODES, body), concurrency=NODE_CONCURRENCY)

    async def count_events(self, namespace: str) -> int:
        """Count a namespace's events: one event is read, of the others only their number."""
        page = await self.client.get_json(
            EVENTS.in_namespace(namespace).collection, _Page, params={"limit": "1"}
        )
        return len(page.items) + page.metadata.remaining_item_count

    async def count_scheduled_pods_with_events(self, namespace: str) -> int:
        """Count the Pods of a namespace that have a Scheduled event; reads all events."""
        listed = await self.client.get_json(EVENTS.in_namespace(namespace).collection, _EventList)
        return len({e.regarding.get("uid") for e in listed.items if e.reason == "Scheduled"})

    async def mean_pod_bytes(self) -> float:
        """Give the mean size of the first few Pods as the API server lists them, in JSON."""
        page = await self.client.get_json(
            PODS.collection, _Page, params={"limit": str(SAMPLE_COUNT)}
        )
        return sum(len(bytes(item)) for item in page.items) / max(1, len(page.items))

    async def delete_leases(self) -> None:
        """Delete all election Leases, so that the next candidate leads at once."""
        listed = await self.client.get_json(LEASES.collection, _NamedList)
        for item in listed.items:
            await self.client.call("DELETE", LEASES.object(item.metadata["name"]))


async def each_of(
    values: Iterable[Any], work: Callable[[Any], Awaitable[None]], *, concurrency: int
) -> None:
    """Do `work` for each value, `concurrency` at a time, in order; the first failure ends all."""
    iterator = iter(values)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(_drain(iterator, work))
    except ExceptionGroup as failures:
        # When one has failed the others are cancelled, or fail for the same reason.
        raise failures.exceptions[0] from None


async def _drain(iterator: Iterator[Any], work: Callable[[Any], Awaitable[None]]) -> None:
    for value in iterator:
        await work(value)


def encode(manifest: Manifest) -> bytes:
    """Encode a manifest as the API server takes it."""
    return msgspec.json.encode(manifest)
