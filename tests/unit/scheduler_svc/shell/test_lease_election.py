"""Driving the election: what the API server is asked, and when; more in integration tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from kubeio.lease import LeaseObject
from kubeio.reflector import Reflector
from kubeio.response import Response
from scheduler_svc.core.leaderelection import ElectionState, ElectionTiming, LeaderElection, Wait
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.lease import LeaseElection
from tests.faultproxy import wait_until
from tests.unit.scheduler_svc.shell.scripted_api import (
    ScriptedApi,
    ScriptedClient,
    status,
)

NOT_FOUND = status(404, "not found")


def lease(holder: str, version: str, **changes: object) -> Response:
    spec: dict[str, object] = {
        "holderIdentity": holder,
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-11-29T12:00:00.000000Z",
        "renewTime": "2026-11-29T12:00:00.000000Z",
        "leaseTransitions": 4,
        **changes,
    }
    metadata = {"name": "berthmaster", "namespace": "kube-system", "resourceVersion": version}
    return Response(200, [], msgspec.json.encode({"metadata": metadata, "spec": spec}))


class Bench:
    """An election before scripted answers."""

    def __init__(self, *answers: Response) -> None:
        self.api = ScriptedApi(*answers, otherwise=NOT_FOUND)
        self.machine = LeaderElection("one", timing=ElectionTiming())
        self.calls: list[str] = []
        self.election = LeaseElection(
            ScriptedClient(self.api),
            self.machine,
            namespace="kube-system",
            name="berthmaster",
            on_leading=lambda: self.calls.append("leading"),
            on_lost=lambda: self.calls.append("lost"),
        )

    def asked(self) -> list[str]:
        """The methods of the calls about the Lease, without those of the watch."""
        return [r.method for r in self.api.requests]


@pytest.fixture(autouse=True)
def silent_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait_for_ever(_: Reflector[LeaseObject]) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Reflector, "run", wait_for_ever)


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[asyncio.Task[ElectionState]]:
    task = asyncio.create_task(bench.election.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_creates_the_lease_and_leads() -> None:
    bench = Bench(NOT_FOUND, lease("one", "7"))
    async with running(bench):
        await wait_until(bench.election.may_bind, what="it leads")
    assert bench.asked() == ["GET", "POST"]
    assert bench.api.requests[1].body["spec"]["holderIdentity"] == "one"
    assert bench.calls == ["leading"]
    assert bench.election.renewal_count == 1


async def test_takes_a_released_lease() -> None:
    bench = Bench(lease("", "7"), lease("one", "8"))
    async with running(bench):
        await wait_until(bench.election.may_bind, what="it leads")
    assert bench.asked() == ["GET", "PUT"]
    written = bench.api.requests[1].body
    assert written["metadata"]["resourceVersion"] == "7"
    assert written["spec"]["leaseTransitions"] == 5


@pytest.mark.parametrize(
    "moment",
    [
        "0000-01-01T00:00:00.000000Z",
        "0001-01-01T00:00:00.000000Z",
        "9999-12-31T23:59:59.999999Z",
        "10000-01-01T00:00:00.000000Z",
        None,
    ],
)
async def test_times_of_a_lease_that_someone_edited_do_not_matter(moment: str | None) -> None:
    edited = {"acquireTime": moment, "renewTime": moment}
    bench = Bench(lease("one", "3", **edited), lease("one", "4", **edited))
    async with running(bench):
        await wait_until(lambda: bench.calls == ["leading"], what="the candidate to lead")
    spec = bench.api.requests[1].body["spec"]
    assert spec["acquireTime"] == moment
    assert spec["holderIdentity"] == "one"


async def test_a_namespace_that_is_missing_is_no_reason_to_spin() -> None:
    bench = Bench(NOT_FOUND, NOT_FOUND)
    async with running(bench):
        await wait_until(lambda: bench.election.failure_count, what="the POST failed")
        assert isinstance(bench.machine.next_action(read_now()), Wait)
    assert bench.asked() == ["GET", "POST"]


async def test_a_held_lease_is_waited_for() -> None:
    bench = Bench(lease("two", "7"))
    async with running(bench):
        await wait_until(lambda: bench.election.holder_identity == "two", what="it has read")
        assert not bench.election.is_leader
        await bench.election.release()
    assert bench.asked() == ["GET"]
    assert bench.calls == []


async def test_releasing_writes_an_empty_holder() -> None:
    bench = Bench(lease("", "7"), lease("one", "8"), lease("", "9"))
    async with running(bench) as task:
        await wait_until(bench.election.may_bind, what="it leads")
        await bench.election.release()
        assert await task is ElectionState.RELEASED
    assert not bench.election.may_bind()
    spec = bench.api.requests[2].body["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)


async def test_releasing_what_does_not_run_returns_at_once() -> None:
    bench = Bench()
    await bench.election.release()
    assert bench.asked() == []


async def test_a_fault_of_ours_in_the_watch_surfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_: Reflector[LeaseObject]) -> None:
        raise ValueError("a fault of ours")

    monkeypatch.setattr(Reflector, "run", fail)
    bench = Bench(lease("two", "7"))
    with pytest.raises(ValueError, match="a fault of ours"):
        await bench.election.run()
