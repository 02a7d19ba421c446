"""How victims are evicted; what the API server makes of it is shown by integration tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kubeio.errors import ConnectionFailedError
from kubeio.response import Response
from scheduler_svc.core.effects import (
    EventType,
    EvictPods,
    PodReference,
    RecordEvent,
    Victim,
)
from scheduler_svc.core.events import EvictionFinished
from scheduler_svc.shell.writes import evictor
from scheduler_svc.shell.writes.evictor import (
    DELETE_TRY_COUNT,
    PATCH_TRY_COUNT,
    PREEMPTION_CONCURRENCY,
    Evictor,
)
from tests.faultproxy import wait_until
from tests.unit.scheduler_svc.shell.scripted_api import (
    OK,
    Answer,
    ScriptedApi,
    ScriptedPool,
    status,
)

MESSAGE = "berthmaster: preempting to accommodate a higher priority pod"
GONE = status(404, 'pods "v1" not found')
FORBIDDEN = status(403, "pods is forbidden")
UNAVAILABLE = status(503, "not now")
ANOTHER_PATCHED = status(422, 'Pod "v1" is invalid: metadata.uid: Invalid value: "uid-v1"')
ANOTHER_DELETED = status(409, "Precondition failed: UID in precondition: uid-v1")


def victim(name: str) -> Victim:
    pod = PodReference("shop", name, f"uid-{name}")
    event = RecordEvent(pod, "berthmaster", EventType.NORMAL, "Preempted", "Preempting", name)
    return Victim(pod, event, generation=4)


def eviction(*names: str, number: int = 1) -> EvictPods:
    preemptor = PodReference("shop", "new", "uid-new")
    return EvictPods(preemptor, number, MESSAGE, tuple(victim(name) for name in names))


class Told:
    """What the evictor reports and records."""

    def __init__(self) -> None:
        self.outcomes: list[EvictionFinished] = []
        self.notes: list[str] = []

    def record(self, event: RecordEvent) -> None:
        self.notes.append(event.note)


@asynccontextmanager
async def evicting(
    api: ScriptedApi, told: Told, *, is_leading: bool = True, dry_run: bool = False
) -> AsyncIterator[Evictor]:
    async with Evictor(
        ScriptedPool(api),
        report=told.outcomes.append,
        record=told.record,
        may_evict=lambda: is_leading,
        dry_run=dry_run,
    ) as made:
        yield made


async def evict(
    effect: EvictPods, *answers: Answer, otherwise: Answer = OK
) -> tuple[ScriptedApi, Told]:
    api, told = ScriptedApi(*answers, otherwise=otherwise), Told()
    async with evicting(api, told) as made:
        made.submit(effect)
        await wait_until(lambda: told.outcomes, what="there is an outcome")
    return api, told


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evictor, "RETRY_FIRST_SECONDS", 0.0001)


async def test_a_victim_is_told_why_and_deleted() -> None:
    api, told = await evict(eviction("v1"))
    patch, delete = api.requests
    assert (patch.method, patch.path) == ("PATCH", "/api/v1/namespaces/shop/pods/v1/status")
    assert patch.body["metadata"] == {"uid": "uid-v1"}
    [condition] = patch.body["status"]["conditions"]
    assert condition.pop("lastTransitionTime")
    assert condition == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": MESSAGE,
        "observedGeneration": 4,
    }
    assert (delete.method, delete.path) == ("DELETE", "/api/v1/namespaces/shop/pods/v1")
    assert delete.body == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": "uid-v1"},
    }
    assert told.outcomes == [EvictionFinished(1)]
    assert told.notes == ["v1"]


async def test_the_last_victim_is_deleted_after_all_others() -> None:
    api, told = await evict(eviction(*"abcd"))
    deleted = [r.path.rsplit("/", 1)[1] for r in api.requests if r.method == "DELETE"]
    assert sorted(deleted[:3]) == ["a", "b", "c"]
    assert deleted[3] == "d"
    # Even its status is not touched before.
    assert [r.method for r in api.requests[6:]] == ["PATCH", "DELETE"]
    assert sorted(told.notes) == list("abcd")


async def test_the_last_victim_stays_if_another_cannot_be_evicted() -> None:
    api, told = await evict(eviction("v1", "v2"), OK, FORBIDDEN)
    assert api.methods == ["PATCH", "DELETE"]
    assert told.outcomes == [EvictionFinished(1, "evicting shop/v1: pods is forbidden")]
    assert told.notes == []


@pytest.mark.parametrize(
    "answers", [[FORBIDDEN], [status(422, "invalid")], [UNAVAILABLE] * PATCH_TRY_COUNT]
)
async def test_a_victim_whose_status_cannot_be_patched_is_deleted(
    answers: list[Response], caplog: pytest.LogCaptureFixture
) -> None:
    api, told = await evict(eviction("v1"), *answers)
    assert [record.message for record in caplog.records] == [
        "Could not tell a pod why it is evicted"
    ]
    assert api.methods[-1] == "DELETE"
    assert told.outcomes == [EvictionFinished(1)]
    assert told.notes == ["v1"]


@pytest.mark.parametrize(
    ("answers", "calls"),
    [
        ((GONE, GONE), ["PATCH", "DELETE"]),
        ((OK, GONE), ["PATCH", "DELETE"]),
        ((ANOTHER_PATCHED, ANOTHER_DELETED), ["PATCH", "DELETE"]),
    ],
)
async def test_a_victim_that_is_gone_counts_as_evicted(
    answers: tuple[Response, ...], calls: list[str]
) -> None:
    api, told = await evict(eviction("v1"), *answers)
    assert api.methods == calls
    assert told.outcomes == [EvictionFinished(1)]
    assert told.notes == []


async def test_what_may_pass_is_tried_again() -> None:
    lost = ConnectionFailedError("DELETE /", "no route")
    api, told = await evict(eviction("v1"), OK, UNAVAILABLE, lost, OK)
    assert api.methods == ["PATCH", "DELETE", "DELETE", "DELETE"]
    assert told.outcomes == [EvictionFinished(1)]


async def test_what_does_not_pass_is_given_up() -> None:
    api, told = await evict(eviction("v1"), OK, otherwise=UNAVAILABLE)
    assert api.methods.count("DELETE") == DELETE_TRY_COUNT
    assert told.outcomes == [EvictionFinished(1, "evicting shop/v1: not now")]


async def test_nothing_is_written_while_another_may_lead() -> None:
    api, told = ScriptedApi(otherwise=OK), Told()
    async with evicting(api, told, is_leading=False) as made:
        made.submit(eviction("v1"))
        await wait_until(lambda: told.outcomes, what="there is an outcome")
        assert made.statistics().failed_count == 1
    assert api.requests == []
    assert told.outcomes == [
        EvictionFinished(1, "evicting shop/v1: another replica may be leading")
    ]


async def test_a_dry_run_evicts_nobody() -> None:
    api, told = ScriptedApi(otherwise=OK), Told()
    async with evicting(api, told, dry_run=True) as made:
        made.submit(eviction("v1"))
    assert api.requests == []
    assert told.outcomes == [EvictionFinished(1)]
    assert told.notes == []


async def test_so_many_preemptions_at_once_the_rest_in_turn() -> None:
    api, told = ScriptedApi(otherwise=OK), Told()
    count = PREEMPTION_CONCURRENCY + 5
    async with evicting(api, told) as made:
        for number in range(count):
            made.submit(eviction(f"v{number}", number=number))
        assert len(made) >= count
        await wait_until(lambda: len(told.outcomes) == count, what="all are done")
        assert made.statistics().evicted_count == count
        await wait_until(lambda: len(made) == 0, what="nothing is under way")
    assert api.most_under_way == PREEMPTION_CONCURRENCY


async def test_the_end_leaves_nobody_without_an_outcome() -> None:
    never = asyncio.Event()

    async def hang() -> Response:
        await never.wait()
        return OK

    api, told = ScriptedApi(otherwise=hang), Told()
    async with evicting(api, told) as made:
        for number in range(PREEMPTION_CONCURRENCY + 1):
            made.submit(eviction("v1", number=number))
        await wait_until(
            lambda: len(api.requests) == PREEMPTION_CONCURRENCY, what="as many as may have begun"
        )
        await made.drain(0.01)
        made.submit(eviction("v1", number=99))
    assert {outcome.eviction_id for outcome in told.outcomes} == {
        *range(PREEMPTION_CONCURRENCY + 1),
        99,
    }
    assert all("this replica is stopping" in outcome.error for outcome in told.outcomes)


async def test_what_is_under_way_may_be_finished() -> None:
    api, told = ScriptedApi(otherwise=OK), Told()
    async with evicting(api, told) as made:
        made.submit(eviction("v1"))
        await wait_until(lambda: api.requests, what="it has begun")
        await made.drain(5)
    assert told.outcomes == [EvictionFinished(1)]
