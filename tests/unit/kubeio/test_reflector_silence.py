"""A watch that brings nothing: how long it may, what is done then, and what is told."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from kubeio import sockets
from kubeio.errors import RequestTimeoutError, ServerError, WatchSilentError
from kubeio.logs import V2
from kubeio.reflector import FRUITLESS_SECONDS_BEFORE_LIST
from kubeio.source import DEFAULT_TIMING
from scheduler_svc.controller.health import LONGEST_POD_SILENCE_SECONDS
from scheduler_svc.controller.operator.settings import SILENCE_SECONDS
from scheduler_svc.shell.views.reflectors import MAX_SILENCE_SECONDS
from tests.unit.kubeio.log_lines import lines_of
from tests.unit.kubeio.test_reflector_loop import Rig, Script, bookmark, event, page, thing

SILENT = WatchSilentError("WATCH things: the connection has been silent for too long")

# cacher.go, v0.36.3: due a minute after the last, sent at the next tick of wait.Jitter(1 s, 0.25).
LATEST_BOOKMARK_SECONDS = 60 + 1.25


class Waiting(Script):
    """An API server whose bookmarks come so many seconds apart, to a client that gives up."""

    gaps_seconds: list[float]
    idle_timeout_seconds = 0.0

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        /,
        *,
        params: Mapping[str, str],
        headers_timeout_seconds: float,
        idle_timeout_seconds: float,
    ) -> AsyncIterator["Waiting"]:
        self.asked.append(("watch", dict(params)))
        self.idle_timeout_seconds = idle_timeout_seconds
        yield self

    async def read_lines(self) -> list[bytes]:
        if not self.gaps_seconds:
            return []
        gap_seconds = self.gaps_seconds.pop(0)
        self.now += min(gap_seconds, self.idle_timeout_seconds)
        if gap_seconds > self.idle_timeout_seconds:
            raise SILENT
        return [bookmark(int(self.now))]


def rig_of(*gaps_seconds: float, seed: int = 7) -> Rig:
    rig = Rig(page(10), seed=seed)
    waiting = Waiting([page(10), page(10_000), page(10_000)])
    waiting.gaps_seconds = list(gaps_seconds)
    rig.script = waiting
    rig.reflector._client = waiting
    return rig


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("late_seconds", [0.0, 10.0, 30.0])
async def test_a_watch_whose_bookmarks_are_late_lives(seed: int, late_seconds: float) -> None:
    rig = rig_of(*[LATEST_BOOKMARK_SECONDS + late_seconds] * 5, seed=seed)
    assert await rig.reflector.run_once() == 0
    assert rig.reflector.statistics.endings == {"ended": 1}


@pytest.mark.parametrize("seed", range(20))
async def test_a_watch_that_lacks_a_bookmark_is_given_up_while_its_view_counts(seed: int) -> None:
    rig = rig_of(LATEST_BOOKMARK_SECONDS, 2 * LATEST_BOOKMARK_SECONDS, seed=seed)
    assert await rig.reflector.run_once() < 1
    assert rig.reflector.statistics.endings == {"silent": 1}
    assert rig.reflector.problem(max_silence_seconds=MAX_SILENCE_SECONDS) is None
    rig.script.now += 14  # as long as a busy server may take to answer
    assert rig.reflector.problem(max_silence_seconds=MAX_SILENCE_SECONDS) is None
    await rig.reflector.run_once()
    assert rig.reflector.last_byte_age_seconds() == 0


def test_limits_are_in_order() -> None:
    shortest, longest = DEFAULT_TIMING.idle_seconds
    probing = sockets.KEEPALIVE_INTERVAL_SECONDS * sockets.KEEPALIVE_PROBE_COUNT
    dead_peer_seconds = sockets.KEEPALIVE_IDLE_SECONDS + probing
    assert dead_peer_seconds < LATEST_BOOKMARK_SECONDS + 30 < shortest
    assert longest + 15 <= MAX_SILENCE_SECONDS
    # One silent watch is no reason to list, two are.
    assert longest < FRUITLESS_SECONDS_BEFORE_LIST < 2 * shortest
    assert longest <= SILENCE_SECONDS < LONGEST_POD_SILENCE_SECONDS / 2


async def test_silence_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(V2)
    added = [event("ADDED", thing("a", 13))]
    rig = await Rig(page(10), [bookmark(11), SILENT], page(12), added).play()
    assert rig.script.versions() == ["10", "11"]
    # The list's head: whether the server is there, and has not forgotten.
    assert rig.script.asked[2] == ("list", {"limit": "1"})
    assert rig.names() == ["=10", "+a"]
    assert rig.reflector.statistics.lists == {"start": 1}
    assert rig.reflector.statistics.endings == {"silent": 1, "ended": 1}
    [line] = [line for line in lines_of(caplog.records) if "silent" in line]
    assert "Watch was silent, asking anew" in line
    assert all(record.levelno <= logging.INFO for record in caplog.records)


async def test_a_server_that_has_forgotten_is_listed_after_the_first_silence() -> None:
    restored = page(9, thing("b", 3))
    rig = await Rig(page(10, thing("a", 1)), [SILENT], restored, restored, []).play()
    assert rig.script.versions() == ["10", "9"]
    assert rig.names() == ["+a", "=10", "+b", "-a/uid-a", "=9"]
    assert rig.reflector.statistics.lists == {"start": 1, "rewound": 1}


async def test_two_silent_watches_end_in_a_list() -> None:
    rig = Rig(page(10), [bookmark(11)], [SILENT], page(12), [SILENT], page(13), [])
    for _ in range(3):
        await rig.reflector.run_once()
        rig.script.now += 95  # until the next is given up
    await rig.play()
    assert rig.script.versions() == ["10", "11", "11", "13"]
    assert rig.reflector.statistics.lists == {"start": 1, "fruitless": 1}


@pytest.mark.parametrize(
    "error", [ServerError(503, message="away"), RequestTimeoutError("no answer within 60 s")]
)
async def test_a_server_that_does_not_answer_after_silence_is_a_failure(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(page(10), [SILENT], error)
    await rig.reflector.run_once()
    assert caplog.records == []
    rig.script.now += 100
    await rig.reflector.run_once()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert rig.reflector.problem() == f"nothing heard of things.t.io for 100 s: {error}"
