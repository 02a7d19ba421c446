"""Reads Leases, and looks again at those that seem to have run out."""

import asyncio
from collections.abc import Iterable
from typing import Final

import msgspec

from berthmaster.cli.diagnosis.facts import LeaseState
from berthmaster.cli.diagnosis.reading import Reader
from berthmaster.cli.diagnosis.scheduler_checks import LEASE_GRACE_SECONDS
from kubeio.errors import KubeError
from kubeio.lease import LEASES, LeaseObject, LeaseRecord

DEFAULT_DURATION_SECONDS: Final = 15
SECOND_LOOK_SECONDS: Final = 3.0
"""A leader renews every 2 s by default."""


class Leases:
    """The Leases of schedulers.

    Attributes
    ----------
    known
        By ``namespace/name``.
    unknown
        Those that could not be read.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.known: dict[str, LeaseState] = {}
        self.unknown: set[str] = set()

    async def read(self, namespaces: Iterable[str], keys: Iterable[str]) -> None:
        """Read all Leases in some namespaces, and some by name where these may not be listed."""
        listed = set()
        for namespace in sorted(set(namespaces)):
            if await self._list(namespace):
                listed.add(namespace)
        for key in sorted(set(keys)):
            namespace, _, name = key.partition("/")
            if namespace not in listed:
                await self._get(namespace, name)

    async def look_again(self, keys: Iterable[str], now: float) -> None:
        """Read those anew that seem to have run out, after so long that a leader renews them."""
        doubtful = [
            lease
            for key in sorted(set(keys))
            if (lease := self.known.get(key)) is not None and _seems_stale(lease, now)
        ]
        if not doubtful:
            return
        await asyncio.sleep(SECOND_LOOK_SECONDS)
        for lease in doubtful:
            await self._get(lease.namespace, lease.name)
            again = self.known[lease.key]
            self.known[lease.key] = msgspec.structs.replace(
                again, was_renewed=again.renewed != lease.renewed
            )

    async def _list(self, namespace: str) -> bool:
        resource = LEASES.in_namespace(namespace)
        decoder = msgspec.json.Decoder(LeaseObject)
        try:
            async for page in self._reader.pages(resource):
                for item in page:
                    lease = decoder.decode(item)
                    self._keep(namespace, lease.metadata.name, lease.record())
        except (KubeError, msgspec.DecodeError):
            return False  # those that matter are read by name
        return True

    async def _get(self, namespace: str, name: str) -> None:
        key = f"{namespace}/{name}"
        unread_before = len(self._reader.unread)
        resource = LEASES.in_namespace(namespace)
        lease = await self._reader.object(resource, name, LeaseObject)
        if lease is not None:
            self._keep(namespace, name, lease.record())
        elif len(self._reader.unread) > unread_before:
            self.unknown.add(key)

    def _keep(self, namespace: str, name: str, record: LeaseRecord) -> None:
        renewed = record.renew_time
        lease = LeaseState(
            namespace=namespace,
            name=name,
            holder=record.holder_identity,
            duration_seconds=record.lease_duration_seconds or DEFAULT_DURATION_SECONDS,
            renewed=None if renewed is None else renewed.timestamp(),
        )
        self.known[lease.key] = lease


def _seems_stale(lease: LeaseState, now: float) -> bool:
    if not lease.holder or lease.renewed is None:
        return False
    return now - lease.renewed > lease.duration_seconds + LEASE_GRACE_SECONDS
