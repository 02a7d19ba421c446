"""Events about our resources: what is sent, what is sent again, what is given up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kubeio.errors import ConnectionLostError
from scheduler_svc.controller import events
from scheduler_svc.controller.custom_resources import SCHEDULER_PROFILES, ObjectKey
from scheduler_svc.controller.events import NORMAL, WARNING, EventText, EventWriter
from tests.faultproxy import wait_until
from tests.unit.scheduler_svc.controller.members import GROUP
from tests.unit.scheduler_svc.shell.scripted_api import Answer, ScriptedApi, ScriptedClient, status

TEXT = EventText(WARNING, "Unschedulable", "Scheduling", "needs 8, 6 fit")


@asynccontextmanager
async def writing(api: ScriptedApi) -> AsyncIterator[EventWriter]:
    writer = EventWriter(ScriptedClient(api), hostname="host", seed=1)
    task = asyncio.create_task(writer.run())
    try:
        yield writer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def write(*answers: Answer, text: EventText = TEXT) -> tuple[ScriptedApi, EventWriter]:
    api = ScriptedApi(*answers)
    async with writing(api) as writer:
        writer.submit(GROUP, "uid-1", text)
        await wait_until(lambda: writer.queued_count == 0, what="it is written or given up")
    return api, writer


async def test_an_event_has_the_fields_of_the_schedulers() -> None:
    api, writer = await write()
    [request] = api.requests
    assert (request.method, request.path) == (
        "POST",
        "/apis/events.k8s.io/v1/namespaces/default/events",
    )
    body = dict(request.body)
    assert body.pop("eventTime").endswith("Z")
    name = body["metadata"].pop("name")
    assert name.startswith("train.")
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "default"},
        "reportingController": "berthmaster-controller",
        "reportingInstance": "berthmaster-controller-host",
        "action": "Scheduling",
        "reason": "Unschedulable",
        "type": "Warning",
        "regarding": {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "namespace": "default",
            "name": "train",
            "uid": "uid-1",
        },
        "note": "needs 8, 6 fit",
    }
    assert writer.written_count == 1


async def test_an_event_about_what_has_no_namespace_is_in_default() -> None:
    api = ScriptedApi()
    async with writing(api) as writer:
        writer.submit(ObjectKey(SCHEDULER_PROFILES, "", "gpu"), "uid-2", TEXT)
        await wait_until(lambda: writer.queued_count == 0, what="it is written")
    [request] = api.requests
    assert request.path == "/apis/events.k8s.io/v1/namespaces/default/events"
    assert request.body["metadata"]["namespace"] == "default"
    assert "namespace" not in request.body["regarding"]


async def test_a_note_is_cut_to_the_bytes_that_the_api_takes() -> None:
    api, _ = await write(text=EventText(NORMAL, "X", "Y", "ä" * 2000))
    note = api.requests[0].body["note"]
    assert len(note.encode()) <= 1024
    assert note.endswith("…")


async def test_an_event_whose_answer_was_lost_is_sent_again_under_its_name() -> None:
    api, writer = await write(ConnectionLostError("gone"), status(409, "exists"))
    names = {request.body["metadata"]["name"] for request in api.requests}
    assert (len(api.requests), len(names)) == (2, 1)
    assert writer.written_count == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status(404, "namespaces not found"), "namespace gone"),
        (status(403, "namespace default is being terminated"), "namespace gone"),
        (status(422, "note: Invalid"), "rejected"),
        (status(409, "exists"), "rejected"),
    ],
)
async def test_what_is_refused_is_counted(answer: Answer, reason: str) -> None:
    api, writer = await write(answer)
    assert len(api.requests) == 1
    assert writer.dropped_counts == {reason: 1}
    assert writer.written_count == 0


async def test_it_is_given_up_after_a_few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "TRY_COUNT", 2)
    api, writer = await write(status(500, "oops"), status(500, "oops"))
    assert len(api.requests) == 2
    assert writer.dropped_counts == {"failed": 1}


async def test_a_flood_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "QUEUE_LIMIT", 3)
    writer = EventWriter(ScriptedClient(ScriptedApi()), hostname="host", seed=1)
    for _ in range(5):
        writer.submit(GROUP, "uid-1", TEXT)
    assert writer.queued_count == 3
    assert writer.dropped_counts == {"queue full": 2}
    await writer.drain(0)
    assert writer.dropped_counts == {"queue full": 2, "stopped": 3}


async def test_the_end_waits_for_what_is_being_written() -> None:
    api = ScriptedApi()
    async with writing(api) as writer:
        for _ in range(20):
            writer.submit(GROUP, "uid-1", TEXT)
        await writer.drain(20)
    assert len(api.requests) == 20
