"""The event recorder against a real API server: what users will read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from deploy.controlplane import ControlPlane
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import EventType, PodReference, RecordEvent
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from scheduler_svc.shell.writes.event_recorder import EventRecorder
from scheduler_svc.shell.writes.event_series import FINISH_SECONDS
from tests.faultproxy import LoseAnswer, Match, Respond, wait_until
from tests.integration.write_bench import EVENTS, SCHEDULER_NAME, WriteBench, write_bench

pytestmark = pytest.mark.integration

POST = Match(method="POST", path=r"/events$")
PATCH = Match(method="PATCH", path=r"/events/")
NO_CPU = "0/1 nodes are available: 1 Insufficient cpu."


class Clock:
    """Both clocks, standing until they are moved; 2026-11-29T12:00:00.25Z at first."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> Now:
        return Now(self.seconds, 1_795_953_600.25 + self.seconds)


@asynccontextmanager
async def recorder_of(
    bench: WriteBench, clock: Clock, activity: BindingActivity | None = None
) -> AsyncIterator[EventRecorder]:
    async with EventRecorder(
        bench.pool,
        hostname="host-1",
        activity=activity or BindingActivity(),
        clock=clock,
    ) as recorder:
        yield recorder


async def written(recorder: EventRecorder) -> None:
    await wait_until(
        lambda: recorder.statistics().queued_count == 0 and recorder.in_flight_count == 0,
        what="all events are written",
    )


@pytest.fixture
async def bench(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[WriteBench]:
    async with write_bench(control_plane, tmp_path) as made:
        yield made


def failed(pod: PodReference, note: str = NO_CPU) -> RecordEvent:
    return RecordEvent(
        pod=pod,
        scheduler_name=SCHEDULER_NAME,
        type=EventType.WARNING,
        reason="FailedScheduling",
        action="Scheduling",
        note=note,
    )


def scheduled(pod: PodReference) -> RecordEvent:
    return RecordEvent(
        pod=pod,
        scheduler_name=SCHEDULER_NAME,
        type=EventType.NORMAL,
        reason="Scheduled",
        action="Binding",
        note=f"Successfully assigned {pod.key} to node-a",
    )


async def test_event_as_kube_scheduler_writes_it(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    async with recorder_of(bench, Clock()) as recorder:
        recorder.submit(scheduled(pod))
        await written(recorder)
        assert recorder.statistics().written_counts == {"created": 1}
    (event,) = await bench.events(pod)
    metadata = event.pop("metadata")
    assert metadata["namespace"] == "default"
    assert metadata["name"] == f"{pod.name}.{1_795_953_600_250_000_000:x}"
    assert event == {
        "eventTime": "2026-11-29T12:00:00.250000Z",
        "reportingController": "berthmaster",
        "reportingInstance": "berthmaster-host-1",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {
            "kind": "Pod",
            "namespace": "default",
            "name": pod.name,
            "uid": pod.uid,
            "apiVersion": "v1",
        },
        "note": f"Successfully assigned default/{pod.name} to node-a",
        "type": "Normal",
    } | {name: event[name] for name in event if name.startswith("deprecated")}


async def test_the_same_again_becomes_a_series(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    clock = Clock()
    async with recorder_of(bench, clock) as recorder:
        for _ in range(4):
            recorder.submit(failed(pod))
            await written(recorder)
            clock.seconds += 10
        (event,) = await bench.events(pod)
        assert event["series"] == {"count": 2, "lastObservedTime": "2026-11-29T12:00:10.250000Z"}
        assert bench.count(PATCH) == 1
        await recorder.drain(10)
    (event,) = await bench.events(pod)
    assert event["series"] == {"count": 4, "lastObservedTime": "2026-11-29T12:00:30.250000Z"}
    assert event["note"] == NO_CPU


async def test_another_note_is_another_event(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    clock = Clock()
    async with recorder_of(bench, clock) as recorder:
        recorder.submit(failed(pod, "no nodes available to schedule pods"))
        await written(recorder)
        clock.seconds += 5
        recorder.submit(failed(pod))
        await written(recorder)
    notes = [event["note"] for event in await bench.events(pod)]
    assert notes == ["no nodes available to schedule pods", NO_CPU]


async def test_what_waits_is_folded_and_the_newest_note_counts(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    clock = Clock()
    async with recorder_of(bench, clock) as recorder:
        for number in range(3):
            recorder.submit(failed(pod, f"note {number}"))
            clock.seconds += 1
        await written(recorder)
        assert recorder.statistics().folded_count == 2
    (event,) = await bench.events(pod)
    assert event["note"] == "note 2"
    assert event["series"] == {"count": 3, "lastObservedTime": "2026-11-29T12:00:02.250000Z"}


async def test_lost_answer_writes_nothing_twice(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    bench.proxy.add(LoseAnswer(match=POST, times=1))
    async with recorder_of(bench, Clock()) as recorder:
        recorder.submit(scheduled(pod))
        await written(recorder)
        assert recorder.statistics().written_counts == {"created": 1}
        assert recorder.statistics().dropped_counts == {}
    assert bench.count(POST) == 2
    assert len(await bench.events(pod)) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_passing_troubles(bench: WriteBench, status: int) -> None:
    pod = await bench.create_pod()
    bench.proxy.add(Respond(match=POST, times=2, status=status, body=b"later"))
    async with recorder_of(bench, Clock()) as recorder:
        recorder.submit(scheduled(pod))
        await written(recorder)
    assert bench.count(POST) == 3
    assert len(await bench.events(pod)) == 1


async def test_refusal_for_good_is_counted(
    bench: WriteBench, caplog: pytest.LogCaptureFixture
) -> None:
    pods = [await bench.create_pod() for _ in range(3)]
    async with recorder_of(bench, Clock()) as recorder:
        for pod in pods:
            event = scheduled(pod)
            recorder.submit(
                RecordEvent(
                    pod=pod,
                    scheduler_name="no/qualified/name",
                    type=event.type,
                    reason=event.reason,
                    action=event.action,
                    note=event.note,
                )
            )
        await written(recorder)
        assert recorder.statistics().dropped_counts == {"rejected": 3}
        assert [record.getMessage() for record in caplog.records] == ["Dropped events"]
    assert bench.count(POST) == 3


async def test_event_in_a_namespace_that_is_gone(bench: WriteBench) -> None:
    pod = PodReference("no-such-namespace", "a", "0-1-2")
    async with recorder_of(bench, Clock()) as recorder:
        recorder.submit(scheduled(pod))
        await written(recorder)
        assert recorder.statistics().dropped_counts == {"namespace gone": 1}


async def test_series_of_an_event_that_has_expired(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    clock = Clock()
    async with recorder_of(bench, clock) as recorder:
        recorder.submit(failed(pod))
        await written(recorder)
        (event,) = await bench.events(pod)
        await bench.direct.call("DELETE", EVENTS.object(event["metadata"]["name"]))
        clock.seconds += 10
        recorder.submit(failed(pod))
        await written(recorder)
    (event,) = await bench.events(pod)
    assert event["eventTime"] == "2026-11-29T12:00:00.250000Z"
    assert event["series"] == {"count": 2, "lastObservedTime": "2026-11-29T12:00:10.250000Z"}


async def test_series_ends_when_it_rests(bench: WriteBench) -> None:
    pod = await bench.create_pod()
    clock = Clock()
    async with recorder_of(bench, clock) as recorder:
        for _ in range(3):
            recorder.submit(failed(pod))
            await written(recorder)
        clock.seconds += FINISH_SECONDS
        recorder.sweep()
        await written(recorder)
        (event,) = await bench.events(pod)
        assert event["series"]["count"] == 3
        recorder.submit(failed(pod))
        await written(recorder)
    assert len(await bench.events(pod)) == 2


async def test_events_wait_while_bindings_are_in_progress(bench: WriteBench) -> None:
    pods = [await bench.create_pod() for _ in range(40)]
    clock = Clock()
    activity = BindingActivity(lambda: clock().monotonic_seconds)
    activity.begin()
    async with recorder_of(bench, clock, activity) as recorder:
        for pod in pods:
            recorder.submit(scheduled(pod))
        await asyncio.sleep(0.5)  # the clocks stand: this is time in which nothing may happen
        assert recorder.statistics().queued_count >= len(pods) - 1
        activity.end()
        clock.seconds += 1
        await written(recorder)
        assert recorder.statistics().written_counts == {"created": len(pods)}
    assert len(await bench.events(pods[-1])) == 1


async def test_late_events_are_written_in_spite_of_bindings(bench: WriteBench) -> None:
    pods = [await bench.create_pod() for _ in range(10)]
    clock = Clock()
    activity = BindingActivity(lambda: clock().monotonic_seconds)
    activity.begin()
    async with recorder_of(bench, clock, activity) as recorder:
        for pod in pods:
            recorder.submit(scheduled(pod))
        clock.seconds += 27
        await written(recorder)
        assert recorder.statistics().written_counts == {"created": len(pods)}


async def test_drain_does_not_wait_for_quiet(bench: WriteBench) -> None:
    pods = [await bench.create_pod() for _ in range(10)]
    clock = Clock()
    activity = BindingActivity(lambda: clock().monotonic_seconds)
    activity.begin()
    async with recorder_of(bench, clock, activity) as recorder:
        for pod in pods:
            recorder.submit(scheduled(pod))
        await recorder.drain(10)
        assert recorder.statistics().written_counts == {"created": len(pods)}
        assert recorder.statistics().dropped_counts == {}
