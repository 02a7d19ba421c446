"""The condition patcher's queue; what the API server makes of it is shown by integration tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from kubeio.errors import ConnectionFailedError
from kubeio.response import Response
from scheduler_svc.core.effects import PatchNomination, PatchPodCondition, PodReference
from scheduler_svc.shell.writes import condition_patcher
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from scheduler_svc.shell.writes.condition_patcher import CONCURRENCY, TRY_COUNT, ConditionPatcher
from tests.faultproxy import wait_until
from tests.unit.scheduler_svc.shell.scripted_api import OK, ScriptedApi, ScriptedPool, status


def condition(number: int, message: str = "m") -> PatchPodCondition:
    pod = PodReference("default", f"web-{number}", f"uid-{number}")
    return PatchPodCondition(pod, "Unschedulable", message)


class Gate:
    """An answer that comes when it is let through."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.answer = OK

    async def __call__(self) -> Response:
        await self.opened.wait()
        return self.answer


@asynccontextmanager
async def patching(
    api: ScriptedApi,
    *,
    activity: BindingActivity | None = None,
    queue_limit: int = 100,
    dry_run: bool = False,
) -> AsyncIterator[ConditionPatcher]:
    async with ConditionPatcher(
        ScriptedPool(api),
        activity=activity or BindingActivity(),
        queue_limit=queue_limit,
        dry_run=dry_run,
    ) as patcher:
        yield patcher


def messages(api: ScriptedApi) -> list[str]:
    return [request.body["status"]["conditions"][0]["message"] for request in api.requests]


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(condition_patcher, "RETRY_FIRST_SECONDS", 0.0001)


async def test_only_the_newest_of_a_pod_is_written() -> None:
    api = ScriptedApi(otherwise=OK)
    async with patching(api) as patcher:
        patcher.submit(condition(1, "old"))
        patcher.submit(condition(1, "new"))
        await patcher.drain(5)
    assert messages(api) == ["new"]


async def test_a_newer_one_waits_for_the_one_on_its_way() -> None:
    gate = Gate()
    api = ScriptedApi(gate, otherwise=OK)
    async with patching(api) as patcher:
        patcher.submit(condition(1, "first"))
        await wait_until(lambda: api.requests, what="the first is sent")
        patcher.submit(condition(1, "second"))
        patcher.submit(condition(1, "third"))
        for _ in range(10):
            await asyncio.sleep(0)
        assert messages(api) == ["first"]
        gate.opened.set()
        await patcher.drain(5)
    assert messages(api) == ["first", "third"]


async def test_a_few_at_once_and_one_while_bindings_are_in_progress() -> None:
    for is_binding, expected in ((False, CONCURRENCY), (True, 1)):
        activity = BindingActivity()
        if is_binding:
            activity.begin()
        api = ScriptedApi(otherwise=OK)
        async with patching(api, activity=activity) as patcher:
            for number in range(20):
                patcher.submit(condition(number))
            await patcher.drain(5)
            assert patcher.statistics().written_count == 20
        assert api.most_under_way == expected


async def test_the_transition_is_told_once() -> None:
    api = ScriptedApi(otherwise=OK)
    async with patching(api) as patcher:
        for message in ("a", "b"):
            patcher.submit(condition(1, message))
            await patcher.drain(5)
        patcher.withdraw("uid-1")
        patcher.submit(condition(1, "c"))
        await patcher.drain(5)
    has_transition = [
        "lastTransitionTime" in request.body["status"]["conditions"][0] for request in api.requests
    ]
    assert has_transition == [True, False, True]


async def test_what_was_false_before_has_not_turned_and_the_generation_is_told() -> None:
    api = ScriptedApi(otherwise=OK)
    pod = PodReference("default", "web-1", "uid-1")
    async with patching(api) as patcher:
        patcher.submit(
            PatchPodCondition(pod, "Unschedulable", "m", generation=7, is_transition=False)
        )
        await patcher.drain(5)
    [condition] = api.requests[0].body["status"]["conditions"]
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "m",
        "observedGeneration": 7,
    }


async def test_what_was_withdrawn_is_not_written() -> None:
    gate = Gate()
    api = ScriptedApi(gate, otherwise=OK)
    activity = BindingActivity()
    activity.begin()
    async with patching(api, activity=activity) as patcher:
        patcher.submit(condition(1))
        await wait_until(lambda: api.requests, what="the first is sent")
        patcher.submit(condition(1, "newer"))
        patcher.submit(condition(2))
        assert patcher.withdraw("uid-2") is None
        patched = patcher.withdraw("uid-1")
        assert patched is not None
        gate.opened.set()
        await patched
        await patcher.drain(5)
        assert patcher.statistics().dropped_counts == {"withdrawn": 1}
        assert patcher.statistics().written_count == 1
    assert len(api.requests) == 1


async def test_beyond_the_limit_is_dropped_and_counted() -> None:
    gate = Gate()
    api = ScriptedApi(otherwise=gate)
    async with patching(api, queue_limit=3) as patcher:
        for number in range(5):
            patcher.submit(condition(number))
        patcher.submit(condition(0, "newer"))
        assert patcher.statistics().queued_count == 3
        assert patcher.statistics().dropped_counts == {"queue full": 2}
        gate.opened.set()
        await patcher.drain(5)
    assert sorted(messages(api)) == ["m", "m", "newer"]


async def test_hopeless_after_some_tries() -> None:
    api = ScriptedApi(otherwise=ConnectionFailedError("refused"))
    async with patching(api) as patcher:
        patcher.submit(condition(1))
        await patcher.drain(5)
        assert patcher.statistics().dropped_counts == {"failed": 1}
    assert len(api.requests) == TRY_COUNT


async def test_draining_ends_in_time() -> None:
    api = ScriptedApi(otherwise=Gate())
    async with patching(api) as patcher:
        for number in range(CONCURRENCY + 2):
            patcher.submit(condition(number))
        await patcher.drain(0.02)
        patcher.submit(condition(99))
        assert patcher.statistics().dropped_counts == {"stopped": CONCURRENCY + 3}
        assert patcher.statistics().queued_count == 0


async def test_leaving_counts_what_was_not_written() -> None:
    api = ScriptedApi(otherwise=Gate())
    async with patching(api) as patcher:
        for number in range(CONCURRENCY + 2):
            patcher.submit(condition(number))
        await wait_until(lambda: len(api.requests) == CONCURRENCY, what="some are sent")
    assert patcher.statistics().dropped_counts == {"stopped": CONCURRENCY + 2}


async def test_dry_run_writes_nothing() -> None:
    api = ScriptedApi()
    async with patching(api, dry_run=True) as patcher:
        patcher.submit(condition(1))
        await patcher.drain(5)
    assert api.requests == []


def nomination(number: int, node_name: str) -> PatchNomination:
    pod = PodReference("default", f"web-{number}", f"uid-{number}")
    return PatchNomination(pod, node_name)


def with_nomination(message: str, node_name: str) -> PatchPodCondition:
    return msgspec.structs.replace(condition(1, message), nominated_node_name=node_name)


def statuses(api: ScriptedApi) -> list[tuple[str | None, str | None]]:
    """Give the message and the nomination of each patch; "-" where nothing is said of it."""
    found = []
    for request in api.requests:
        written = request.body["status"]
        conditions = written.get("conditions", [{"message": None}])
        found.append((conditions[0]["message"], written.get("nominatedNodeName", "-")))
    return found


async def test_condition_and_nomination_are_one_patch() -> None:
    api = ScriptedApi(otherwise=OK)
    async with patching(api) as patcher:
        patcher.submit(with_nomination("m", "n1"))
        await patcher.drain(5)
        patcher.submit(with_nomination("m2", ""))
        await patcher.drain(5)
        patcher.submit(condition(1, "m3"))
        await patcher.drain(5)
        patcher.submit(nomination(1, "n2"))
        await patcher.drain(5)
    # Null takes the field away.
    assert statuses(api) == [("m", "n1"), ("m2", None), ("m3", "-"), (None, "n2")]


async def test_what_waits_is_written_together() -> None:
    api = ScriptedApi(otherwise=OK)
    async with patching(api) as patcher:
        patcher.submit(with_nomination("old", "n1"))
        patcher.submit(condition(1, "new"))
        patcher.submit(nomination(2, "n1"))
        patcher.submit(nomination(2, "n2"))
        patcher.submit(condition(2, "m"))
        await patcher.drain(5)
    assert statuses(api) == [("new", "n1"), ("m", "n2")]


async def test_what_comes_during_a_patch_is_written_together_after_it() -> None:
    gate = Gate()
    api = ScriptedApi(gate, otherwise=OK)
    async with patching(api) as patcher:
        patcher.submit(with_nomination("first", "n1"))
        await wait_until(lambda: api.requests, what="the first is sent")
        patcher.submit(nomination(1, ""))
        patcher.submit(condition(1, "second"))
        gate.opened.set()
        await patcher.drain(5)
    assert statuses(api) == [("first", "n1"), ("second", None)]


async def test_a_nomination_that_could_not_be_written_goes_with_what_follows() -> None:
    busy = status(503, "busy")
    gate = Gate()
    api = ScriptedApi(*[busy] * (TRY_COUNT - 1), gate, otherwise=OK)
    async with patching(api) as patcher:
        patcher.submit(with_nomination("first", "n1"))
        await wait_until(lambda: len(api.requests) == TRY_COUNT, what="the last try is made")
        patcher.submit(condition(1, "second"))
        gate.answer = busy
        gate.opened.set()
        await patcher.drain(5)
    assert statuses(api)[TRY_COUNT:] == [("second", "n1")]


async def test_a_nomination_alone_is_no_transition() -> None:
    api = ScriptedApi(otherwise=OK)
    async with patching(api) as patcher:
        patcher.submit(nomination(1, "n1"))
        await patcher.drain(5)
        patcher.submit(condition(1))
        await patcher.drain(5)
    assert "lastTransitionTime" in api.requests[1].body["status"]["conditions"][0]
