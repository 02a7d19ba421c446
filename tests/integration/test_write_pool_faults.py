"""Writes to a real API server through a proxy that breaks things: what may have happened?"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from deploy.controlplane import ControlPlane
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.errors import (
    ConnectionFailedError,
    ConnectionLostError,
    NotFoundError,
    RequestTimeoutError,
    from_response,
)
from kubeio.resources import ResourcePath
from kubeio.response import Response
from kubeio.writes import WritePool
from tests.faultproxy import (
    Delay,
    FaultProxy,
    HalfOpen,
    LoseAnswer,
    Match,
    Respond,
    wait_until_async,
)

pytestmark = pytest.mark.integration

CONFIG_MAPS = ResourcePath("", "v1", "configmaps", "default")
POST = Match(method="POST")


@dataclass
class Bench:
    proxy: FaultProxy
    direct: KubeClient
    pool: WritePool

    async def create(self, name: str, *, timeout_seconds: float = 10.0) -> Response:
        return await self.pool.post(
            CONFIG_MAPS.collection,
            msgspec.json.encode({"metadata": {"name": name}}),
            resource="configmaps",
            timeout_seconds=timeout_seconds,
        )

    async def exists(self, name: str) -> bool:
        try:
            await self.direct.call("GET", CONFIG_MAPS.object(name))
        except NotFoundError:
            return False
        return True

    def posts(self) -> int:
        return self.proxy.count(lambda request: request.method == "POST")


@asynccontextmanager
async def bench(control_plane: ControlPlane, directory: Path) -> AsyncIterator[Bench]:
    async with (
        FaultProxy(
            control_plane.url,
            ca_path=control_plane.ca_path,
            token=control_plane.token,
            directory=directory,
        ) as proxy,
        KubeClient(
            await Credentials.load(str(control_plane.kubeconfig_path)), user_agent="test"
        ) as direct,
        WritePool(await Credentials.load(str(proxy.kubeconfig_path)), user_agent="test") as pool,
    ):
        yield Bench(proxy, direct, pool)


def fresh_name() -> str:
    return f"written-{secrets.token_hex(4)}"


async def test_lost_answer_to_a_write_that_happened(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with bench(control_plane, tmp_path) as made:
        made.proxy.add(LoseAnswer(match=POST, times=1))
        name = fresh_name()
        with pytest.raises(ConnectionLostError) as caught:
            await made.create(name)
        assert caught.value.request_may_have_happened
        assert await made.exists(name)
        assert made.posts() == 1
        repeated = await made.create(name)
        assert repeated.status == 409
        error = from_response(repeated.status, repeated.headers, repeated.body)
        assert error.reason == "AlreadyExists"


async def test_swallowed_write_that_did_not_happen(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with bench(control_plane, tmp_path) as made:
        made.proxy.add(HalfOpen(match=POST, times=1))
        name = fresh_name()
        with pytest.raises(RequestTimeoutError) as caught:
            await made.create(name, timeout_seconds=0.2)
        assert caught.value.request_may_have_happened
        assert not await made.exists(name)
        assert (await made.create(name)).status == 201


async def test_late_answer_is_not_given_to_the_next_request(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with bench(control_plane, tmp_path) as made:
        made.proxy.add(Delay(match=POST, times=1, seconds=0.4))
        first, second = fresh_name(), fresh_name()
        with pytest.raises(RequestTimeoutError):
            await made.create(first, timeout_seconds=0.1)
        assert msgspec.json.decode((await made.create(second)).body)["metadata"]["name"] == second


async def test_server_that_is_down_and_comes_back(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with bench(control_plane, tmp_path) as made:
        assert (await made.create(fresh_name())).status == 201
        await made.proxy.refuse_connections()

        async def is_refused() -> bool:
            try:
                await made.create(fresh_name())
            except ConnectionFailedError as error:
                return not error.request_may_have_happened
            except ConnectionLostError:
                return False  # the pooled connection died after the write
            return False

        await wait_until_async(is_refused, what="nothing is sent any more")
        await made.proxy.accept_connections()
        assert (await made.create(fresh_name())).status == 201


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [(429, {"Retry-After": "2"}, 2.0), (500, {}, None), (502, {}, None), (503, {}, None)],
)
async def test_refusals_are_answers(
    control_plane: ControlPlane,
    tmp_path: Path,
    status: int,
    headers: dict[str, str],
    seconds: float | None,
) -> None:
    async with bench(control_plane, tmp_path) as made:
        made.proxy.add(Respond(match=POST, times=1, status=status, headers=headers, body=b"<html>"))
        response = await made.create(fresh_name())
        error = from_response(response.status, response.headers, response.body)
        assert error.status == status
        assert error.retry_after_seconds == seconds
        assert made.posts() == 1


async def test_a_hundred_at_once_each_get_their_own_answer(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with bench(control_plane, tmp_path) as made:
        names = [fresh_name() for _ in range(100)]
        answers = await asyncio.gather(*(made.create(name) for name in names))
        assert [msgspec.json.decode(a.body)["metadata"]["name"] for a in answers] == names
