"""Watches Nodes, Pods and events of the demonstration, and waits for what they come to.

One task for each resource; whatever they are told is noted with the time it came.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from deploy.demo import records
from deploy.demo.cluster import NODES, PODS
from deploy.demo.errors import DemoError
from deploy.demo.manifests import NAMESPACE
from deploy.demo.records import PodRecord
from kubeio.changes import Deleted, ReflectorEvent, Upserted
from kubeio.client import KubeClient
from kubeio.decoding import Query
from kubeio.reflector import Reflector
from kubeio.resources import ResourcePath

EVENTS = ResourcePath("events.k8s.io", "v1", "events", NAMESPACE)
SERVICE_ACCOUNTS = ResourcePath("", "v1", "serviceaccounts", NAMESPACE)
LOOK_SECONDS = 0.05
"""Between two looks of a wait. Times come from the records, so nothing is measured by it; to look
after every event would cost more than all the rest, with thousands of Pods."""


class Watcher:
    """Notes what happens from entering the context to leaving it.

    Parameters
    ----------
    client
        Used for all watches.
    check
        Called while waiting; raises what makes waiting pointless.

    Attributes
    ----------
    ready_nodes
        Names of Nodes that are ready.
    lapsed_nodes
        Names of Nodes that have once been ready and then were not.
    refusals
        Newest FailedScheduling note by the Pod's name.
    has_service_account
        Whether the namespace has its default service account, without which Pods are refused.
    """

    def __init__(self, client: KubeClient, *, check: Callable[[], None]) -> None:
        self._check = check
        self._pods: dict[str, PodRecord] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self.ready_nodes: set[str] = set()
        self.lapsed_nodes: set[str] = set()
        self.refusals: dict[str, str] = {}
        self.has_service_account = False
        self._reflectors = (
            Reflector(client, Query(resource=NODES, object_type=records.Node), self._note_node),
            Reflector(client, Query(resource=PODS, object_type=records.Pod), self._note_pod),
            Reflector(
                client,
                Query(
                    resource=EVENTS,
                    object_type=records.Event,
                    field_selector="reason=FailedScheduling",
                ),
                self._note_event,
            ),
            Reflector(
                client,
                Query(resource=SERVICE_ACCOUNTS, object_type=records.ServiceAccount),
                self._note_service_account,
            ),
        )

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(reflector.run()) for reflector in self._reflectors]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def pods(self) -> list[PodRecord]:
        """Records of all Pods that exist, in the order in which they were first seen."""
        return list(self._pods.values())

    def find(self, name: str) -> PodRecord | None:
        """Give the record of a Pod, or None."""
        return next((record for record in self._pods.values() if record.name == name), None)

    @property
    def listed(self) -> bool:
        """Whether all that existed at the start has been told."""
        return all(reflector.statistics.listed for reflector in self._reflectors)

    async def wait(self, is_true: Callable[[], bool], *, timeout_seconds: float) -> bool:
        """Wait until ``is_true``; False if it isn't in time.

        Raises
        ------
        Exception
            What ``check`` raises, or a watch that has failed.
        """
        deadline_seconds = time.monotonic() + timeout_seconds
        while not is_true():
            if time.monotonic() > deadline_seconds:
                return False
            self._check()
            for task in self._tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(LOOK_SECONDS)
        return True

    async def require(
        self,
        is_true: Callable[[], bool],
        *,
        timeout_seconds: float,
        problem: Callable[[], str],
    ) -> None:
        """Wait as `wait` does; a `DemoError` that says the ``problem`` if it isn't in time."""
        if not await self.wait(is_true, timeout_seconds=timeout_seconds):
            raise DemoError(f"{problem()} after {timeout_seconds:g} s")

    def bound_count(self, shapes: Iterable[str]) -> int:
        """Count bound Pods of some shapes."""
        wanted = frozenset(shapes)
        return sum(1 for record in self._pods.values() if record.node and record.shape in wanted)

    def _note_node(self, event: ReflectorEvent[records.Node]) -> None:
        if isinstance(event, Upserted):
            name, is_ready = event.object.metadata.name, event.object.is_ready
        elif isinstance(event, Deleted):
            name, is_ready = event.name, False
        else:
            return
        if is_ready:
            self.ready_nodes.add(name)
        elif name in self.ready_nodes:
            self.ready_nodes.discard(name)
            self.lapsed_nodes.add(name)

    def _note_pod(self, event: ReflectorEvent[records.Pod]) -> None:
        now_seconds = time.monotonic()
        if isinstance(event, Upserted):
            pod = event.object
            record = self._pods.get(pod.metadata.uid)
            if record is None:
                self._pods[pod.metadata.uid] = records.new_record(pod, now_seconds)
            else:
                record.note(pod, now_seconds)
        elif isinstance(event, Deleted):
            self._pods.pop(event.uid, None)

    def _note_event(self, event: ReflectorEvent[records.Event]) -> None:
        if isinstance(event, Upserted):
            self.refusals[event.object.regarding.name] = event.object.note

    def _note_service_account(self, event: ReflectorEvent[records.ServiceAccount]) -> None:
        if isinstance(event, Upserted) and event.object.metadata.name == "default":
            self.has_service_account = True
