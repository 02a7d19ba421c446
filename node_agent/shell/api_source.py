"""The Pods of this node from the API server: list, then watch, with one field selector.

Every event hands over all Pods, as the kubelet's source does. Events come faster than their
lists can be handled only in bursts; `PENDING_LISTS` of them are kept, then the newest takes
the place of the one before it: each is complete, so nothing of the last state is lost.

Source: pkg/kubelet/config/apiserver.go, v1.36.3. Difference: it does not wait until the
Node's own object is known.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from prometheus_client import Metric

from kubeio.changes import Deleted, Listed, ReflectorEvent, Upserted
from kubeio.decoding import Query
from kubeio.instruments import counter
from kubeio.reflector import Reflector
from kubeio.resources import ResourcePath
from kubeio.source import DEFAULT_TIMING, ReflectorClient, Timing
from node_agent.core.clock import Now
from node_agent.core.events import PodsListed
from node_agent.core.objects import Pod, WirePod, read_pod
from node_agent.core.operations import Source
from node_agent.shell import metric_table as table
from node_agent.shell.clock import read_monotonic_seconds, read_now
from node_agent.shell.pod_source import Emit

PENDING_LISTS: Final = 1000
"""At 110 Pods 1 MB, if ever so many."""
PODS: Final = ResourcePath("", "v1", "pods")


def pods_of_node(node_name: str) -> Query[Pod]:
    """Give what is listed and watched: the Pods of one node, in all namespaces."""
    return Query[Pod](
        resource=PODS,
        object_type=WirePod,
        convert=read_pod,
        field_selector=f"spec.nodeName={node_name}",
    )


class ApiSource:
    """Keeps a view of the node's Pods and hands it over whenever it changes.

    Parameters
    ----------
    emit
        Takes the lists.
    seed
        Of the jitter between retries; each process its own.
    """

    source: Final = Source.API

    def __init__(
        self,
        client: ReflectorClient,
        node_name: str,
        emit: Emit,
        *,
        seed: int = 0,
        timing: Timing = DEFAULT_TIMING,
        read_now: Callable[[], Now] = read_now,
    ) -> None:
        self._emit = emit
        self._read_now = read_now
        self._pods: dict[str, Pod] = {}
        self._is_listed = False
        self._pending: deque[PodsListed] = deque()
        self._overtaken_count = 0
        self._bell = asyncio.Event()
        self.reflector: Reflector[Pod] = Reflector(
            client,
            pods_of_node(node_name),
            self._deliver,
            seed=seed,
            timing=timing,
            clock=read_monotonic_seconds,
        )

    def problem(self) -> str | None:
        """Say why the last list is missing or may be old."""
        return self.reflector.problem()

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.reflector.run(), name="reflector of Pods")
            group.create_task(self._hand_over(), name="hand-over of Pods")

    def collect(self) -> list[Metric]:
        """Give the metrics."""
        return [counter(table.LISTS_MERGED, [((), self._overtaken_count)])]

    def _deliver(self, change: ReflectorEvent[Pod]) -> None:
        match change:
            case Upserted(pod):
                self._pods[pod.metadata.uid] = pod
            case Deleted():
                self._pods.pop(change.uid, None)
            case Listed():
                if self._is_listed:
                    return  # every difference has been told already
                self._is_listed = True
        if not self._is_listed:
            return  # half a first list would look like Pods that are gone
        if len(self._pending) >= PENDING_LISTS:
            self._pending.pop()
            self._overtaken_count += 1
        pods = tuple(self._pods.values())
        self._pending.append(PodsListed(Source.API, pods, self._read_now()))
        self._bell.set()

    async def _hand_over(self) -> None:
        while True:
            await self._bell.wait()
            self._bell.clear()
            while self._pending:
                await self._emit(self._pending.popleft())
