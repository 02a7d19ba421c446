"""What is answered about Pods."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from node_agent.core.divergence.divergences import Divergences
from node_agent.core.journey.journeys import Journeys
from node_agent.core.operations import Operation, Source
from node_agent.shell.journey.metrics import JourneyMetrics
from node_agent.shell.journey.routes import JourneyRoutes
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.pods import at


@asynccontextmanager
async def serving(routes: JourneyRoutes) -> AsyncIterator[str]:
    app = web.Application()
    for method, path, handler in routes.routes():
        app.router.add_route(method, path, handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def get(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


def told() -> tuple[Journeys, Divergences]:
    journeys, divergences = Journeys(JourneyMetrics()), Divergences(Source)
    journeys.source_listed(Source.API, at(0))
    for observer in (journeys, divergences):
        observer.pod_operation(Operation.ADD, Source.API, stages.bound(), at(2))
        gone = stages.bound(uid="u2")
        observer.pod_operation(Operation.ADD, Source.API, gone, at(3))
        observer.pod_operation(Operation.REMOVE, Source.API, gone, at(4))
    divergences.judge(at(5))
    return journeys, divergences


async def test_all_pods() -> None:
    async with serving(JourneyRoutes(*told(), node_name="n")) as url:
        status, text = await get(f"{url}/pods")
    answer: dict[str, Any] = json.loads(text)
    assert (status, answer["node"]) == (200, "n")
    assert answer["pods"] == [
        {
            "namespace": "default",
            "name": "a",
            "uid": "uid-a",
            "source": "api",
            "live": True,
            "measured": True,
            "step": "agent_seen",
            "at": "2026-06-01T12:00:02.000000000Z",
            "cause": "kubelet_silent",
        },
        {
            "namespace": "default",
            "name": "a",
            "uid": "u2",
            "source": "api",
            "live": False,
            "measured": True,
            "step": "gone",
            "at": "2026-06-01T12:00:04.000000000Z",
        },
    ]


async def test_a_timeline() -> None:
    async with serving(JourneyRoutes(*told(), node_name="n")) as url:
        status, text = await get(f"{url}/pods/default/a/timeline")
        missing = await get(f"{url}/pods/default/b/timeline")
    answer: dict[str, Any] = json.loads(text)
    assert status == 200
    assert (answer["uid"], answer["cause"]) == ("uid-a", "kubelet_silent")
    assert [step["step"] for step in answer["steps"]][-1] == "agent_seen"
    assert missing == (404, "no Pod 'b' in namespace 'default' was seen on node 'n'\n")


async def test_an_agent_that_does_not_compare() -> None:
    journeys, _ = told()
    routes = JourneyRoutes(journeys, None, node_name="n")
    timeline = routes.timeline("default", "a")
    assert timeline is not None
    assert timeline.cause is None
    assert routes.summaries().pods[0].cause is None
