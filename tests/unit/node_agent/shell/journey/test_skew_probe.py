"""The API server's Date tells its clock."""

import pytest
from aiohttp import web

from node_agent.core.clock import NANOSECONDS, Now
from node_agent.core.journey.clock_skew import ClockSkew
from node_agent.shell.journey.skew_probe import PATH, SkewProbe, date_seconds
from tests.unit.kubeio.fake_api import client_of


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Mon, 01 Jun 2026 12:00:00 GMT", 1_780_315_200),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_dates(header: str | None, expected: int | None) -> None:
    assert date_seconds(header) == expected


async def test_an_answer_bounds_the_skew() -> None:
    asked: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=403, headers={"Date": "Mon, 01 Jun 2026 12:00:00 GMT"})

    skew = ClockSkew()
    moments = iter([Now(1.0, 1_780_315_202 * NANOSECONDS), Now(1.1, 1_780_315_203 * NANOSECONDS)])
    async with client_of(handler) as client:
        assert await SkewProbe(client, skew, lambda: next(moments)).ask()
    assert asked == [PATH]
    estimate = skew.estimate()
    assert estimate is not None
    assert estimate.low_nanoseconds == 1 * NANOSECONDS
    assert estimate.high_nanoseconds == 3 * NANOSECONDS


async def test_no_answer_and_no_date_tell_nothing() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(headers={"Date": "soon"})

    skew = ClockSkew()
    async with client_of(handler) as client:
        probe = SkewProbe(client, skew, lambda: Now(1.0, 1))
        assert not await probe.ask()
        client.credentials._login = type(client.credentials._login)(server_url="http://127.0.0.1:1")
        assert not await probe.ask()
    assert skew.estimate() is None
