"""What a plugin's feed may ask of the API server, with the scheduler's own login."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

import msgspec

from kubeio.changes import Deleted, Listed, ReflectorEvent, Upserted
from kubeio.decoding import Query
from kubeio.reflector import Reflector
from kubeio.resources import ResourcePath
from kubeio.source import ReflectorClient
from scheduler_svc.core.objects import ObjectMeta
from scheduler_svc.shell.clock import read_monotonic_seconds


class ConfigMap(msgspec.Struct, frozen=True):
    """A ConfigMap's text."""

    metadata: ObjectMeta
    data: dict[str, str] | None = None


class ApiServerFeeds:
    """The `FeedApi` of a running scheduler."""

    def __init__(self, client: ReflectorClient, *, seed: int) -> None:
        self._client = client
        self._seed = seed

    async def watch_config_map(self, namespace: str, name: str) -> AsyncIterator[Mapping[str, str]]:
        """Yield the data now and after each change; nothing in it while it does not exist.

        Lasts until the caller stops; an API server that is away is waited for.
        """
        found: asyncio.Queue[Mapping[str, str]] = asyncio.Queue()
        is_there = False

        def take(change: ReflectorEvent[ConfigMap]) -> None:
            nonlocal is_there
            match change:
                case Upserted(config_map):
                    is_there = True
                    found.put_nowait(config_map.data or {})
                case Deleted():
                    is_there = False
                    found.put_nowait({})
                case Listed() if not is_there:
                    found.put_nowait({})

        query: Query[ConfigMap] = Query(
            resource=ResourcePath("", "v1", "configmaps", namespace),
            object_type=ConfigMap,
            field_selector=f"metadata.name={name}",
        )
        reflector = Reflector(
            self._client, query, take, seed=self._seed, clock=read_monotonic_seconds
        )
        running = asyncio.create_task(reflector.run(), name=f"feed of {namespace}/{name}")
        try:
            while True:
                yield await found.get()
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
