"""The API server without a proxy in the way: what a test itself does to the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from kubeio.client import JSON, KubeClient
from kubeio.credentials import Credentials
from kubeio.writes import WritePool
from tests.integration.scheduler_faults.loop_thread import LoopThread

T = TypeVar("T")
Object = dict[str, Any]

CONCURRENCY = 16


class Server:
    """Blocking calls, many at a time where that matters."""

    def __init__(self, loop: LoopThread, kubeconfig: str) -> None:
        self._loop = loop
        self._kubeconfig = kubeconfig
        self._stack = AsyncExitStack()

    def __enter__(self) -> Self:
        self._client, self._pool = self._loop.run(self._connect())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.run(self._stack.aclose())

    def get(self, path: str, **parameters: str) -> Object:
        """GET what has to be there."""
        return self._loop.run(self._client.get_json(path, dict, params=parameters))

    def send(self, method: str, path: str, body: Object, *, content_type: str = JSON) -> Object:
        """Write what has to be accepted; give the answer."""
        return self._loop.run(
            self._client.send_json(method, path, body, dict, content_type=content_type)
        )

    def send_each(self, method: str, bodies: Sequence[tuple[str, Object]]) -> list[int]:
        """Write a body to each path, some at a time; give the statuses in the same order."""

        async def send(item: tuple[str, Object]) -> int:
            path, body = item
            encoded = msgspec.json.encode(body)
            answer = await self._pool.request(method, path, encoded, resource="test")
            return answer.status

        return self._loop.run(_for_each(bodies, send))

    async def _connect(self) -> tuple[KubeClient, WritePool]:
        credentials = await Credentials.load(self._kubeconfig)
        client = KubeClient(credentials, user_agent="test")
        pool = WritePool(credentials, user_agent="test")
        await self._stack.enter_async_context(client)
        await self._stack.enter_async_context(pool)
        return client, pool


async def _for_each(items: Sequence[T], work: Callable[[T], Awaitable[int]]) -> list[int]:
    results = [0] * len(items)
    left = iter(enumerate(items))

    async def take() -> None:
        for number, item in left:
            results[number] = await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(CONCURRENCY):
            group.create_task(take())
    return results
