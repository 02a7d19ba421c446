"""What is sent to write a status, and what each answer means."""

from typing import Any

import msgspec
import pytest

from kubeio.errors import ConnectionLostError, KubeError
from kubeio.response import Response
from scheduler_svc.controller.status_writer import StatusWriter, WriteResult
from tests.unit.scheduler_svc.controller.members import held
from tests.unit.scheduler_svc.shell.scripted_api import Answer, ScriptedApi, ScriptedClient, status

STATUS: dict[str, Any] = {"phase": "Pending"}


def stored(version: int) -> Response:
    metadata = {
        "namespace": "default",
        "name": "train",
        "uid": "uid-1",
        "resourceVersion": str(version),
        "generation": 1,
        "creationTimestamp": "2026-11-29T12:00:00Z",
    }
    return Response(200, [], msgspec.json.encode({"metadata": metadata, "status": STATUS}))


def writer(*answers: Answer, leads: bool = True) -> tuple[StatusWriter, ScriptedApi]:
    api = ScriptedApi(*answers)
    return StatusWriter(ScriptedClient(api), may_write=lambda: leads), api


async def test_a_status_is_written_for_the_version_that_was_looked_at() -> None:
    write, api = writer(stored(8))
    written = await write.write(held(version=7), STATUS)
    assert written == (WriteResult.WRITTEN, held(version=8, status=STATUS))
    [request] = api.requests
    assert request.method == "PATCH"
    assert request.path == (
        "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/train/status"
    )
    assert request.body == {
        "metadata": {"uid": "uid-1", "resourceVersion": "7"},
        "status": STATUS,
    }
    assert write.counts == {("podgroups.scheduling.x-k8s.io", "written"): 1}


async def test_who_does_not_lead_writes_nothing() -> None:
    write, api = writer(leads=False)
    assert await write.write(held(), STATUS) == (WriteResult.STANDBY, None)
    assert api.requests == []
    assert write.counts == {}


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (status(404, "not found"), WriteResult.GONE),
        (status(422, "phase: Invalid value"), WriteResult.REJECTED),
        (status(400, "no"), WriteResult.REJECTED),
        (status(413, "too large"), WriteResult.REJECTED),
    ],
)
async def test_what_is_refused_for_good_is_not_tried_again(
    answer: Answer, result: WriteResult
) -> None:
    write, _ = writer(answer)
    assert await write.write(held(), STATUS) == (result, None)
    assert write.counts["podgroups.scheduling.x-k8s.io", result] == 1


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (status(409, "modified"), WriteResult.CONFLICT),
        (status(403, "forbidden"), WriteResult.FAILED),
        (status(429, "busy"), WriteResult.FAILED),
        (status(500, "oops"), WriteResult.FAILED),
        (ConnectionLostError("gone"), WriteResult.FAILED),
    ],
)
async def test_what_may_work_later_is_an_error(answer: Answer, result: WriteResult) -> None:
    write, _ = writer(answer)
    with pytest.raises(KubeError):
        await write.write(held(), STATUS)
    assert write.counts["podgroups.scheduling.x-k8s.io", result] == 1
