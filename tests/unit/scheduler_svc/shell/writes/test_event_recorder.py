"""The event recorder's queue and retries; the API server's view is in the integration tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kubeio.errors import ConnectionFailedError, ConnectionLostError
from kubeio.response import Response
from scheduler_svc.core.effects import EventType, PodReference, RecordEvent
from scheduler_svc.shell.writes import event_recorder
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from scheduler_svc.shell.writes.event_queue import EventQueue
from scheduler_svc.shell.writes.event_recorder import CONCURRENCY, TRY_COUNT, EventRecorder
from tests.faultproxy import wait_until
from tests.unit.scheduler_svc.shell.scripted_api import OK, ScriptedApi, ScriptedPool, status

LOST = ConnectionLostError("the connection ended")
EXISTS = status(409, 'events "web-1" already exists')
EXPIRED = status(404, 'events "web-1" not found')


def event(number: int, reason: str = "FailedScheduling") -> RecordEvent:
    return RecordEvent(
        pod=PodReference("shop", f"web-{number}", f"uid-{number}"),
        scheduler_name="berthmaster",
        type=EventType.WARNING,
        reason=reason,
        action="Scheduling",
        note="n",
    )


@asynccontextmanager
async def recording(
    api: ScriptedApi,
    *,
    activity: BindingActivity | None = None,
    queue: EventQueue | None = None,
    dry_run: bool = False,
) -> AsyncIterator[EventRecorder]:
    async with EventRecorder(
        ScriptedPool(api),
        hostname="host-1",
        activity=activity or BindingActivity(),
        queue=queue,
        dry_run=dry_run,
    ) as recorder:
        yield recorder


async def wait_written(recorder: EventRecorder) -> None:
    await wait_until(
        lambda: recorder.statistics().queued_count == 0 and recorder.in_flight_count == 0,
        what="all events are written",
    )


async def never() -> Response:
    await asyncio.Event().wait()
    return OK


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_recorder, "RETRY_FIRST_SECONDS", 0.00001)
    monkeypatch.setattr(event_recorder, "RETRY_LIMIT_SECONDS", 0.0001)


async def test_many_at_once_when_it_is_quiet() -> None:
    api = ScriptedApi()
    async with recording(api) as recorder:
        for number in range(100):
            recorder.submit(event(number, "Scheduled"))
        await wait_written(recorder)
        assert recorder.statistics().written_counts == {"created": 100}
    assert api.most_under_way == CONCURRENCY


async def test_quiet_is_noticed_without_another_event() -> None:
    activity = BindingActivity()
    activity.begin()
    api = ScriptedApi()
    async with recording(api, activity=activity) as recorder:
        for number in range(50):
            recorder.submit(event(number, "Scheduled"))
        assert recorder.statistics().queued_count == 50
        activity.end()
        await wait_written(recorder)
    assert len(api.requests) == 50


async def test_what_exists_already_after_a_lost_answer_counts_as_written() -> None:
    api = ScriptedApi(LOST, EXISTS)
    async with recording(api) as recorder:
        recorder.submit(event(1))
        await wait_written(recorder)
        assert recorder.statistics().written_counts == {"created": 1}
    first, second = api.requests
    assert first == second


async def test_a_name_that_somebody_else_took_is_no_success() -> None:
    api = ScriptedApi(EXISTS)
    async with recording(api) as recorder:
        recorder.submit(event(1))
        await wait_written(recorder)
        assert recorder.statistics().dropped_counts == {"rejected": 1}


async def test_a_series_is_patched_until_it_works() -> None:
    api = ScriptedApi(OK, status(409, "changed meanwhile"), status(503, "away"), OK)
    async with recording(api) as recorder:
        for _ in range(2):
            recorder.submit(event(1))
            await wait_written(recorder)
        assert recorder.statistics().written_counts == {"created": 1, "series": 1}
    assert api.methods == ["POST", "PATCH", "PATCH", "PATCH"]
    assert api.requests[1].path.endswith("/events/" + api.requests[0].body["metadata"]["name"])


async def test_a_series_of_an_event_that_has_expired_is_made_anew() -> None:
    api = ScriptedApi(OK, EXPIRED, LOST, EXISTS)
    async with recording(api) as recorder:
        for _ in range(2):
            recorder.submit(event(1))
            await wait_written(recorder)
        assert recorder.statistics().written_counts == {"created": 2}
    assert api.methods == ["POST", "PATCH", "POST", "POST"]
    assert api.requests[2].body["series"]["count"] == 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(status(403, "no"), "rejected"), (ConnectionFailedError("refused"), "failed")],
)
async def test_a_series_that_cannot_be_patched_is_dropped(
    answer: Response | ConnectionFailedError, reason: str
) -> None:
    api = ScriptedApi(OK, otherwise=answer)
    async with recording(api) as recorder:
        for _ in range(2):
            recorder.submit(event(1))
            await wait_written(recorder)
        assert recorder.statistics().dropped_counts == {reason: 1}


async def test_hopeless_after_twelve_tries() -> None:
    api = ScriptedApi(otherwise=ConnectionFailedError("refused"))
    async with recording(api) as recorder:
        recorder.submit(event(1))
        await wait_written(recorder)
        assert recorder.statistics().dropped_counts == {"failed": 1}
    assert len(api.requests) == TRY_COUNT == 12


async def test_beyond_the_limit_is_dropped_counted_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    activity = BindingActivity()
    activity.begin()
    api = ScriptedApi()
    async with recording(api, activity=activity, queue=EventQueue(limit=3)) as recorder:
        for number in range(6):
            recorder.submit(event(number))
        recorder.submit(event(0))
        statistics = recorder.statistics()
        assert statistics.queued_count == 3
        assert statistics.folded_count == 1
        assert statistics.dropped_counts == {"queue full": 3}
        assert len(caplog.records) == 1
        await recorder.drain(5)


async def test_draining_ends_all_series() -> None:
    api = ScriptedApi(otherwise=OK)
    async with recording(api) as recorder:
        for _ in range(3):
            recorder.submit(event(1))
            await wait_written(recorder)
        await recorder.drain(5)
    assert api.methods == ["POST", "PATCH", "PATCH"]
    assert api.requests[-1].body["series"]["count"] == 3


async def test_draining_ends_in_time() -> None:
    api = ScriptedApi(otherwise=never)
    async with recording(api) as recorder:
        for number in range(CONCURRENCY + 2):
            recorder.submit(event(number))
        await recorder.drain(0.02)
        recorder.submit(event(99))
        assert recorder.statistics().dropped_counts == {"stopped": CONCURRENCY + 3}


async def test_leaving_counts_what_was_not_written() -> None:
    api = ScriptedApi(otherwise=never)
    async with recording(api) as recorder:
        for number in range(CONCURRENCY + 2):
            recorder.submit(event(number))
        await wait_until(lambda: len(api.requests) == CONCURRENCY, what="some are sent")
    assert recorder.statistics().dropped_counts == {"stopped": CONCURRENCY + 2}


async def test_dry_run_writes_nothing() -> None:
    api = ScriptedApi()
    async with recording(api, dry_run=True) as recorder:
        recorder.submit(event(1))
        await recorder.drain(5)
    assert api.requests == []
