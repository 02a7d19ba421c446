"""kopf's way to the API server: our credentials, in a session of aiohttp that it is given.

kopf asks for a login when it starts, and again after a 401. In between the token may be
replaced in its file, so each request gets the Authorization header as it is then.
"""

from typing import Final

import aiohttp

from kubeio.credentials import Credentials
from kubeio.sockets import keepalive_socket
from scheduler_svc.controller.operator.framework import kopf
from scheduler_svc.controller.operator.watches import Watches

IDLE_CONNECTION_SECONDS: Final = 60.0
STREAM_BUFFER_BYTES: Final = 2**18


def log_in(credentials: Credentials, watches: Watches, *, user_agent: str) -> kopf.AiohttpSession:
    """Give kopf a session; it closes it. Call it in kopf's event loop.

    `watches` is told of each request.
    """

    async def authorize(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        await credentials.refresh_if_changed()
        if credentials.authorization:
            request.headers["Authorization"] = credentials.authorization
        return await handler(request)

    async def observe(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        path = request.url.path
        watches.note_request(path)
        try:
            response = await handler(request)
        except (aiohttp.ClientError, TimeoutError) as error:
            if not session.closed:  # what its own end breaks off tells nothing of the server
                watches.note_failure(path, str(error) or type(error).__name__)
            raise
        if not response.ok:
            watches.note_failure(path, f"{response.status} {response.reason}")
        elif "watch" in request.url.query:
            watches.note_open(path)
        return response

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=0,
            ssl=credentials.ssl_context or True,
            keepalive_timeout=IDLE_CONNECTION_SECONDS,
            socket_factory=keepalive_socket,
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        middlewares=(observe, authorize),
        headers={"Accept-Encoding": "identity", "User-Agent": user_agent},
        proxy=credentials.proxy_url,
        read_bufsize=STREAM_BUFFER_BYTES,
        trust_env=False,
    )
    return kopf.AiohttpSession(server=credentials.server_url, aiohttp_session=session)
