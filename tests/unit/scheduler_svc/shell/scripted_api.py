"""An API server that answers as a test says, for both clients, without a socket."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from kubeio.client import JSON, KubeClient, Lane
from kubeio.credentials import Credentials
from kubeio.errors import KubeError, NotSentError
from kubeio.login import KubeConfigError, Login
from kubeio.response import Response
from kubeio.writes import WritePool

CREATED = Response(201, [], b"{}")
OK = Response(200, [], b"{}")


def status(code: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Give a refusal, as the API server words it."""
    body = {"kind": "Status", "code": code, "message": message}
    raw_headers = [(k.encode(), v.encode()) for k, v in (headers or {}).items()]
    return Response(code, raw_headers, msgspec.json.encode(body))


class Request(msgspec.Struct):
    """One call that was made."""

    method: str
    path: str
    body: Any = None


Answer = Response | KubeError | Callable[[], Awaitable[Response]]


class ScriptedApi:
    """Answers one call after the other, then with `otherwise`; notes calls and queries."""

    def __init__(self, *answers: Answer, otherwise: Answer = CREATED) -> None:
        self.answers = list(answers)
        self.otherwise = otherwise
        self.requests: list[Request] = []
        self.queries: list[Mapping[str, str] | None] = []
        self.under_way = 0
        self.most_under_way = 0

    async def answer(self, method: str, path: str, body: bytes | None) -> Response:
        """Note a call and answer it."""
        self.requests.append(
            Request(method, path, msgspec.json.decode(body) if body is not None else None)
        )
        answer = self.answers.pop(0) if self.answers else self.otherwise
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(0)
            if isinstance(answer, KubeError):
                raise answer
            return answer if isinstance(answer, Response) else await answer()
        finally:
            self.under_way -= 1

    @property
    def methods(self) -> list[str]:
        """The methods of all calls, in order."""
        return [request.method for request in self.requests]


class ScriptedPool(WritePool):
    """A write pool of a `ScriptedApi`."""

    def __init__(self, api: ScriptedApi) -> None:
        super().__init__(make_credentials(), user_agent="test")
        self._api = api

    async def request(
        self,
        method: str,
        path: str,
        body: bytes,
        *,
        resource: str,
        content_type: str = JSON,
        timeout_seconds: float | None = None,
        may_send: Callable[[], bool] | None = None,
    ) -> Response:
        if may_send is not None and not may_send():
            raise NotSentError(f"{method} {path}")
        return await self._api.answer(method, path, body)


class ScriptedClient(KubeClient):
    """A client of a `ScriptedApi`."""

    def __init__(self, api: ScriptedApi) -> None:
        super().__init__(make_credentials(), user_agent="test")
        self._api = api

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str = JSON,
        timeout_seconds: float = 0,
        lane: Lane = Lane.READS,
    ) -> Response:
        self._api.queries.append(params)
        return await self._api.answer(method, path, body)


def make_credentials() -> Credentials:
    """Give a login that nothing is sent with."""

    async def read_again() -> Login:
        raise KubeConfigError("there is no other login")

    return Credentials(Login(server_url="http://127.0.0.1:1"), read_again)
