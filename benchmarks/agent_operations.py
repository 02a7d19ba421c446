"""The agent's core alone: lists through PodConfig, pod pairs and workers, to an observer.

Each list differs from the one before by one Pod, as the API server's do: a Pod is changed, runs,
is being deleted, is gone, and another comes in its place. So every list is one operation. That
nothing is lost or out of order is part of the measure.
"""

import time
from collections.abc import Iterator
from itertools import cycle
from typing import Final

import msgspec

from benchmarks.errors import BenchmarkError
from node_agent.core.agent import NodeAgent
from node_agent.core.clock import Now
from node_agent.core.events import PodsListed
from node_agent.core.objects import Pod, WirePod, read_pod
from node_agent.core.operations import Operation, Source

_LIFE: Final = (
    Operation.ADD,
    Operation.UPDATE,
    Operation.RECONCILE,
    Operation.DELETE,
    Operation.REMOVE,
)
_NOON_NANOSECONDS: Final = 1_780_315_200_000_000_000


class OperationsRun(msgspec.Struct, frozen=True):
    """One run: `seconds` from the first list to the last report."""

    pod_count: int
    operation_count: int
    seconds: float


def measure_operations(pod_count: int, operation_count: int) -> OperationsRun:
    """Send so many operations through, on a node with so many Pods.

    Raises
    ------
    BenchmarkError
        If an operation is lost, or a Pod's come out of order.
    """
    lists = [
        PodsListed(Source.API, pods, _now(number))
        for number, pods in enumerate(_lists(pod_count, operation_count))
    ]
    told = _Told()
    agent = NodeAgent([Source.API], [told])
    agent.handle(lists[0], lists[0].received)
    told.operations.clear()
    began = time.perf_counter()
    for event in lists[1:]:
        agent.handle(event, event.received)
    seconds = time.perf_counter() - began
    _check(told.operations, operation_count)
    return OperationsRun(pod_count, len(told.operations), seconds)


class _Told:
    """An observer that notes every operation."""

    def __init__(self) -> None:
        self.operations: list[tuple[str, Operation]] = []

    def pod_operation(self, operation: Operation, source: Source, pod: Pod, now: Now) -> None:
        self.operations.append((pod.metadata.uid, operation))

    def pod_observed(self, pod: Pod, now: Now) -> None:
        """Take no further note."""

    def pod_gone(self, uid: str, now: Now) -> None:
        """Take no further note."""

    def source_listed(self, source: Source, now: Now) -> None:
        """Take no further note."""

    def next_deadline(self) -> float | None:
        return None

    def expire(self, now: Now) -> None:
        """Have nothing to do."""


def _check(operations: list[tuple[str, Operation]], expected_count: int) -> None:
    if len(operations) != expected_count:
        raise BenchmarkError(f"{len(operations)} of {expected_count} operations came through")
    last: dict[str, Operation] = {}
    for uid, operation in operations:
        before = last.get(uid, Operation.ADD)
        is_first_of_old = uid not in last and operation is Operation.UPDATE
        position = _LIFE.index(operation)
        if not is_first_of_old and uid in last and _LIFE.index(before) + 1 != position:
            raise BenchmarkError(f"Pod {uid}: {operation} after {before}")
        last[uid] = operation


def _lists(pod_count: int, operation_count: int) -> Iterator[tuple[Pod, ...]]:
    """Give the first list, then one for each operation; Pod after Pod goes through its life."""
    pods = {number: _pod(number) for number in range(pod_count)}
    yield tuple(pods.values())
    made = pod_count
    lives = cycle(range(pod_count))
    count = 0
    while count < operation_count:
        slot = next(lives)
        pod = pods[slot]
        meta = pod.metadata
        changed = msgspec.structs.replace(
            pod, metadata=msgspec.structs.replace(meta, labels={"changed": "yes"})
        )
        runs = msgspec.structs.replace(changed, status_digest=b"running")
        deleted = msgspec.structs.replace(
            runs,
            metadata=msgspec.structs.replace(
                runs.metadata, deletion_timestamp="2026-06-01T12:00:00Z"
            ),
        )
        for state in (changed, runs, deleted, None, _pod(made)):
            if state is None:
                del pods[slot]
            else:
                pods[slot] = state
            yield tuple(pods.values())
            count += 1
            if count == operation_count:
                return
        made += 1


def _pod(number: int) -> Pod:
    metadata = {"name": f"pod-{number}", "namespace": "default", "uid": f"uid-{number}"}
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    wire = {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
    return read_pod(msgspec.convert(wire, WirePod))


def _now(number: int) -> Now:
    return Now(number / 1000, _NOON_NANOSECONDS + number * 1_000_000)
