"""The cluster of a shape: its Nodes, the Pods there before, and what a client does besides."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeVar

from benchmarks.cluster import NAMESPACES, NODE_CONCURRENCY, PODS, Cluster, each_of, encode
from benchmarks.errors import BenchmarkError
from benchmarks.manifests import node_name, plain_pod
from benchmarks.workloads import Churn, ShapeWorkload, Workloads, pick
from kubeio.errors import KubeError, NotFoundError

ValueT = TypeVar("ValueT")

WARM_UP: Final = "warm-up"
MEASURED: Final = "measured"
WAITING: Final = "waiting"
CHURN: Final = "churn"
TEAM: Final = {"team": "devops"}
"""What shapes with namespace selectors select; the warm-up's namespace does not have it."""

Place = tuple[str, str, str]
"""Namespace, Pod and Node that an object is made for; "" where there is none."""


def filled(text: bytes, place: Place) -> bytes:
    """Put names for ``{namespace}``, ``{pod}`` and ``{node}``."""
    for mark, name in zip((b"{namespace}", b"{pod}", b"{node}"), place, strict=True):
        text = text.replace(mark, name.encode())
    return text


class _Body(NamedTuple):
    share: int
    text: bytes


class PodMaker:
    """Makes the Pods of a pool; what they need is what its first template says."""

    def __init__(
        self, workloads: Workloads, pool: str, *, scheduler_name: str, is_placed: bool = False
    ) -> None:
        templates = workloads.pod_pools[pool]
        self.objects = templates[0].objects
        self._bodies = []
        for template in templates:
            manifest = plain_pod(
                "{pod}", template, namespace="{namespace}", scheduler_name=scheduler_name
            )
            if is_placed:
                manifest["spec"]["nodeName"] = "{node}"
            self._bodies.append(_Body(template.share, encode(manifest)))

    def body(self, place: Place, index: int = 0) -> bytes:
        """Make one Pod, of the template of number `index`; with a Node it is bound already."""
        return filled(pick(self._bodies, index).text, place)


class ShapeCluster:
    """Makes what a shape needs on one API server, for the Pods of one scheduler."""

    def __init__(
        self, cluster: Cluster, workloads: Workloads, shape: ShapeWorkload, scheduler_name: str
    ) -> None:
        self.cluster = cluster
        self._workloads = workloads
        self._shape = shape
        self._scheduler_name = scheduler_name
        self._objects = {
            name: (template.path.encode(), encode(template.manifest))
            for name, template in workloads.objects.items()
        }

    async def fill(self) -> None:
        """Create all that is there before the scheduler starts."""
        shape = self._shape
        placed = [f"placed-{number}" for number in range(shape.namespace_count)]
        await self._create_namespace(WARM_UP, {})
        for namespace in (MEASURED, WAITING, CHURN, *placed):
            await self._create_namespace(namespace, TEAM)
        await self._create_objects(shape.objects, ("", "", ""))
        pool = self._workloads.node_pools[shape.node_pool]
        await self.cluster.create_nodes(pool, shape.node_count)
        await self._each(range(shape.node_count), self._create_node_objects)
        await self._each(self._placed(placed), self._create_placed)
        waiting = PodMaker(self._workloads, shape.waiting_pool, scheduler_name=self._scheduler_name)

        async def create_waiting(index: int) -> None:
            await self.create_pod(waiting, (WAITING, f"pod-{index:05d}", ""))

        await self._each(range(shape.waiting_count), create_waiting)

    def makers(self) -> tuple[PodMaker, PodMaker]:
        """Give the makers of the Pods that warm up, and of those that are measured."""
        shape = self._shape
        return (
            PodMaker(self._workloads, shape.warm_up_pool, scheduler_name=self._scheduler_name),
            PodMaker(self._workloads, shape.pod_pool, scheduler_name=self._scheduler_name),
        )

    def place(self, namespace: str, index: int) -> Place:
        """Name the Pod of number `index`, and the Node that it may ask for."""
        return namespace, f"pod-{index:05d}", node_name(index % self._shape.node_count)

    async def create_pod(self, maker: PodMaker, place: Place) -> None:
        """Create a Pod and what it needs."""
        await self.create_needed(maker, place)
        await self.cluster.create(PODS.in_namespace(place[0]), maker.body(place))

    async def create_needed(self, maker: PodMaker, place: Place) -> None:
        """Create what a Pod needs, but not the Pod."""
        await self._create_objects(maker.objects, place)

    async def _create_namespace(self, name: str, labels: dict[str, str]) -> None:
        metadata = {"name": name, "labels": labels}
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        await self.cluster.create(NAMESPACES, encode(manifest))

    async def _create_objects(self, names: Iterable[str], place: Place) -> None:
        for name in names:
            path, body = self._objects[name]
            await self.cluster.create_at(filled(path, place).decode(), filled(body, place))

    async def _create_node_objects(self, index: int) -> None:
        shape = pick(self._workloads.node_pools[self._shape.node_pool], index)
        await self._create_objects(shape.objects, ("", "", node_name(index)))

    def _placed(self, namespaces: list[str]) -> Iterator[tuple[PodMaker, Place]]:
        shape = self._shape
        makers = [
            PodMaker(self._workloads, pool, scheduler_name="nobody", is_placed=True)
            for pool in shape.placed_pools
        ]
        for index in range(shape.placed_count):
            # Each round begins one Node later: no Node gets two of one pool of several.
            node = node_name((index + index // shape.node_count) % shape.node_count)
            place = (namespaces[index % len(namespaces)], f"pod-{index:05d}", node)
            yield makers[index % len(makers)], place

    async def _create_placed(self, placed: tuple[PodMaker, Place]) -> None:
        await self.create_pod(*placed)

    async def _each(
        self, values: Iterable[ValueT], work: Callable[[ValueT], Awaitable[None]]
    ) -> None:
        await each_of(values, work, concurrency=NODE_CONCURRENCY)

    async def churn(self, churn: Churn) -> None:
        """Create and delete, until cancelled; a turn that is late is made up for."""
        maker = (
            PodMaker(self._workloads, churn.pod_pool, scheduler_name=self._scheduler_name)
            if churn.pod_pool
            else None
        )
        loop = asyncio.get_running_loop()
        next_at_seconds = loop.time()
        for turn in itertools.count():
            if churn.deletes_placed and turn < self._shape.placed_count:
                await self._delete(PODS.in_namespace("placed-0").object(f"pod-{turn:05d}"))
            if churn.replaces and turn:
                await self._delete_turn(churn, turn - 1)
            place = (CHURN, f"pod-{turn:05d}", "")
            await self._create_objects(churn.objects, place)
            if maker is not None:
                await self.create_pod(maker, place)
            next_at_seconds += churn.every_milliseconds / 1000
            await asyncio.sleep(next_at_seconds - loop.time())

    async def _delete_turn(self, churn: Churn, turn: int) -> None:
        place = (CHURN, f"pod-{turn:05d}", "")
        for name in churn.objects:
            path, _ = self._objects[name]
            manifest_name = self._workloads.objects[name].manifest["metadata"]["name"]
            name_of_turn = filled(manifest_name.encode(), place).decode()
            await self._delete(f"{filled(path, place).decode()}/{name_of_turn}")
        if churn.pod_pool:
            await self._delete(PODS.in_namespace(CHURN).object(place[1]))

    async def _delete(self, path: str) -> None:
        try:
            await self.cluster.client.call("DELETE", path)
        except NotFoundError:
            return  # preempted, or never there
        except KubeError as error:
            raise BenchmarkError(f"DELETE {path}: {error}") from error
