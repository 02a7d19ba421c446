"""Leader election over a real API server: never two, and never none for long.

The shorter times keep the ratios of the defaults, 15 s, 10 s and 2 s.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane
from kubeio.client import KubeClient
from kubeio.lease import LEASES
from scheduler_svc.core.leaderelection import ElectionState, ElectionTiming, LeaderElection
from scheduler_svc.shell.lease import LeaseElection
from tests.faultproxy import HalfOpen, LoseAnswer, Match, Respond, wait_until
from tests.integration.write_bench import WriteBench, write_bench

pytestmark = pytest.mark.integration

DEFAULTS = ElectionTiming()
SHORT = ElectionTiming(lease_duration_seconds=6, renew_deadline_seconds=4, retry_period_seconds=0.8)
NAMESPACE = "kube-system"


class Candidate:
    """A process that takes part."""

    def __init__(
        self, client: KubeClient, name: str, identity: str, timing: ElectionTiming
    ) -> None:
        self.calls: list[str] = []
        self.election = LeaseElection(
            client,
            LeaderElection(identity, timing=timing),
            namespace=NAMESPACE,
            name=name,
            on_leading=lambda: self.calls.append("leading"),
            on_lost=lambda: self.calls.append("lost"),
        )
        self.task = asyncio.create_task(self.election.run())

    async def vanish(self) -> None:
        """End without a word, as SIGKILL does."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def wait_leading(self) -> None:
        await wait_until(self.election.may_bind, what="it leads")


class Stage:
    """One Lease, and who wants it."""

    def __init__(self, bench: WriteBench) -> None:
        self.bench = bench
        self.name = f"lease-{secrets.token_hex(4)}"
        self.path = LEASES.in_namespace(NAMESPACE).object(self.name)
        self.candidates: list[Candidate] = []

    def enter(self, client: KubeClient, identity: str, timing: ElectionTiming = SHORT) -> Candidate:
        candidate = Candidate(client, self.name, identity, timing)
        self.candidates.append(candidate)
        return candidate

    async def lease(self) -> dict[str, Any]:
        return await self.bench.direct.get_json(self.path, dict)

    async def wait_standing_by(self, candidate: Candidate, holder: str) -> None:
        await wait_until(
            lambda: candidate.election.holder_identity == holder, what="it knows the holder"
        )


@asynccontextmanager
async def staged(control_plane: ControlPlane, directory: Path) -> AsyncIterator[Stage]:
    async with write_bench(control_plane, directory) as bench:
        stage = Stage(bench)
        try:
            yield stage
        finally:
            for candidate in stage.candidates:
                await candidate.vanish()


@pytest.fixture
async def stage(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(control_plane, tmp_path) as made:
        yield made


async def test_first_one_leads(stage: Stage) -> None:
    first = stage.enter(stage.bench.direct, "one", DEFAULTS)
    await first.wait_leading()
    assert first.calls == ["leading"]
    assert first.election.is_leader
    spec = (await stage.lease())["spec"]
    assert spec["holderIdentity"] == "one"
    assert spec["leaseDurationSeconds"] == 15
    assert spec["leaseTransitions"] == 0
    second = stage.enter(stage.bench.direct, "two", DEFAULTS)
    await stage.wait_standing_by(second, "one")
    assert not second.election.may_bind()
    assert second.election.renewal_age_seconds is None
    assert (first.election.renewal_age_seconds or 0) < DEFAULTS.renew_deadline_seconds


async def test_release_is_taken_up_at_once(stage: Stage) -> None:
    first = stage.enter(stage.bench.direct, "one", DEFAULTS)
    await first.wait_leading()
    second = stage.enter(stage.bench.direct, "two", DEFAULTS)
    await stage.wait_standing_by(second, "one")
    begun = time.monotonic()
    release = asyncio.create_task(first.election.release())
    await wait_until(second.election.may_bind, what="the second leads", deadline_seconds=3)
    await release
    assert await first.task is ElectionState.RELEASED
    assert not first.election.may_bind()
    assert first.calls == ["leading"]
    assert time.monotonic() - begun < 3
    spec = (await stage.lease())["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("two", 1)


async def test_released_lease_is_written_as_client_go_does(stage: Stage) -> None:
    first = stage.enter(stage.bench.direct, "one", DEFAULTS)
    await first.wait_leading()
    await first.election.release()
    spec = (await stage.lease())["spec"]
    assert (spec.get("holderIdentity", ""), spec["leaseDurationSeconds"]) == ("", 1)


async def test_vanished_leader_is_replaced(stage: Stage) -> None:
    first = stage.enter(stage.bench.direct, "one")
    await first.wait_leading()
    second = stage.enter(stage.bench.direct, "two")
    await stage.wait_standing_by(second, "one")
    await wait_until(lambda: first.election.renewal_count >= 3, what="the lease is renewed")
    renewed = time.monotonic() - (first.election.renewal_age_seconds or 0)
    await first.vanish()
    await wait_until(second.election.may_bind, what="the second leads")
    assert 6 <= time.monotonic() - renewed <= 6 * 17 / 15
    assert second.calls == ["leading"]


async def test_leader_that_is_cut_off_stops_in_time(stage: Stage) -> None:
    first = stage.enter(stage.bench.client, "one")
    await first.wait_leading()
    second = stage.enter(stage.bench.direct, "two")
    await stage.wait_standing_by(second, "one")
    stage.bench.proxy.freeze()
    renewed = time.monotonic() - (first.election.renewal_age_seconds or 0)
    ended: float | None = None
    while not second.election.may_bind():
        if ended is None and not first.election.may_bind():
            ended = time.monotonic()
        await asyncio.sleep(0.005)
        assert time.monotonic() < renewed + 20, "the second never led"
    taken = time.monotonic()
    assert ended is not None, "both led at once"
    assert ended < taken
    assert ended - renewed < 6
    assert await first.task is ElectionState.LOST
    assert first.calls == ["leading", "lost"]


async def test_frozen_api_server(stage: Stage, control_plane: ControlPlane) -> None:
    first = stage.enter(stage.bench.direct, "one")
    await first.wait_leading()
    control_plane.freeze("kube-apiserver")
    try:
        renewed = time.monotonic() - (first.election.renewal_age_seconds or 0)
        async with asyncio.timeout(20):
            assert await first.task is ElectionState.LOST
        assert not first.election.may_bind()
        assert time.monotonic() - renewed < 6
    finally:
        control_plane.thaw("kube-apiserver")


async def test_leader_learns_of_another_holder(stage: Stage) -> None:
    first = stage.enter(stage.bench.direct, "one")
    await first.wait_leading()
    await stage.bench.direct.call(
        "PATCH",
        stage.path,
        body=b'{"spec":{"holderIdentity":"usurper"}}',
        content_type="application/merge-patch+json",
    )
    async with asyncio.timeout(10):
        assert await first.task is ElectionState.LOST
    assert first.calls == ["leading", "lost"]


async def test_lost_answers_do_not_unseat(stage: Stage) -> None:
    stage.bench.proxy.add(LoseAnswer(match=Match(method="POST"), times=1))
    stage.bench.proxy.add(LoseAnswer(match=Match(method="PUT"), times=2))
    first = stage.enter(stage.bench.client, "one")
    await first.wait_leading()
    count = first.election.renewal_count
    await wait_until(lambda: first.election.renewal_count >= count + 3, what="it goes on")
    assert first.election.may_bind()
    assert first.election.failure_count == 3


async def test_slow_call_is_given_up_and_repeated(stage: Stage) -> None:
    first = stage.enter(stage.bench.client, "one")
    await first.wait_leading()
    stage.bench.proxy.add(HalfOpen(match=Match(method="PUT"), times=1))
    await wait_until(lambda: first.election.failure_count == 1, what="a call had no answer")
    count = first.election.renewal_count
    await wait_until(lambda: first.election.renewal_count > count, what="it is repeated")
    assert first.election.may_bind()
    assert first.calls == ["leading"]


async def test_without_the_right_to_watch(stage: Stage) -> None:
    stage.bench.proxy.add(
        Respond(match=Match(method="GET", path=r"/leases$"), status=403, body=b"no")
    )
    first = stage.enter(stage.bench.direct, "one")
    await first.wait_leading()
    second = stage.enter(stage.bench.client, "two")
    await stage.wait_standing_by(second, "one")
    await first.election.release()
    await second.wait_leading()


async def test_labels_of_the_lease_stay(stage: Stage) -> None:
    first = stage.enter(stage.bench.direct, "one")
    await first.wait_leading()
    await stage.bench.direct.call(
        "PATCH",
        stage.path,
        body=b'{"metadata":{"labels":{"team":"ours"}}}',
        content_type="application/merge-patch+json",
    )
    count = first.election.renewal_count
    await wait_until(lambda: first.election.renewal_count >= count + 2, what="it is renewed")
    await first.election.release()
    assert (await stage.lease())["metadata"]["labels"] == {"team": "ours"}


async def test_deleted_lease_is_made_anew(stage: Stage) -> None:
    first = stage.enter(stage.bench.direct, "one")
    await first.wait_leading()
    await stage.bench.direct.call("DELETE", stage.path)
    count = first.election.renewal_count
    await wait_until(lambda: first.election.renewal_count > count, what="it is renewed")
    assert first.election.may_bind()
    assert (await stage.lease())["spec"]["holderIdentity"] == "one"
