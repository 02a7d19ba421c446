"""Which kubelets have fallen silent: told by their Leases before the Node's status says so.

A kubelet renews the Lease of its Node every 10 s; only when that has stood still for 50 s, by
default, does Kubernetes call the Node not ready and taint it. Until then it gets Pods.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Final

import msgspec

from berthmaster.cli.diagnosis.facts import NodeState
from berthmaster.cli.diagnosis.reading import Reader
from kubeio.lease import LEASES, LeaseObject, LeaseRecord

NODE_LEASES: Final = LEASES.in_namespace("kube-node-lease")
DEFAULT_DURATION_SECONDS: Final = 40
SECOND_LOOK_SECONDS: Final = 12.0
"""A kubelet renews every 10 s by default; a Lease that moves meanwhile has a clock of its own."""


class KubeletLeases:
    """The Leases of Nodes; a Node without one is not judged by it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[str, LeaseRecord] = {}
        self._read_at = time.monotonic()

    async def read(self) -> None:
        """Take the first look."""
        self._known = await self._list()
        self._read_at = time.monotonic()

    async def with_silent(
        self, nodes: Iterable[NodeState] | None, now: float
    ) -> tuple[NodeState, ...] | None:
        """Give the Nodes, those whose kubelet is silent marked.

        Where a Lease seems to have run out at `now`, it looks again
        `SECOND_LOOK_SECONDS` after the first look, so that clocks that differ raise no alarm.
        """
        if nodes is None:
            return None
        nodes = tuple(nodes)
        doubtful = {
            node.name: silence
            for node in nodes
            if node.ready == "True" and (silence := self._silence(node.name, now)) is not None
        }
        if not doubtful:
            return nodes
        await asyncio.sleep(max(self._read_at + SECOND_LOOK_SECONDS - time.monotonic(), 0.0))
        again = await self._list()
        return tuple(
            msgspec.structs.replace(node, silent_seconds=doubtful[node.name])
            if node.name in doubtful and again.get(node.name) == self._known[node.name]
            else node
            for node in nodes
        )

    def _silence(self, name: str, now: float) -> float | None:
        """Give for how long a kubelet has not renewed; None where that is not too long."""
        lease = self._known.get(name)
        if lease is None or lease.renew_time is None:
            return None
        age = now - lease.renew_time.timestamp()
        return age if age > (lease.lease_duration_seconds or DEFAULT_DURATION_SECONDS) else None

    async def _list(self) -> dict[str, LeaseRecord]:
        leases = await self._reader.objects(NODE_LEASES, LeaseObject)
        return {lease.metadata.name: lease.record() for lease in leases or ()}
