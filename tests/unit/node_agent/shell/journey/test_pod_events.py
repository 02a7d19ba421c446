"""One list of the Events about one Pod."""

import pytest
from aiohttp import web

from kubeio.errors import MalformedResponseError
from node_agent.core.journey.pulls import KubeletEvent
from node_agent.shell.journey.pod_events import PodEvents, list_events
from tests.unit.kubeio.fake_api import client_of
from tests.unit.node_agent.core.journey.stages import nanoseconds, stamp


async def test_the_events_of_a_pod() -> None:
    seen: list[web.Request] = []
    items = [
        {
            "reason": "Pulled",
            "message": 'Successfully pulled image "i" in 2s',
            "involvedObject": {"fieldPath": "spec.containers{c}"},
            "firstTimestamp": stamp(4),
            "lastTimestamp": stamp(7204),
        },
        {"reason": "Scheduled", "message": "m", "eventTime": "2026-06-01T12:00:01.500000Z"},
        {"reason": "Odd", "lastTimestamp": None},
    ]

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        return web.json_response({"items": items})

    async with client_of(handler) as client:
        events = PodEvents(client)
        read = await events.read("ns", "u1")
    assert seen[0].path == "/api/v1/namespaces/ns/events"
    assert seen[0].query["fieldSelector"] == "involvedObject.uid=u1"
    assert read == [
        KubeletEvent("Pulled", 'Successfully pulled image "i" in 2s', "c", nanoseconds(4)),
        KubeletEvent("Scheduled", "m", "", None, nanoseconds(1.5)),
        KubeletEvent("Odd", "", "", None),
    ]
    assert events.counts == {"read": 1, "failed": 0}


async def test_a_list_that_may_not_be_read(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "message": "no"}, status=403)

    async with client_of(handler) as client:
        events = PodEvents(client)
        assert await events.read("ns", "u1") is None
        assert await events.read("ns", "u1") is None
    assert events.counts == {"read": 0, "failed": 2}
    assert "403" in events.last_problem
    (told,) = caplog.records
    assert told.getMessage() == "Events cannot be read"
    assert "403" in vars(told)["fields"]["error"]


@pytest.mark.parametrize("text", ["<html>", '{"x":' + "[" * 200_000])
async def test_an_answer_that_is_no_list(text: str) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=text)

    async with client_of(handler) as client:
        with pytest.raises(MalformedResponseError, match="LIST events"):
            await list_events(client, "ns", "u1")
