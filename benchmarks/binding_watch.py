"""Sees Pods become bound, as any client does: by a watch.

A watch may end at any time, under load even without an error; so a reflector reads it, which goes
on from where it was and loses nothing.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from benchmarks.cluster import PODS
from benchmarks.errors import BenchmarkError
from kubeio.changes import ReflectorEvent, Upserted
from kubeio.client import KubeClient
from kubeio.decoding import ObjectMetadata, Query
from kubeio.reflector import Reflector

_CHECK_SECONDS: Final = 1.0
_LIST_TIMEOUT_SECONDS: Final = 60.0


class WatchedSpec(msgspec.Struct, frozen=True, rename="camel"):
    """Of a Pod's specification: where it runs; "" while nowhere."""

    node_name: str = ""


class WatchedPod(msgspec.Struct, frozen=True):
    """All that is read of a Pod."""

    metadata: ObjectMetadata
    spec: WatchedSpec


class BindingWatch:
    """When each Pod of a namespace was first seen with a Node.

    Attributes
    ----------
    bound_at_seconds
        By the Pod's name; ``time.perf_counter`` of the arrival here.
    changed_at_seconds
        When the last of them arrived, or the watch was made.
    """

    def __init__(self) -> None:
        self.bound_at_seconds: dict[str, float] = {}
        self.changed_at_seconds = time.perf_counter()
        self._changed = asyncio.Event()
        self._listed = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def of(cls, client: KubeClient, namespace: str) -> AsyncIterator["BindingWatch"]:
        """Watch a namespace; in the block the watch is up."""
        watch = cls()
        query = Query[WatchedPod](resource=PODS.in_namespace(namespace), object_type=WatchedPod)
        task = asyncio.create_task(Reflector(client, query, watch.take).run())
        try:
            async with asyncio.timeout(_LIST_TIMEOUT_SECONDS):
                await watch._listed.wait()
            yield watch
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def take(self, event: ReflectorEvent[WatchedPod]) -> None:
        """Take in what the reflector tells."""
        if not isinstance(event, Upserted):
            self._listed.set()
            return
        pod = event.object
        if pod.spec.node_name and pod.metadata.name not in self.bound_at_seconds:
            self.changed_at_seconds = time.perf_counter()
            self.bound_at_seconds[pod.metadata.name] = self.changed_at_seconds
            self._changed.set()

    async def wait_bound(
        self, count: int, *, check: Callable[[], None], timeout_seconds: float
    ) -> None:
        """Wait until `count` Pods are bound.

        Parameters
        ----------
        check
            Called now and then; raises when waiting on makes no sense.

        Raises
        ------
        BenchmarkError
            If it takes longer than `timeout_seconds`.
        """
        deadline_seconds = time.monotonic() + timeout_seconds
        while len(self.bound_at_seconds) < count:
            check()
            if time.monotonic() > deadline_seconds:
                raise BenchmarkError(
                    f"{len(self.bound_at_seconds)} of {count} Pods are bound after "
                    f"{timeout_seconds:.0f} s"
                )
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_SECONDS):
                    await self._changed.wait()
