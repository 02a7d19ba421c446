"""The session that kopf is given: what of its requests is taken note of."""

import asyncio
import socket

import aiohttp
import pytest

from kubeio.sockets import keepalive_socket
from scheduler_svc.controller.custom_resources import POD_GROUPS
from scheduler_svc.controller.operator import login as module
from scheduler_svc.controller.operator.watches import Watches
from tests.unit.scheduler_svc.controller.operator.fake_cluster import FakeCluster

WATCH = {"watch": "true"}


async def test_why_the_server_refuses_outlives_the_end_of_the_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kopf closes its session with requests under way; they fail, and not by the server."""
    watches = Watches([POD_GROUPS])
    async with FakeCluster() as cluster:
        cluster.watch_status = 403
        credentials = await cluster.load_credentials()
        given = module.log_in(credentials, watches, user_agent="berthmaster/test")
        session, url = given.aiohttp_session, given.server + POD_GROUPS.path.collection
        async with session.get(url, params=WATCH, headers={"Connection": "close"}) as refused:
            assert refused.status == 403
        closings: list[asyncio.Task[None]] = []

        def close_while_it_connects(address: aiohttp.AddrInfoType) -> socket.socket:
            closings.append(asyncio.create_task(session.close()))
            return keepalive_socket(address)

        monkeypatch.setattr(session.connector, "_socket_factory", close_while_it_connects)
        with pytest.raises(aiohttp.ClientConnectionError, match="closed"):
            await session.get(url, params=WATCH)
        await asyncio.gather(*closings)
    assert watches.problem() == f"{POD_GROUPS.name} is not watched yet: 403 Forbidden"
