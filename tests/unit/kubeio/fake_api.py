"""A small HTTP server for tests of what a client makes of answers."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.login import KubeConfigError, Login

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def unchanged() -> Login:
    raise KubeConfigError("no other login here")


@asynccontextmanager
async def serving(handler: Handler, *, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def client_of(
    handler: Handler, prefix: str = "", max_body_bytes: int | None = None
) -> AsyncIterator[KubeClient]:
    async with serving(handler) as url:
        login = Login(server_url=url + prefix, authorization="Bearer t")
        credentials = Credentials(login, unchanged)
        client = KubeClient(credentials, user_agent="ua/1", max_body_bytes=max_body_bytes)
        async with client:
            yield client
