"""The binder against a real API server: every ending of a Binding has its outcome."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from deploy.controlplane import ControlPlane
from kubeio.credentials import Credentials
from kubeio.writes import WritePool
from scheduler_svc.core.effects import BindPod, PodReference
from scheduler_svc.core.events import BindFailed, BindFailure, BindSucceeded
from scheduler_svc.shell.writes.binder import Binder, BindGuards
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from scheduler_svc.shell.writes.binding_outcome import Outcome
from scheduler_svc.shell.writes.concurrency import AdaptiveLimit
from tests.faultproxy import Delay, HalfOpen, LoseAnswer, Match, Respond, wait_until
from tests.integration.write_bench import SCHEDULER_NAME, WriteBench, write_bench

pytestmark = pytest.mark.integration

BINDING = Match(method="POST", path=r"/binding$")
READ = Match(method="GET", path=r"/pods/")
NODE = "node-a"


def bind_pod(pod: PodReference, node_name: str = NODE) -> BindPod:
    return BindPod(
        pod=pod,
        scheduler_name=SCHEDULER_NAME,
        node_name=node_name,
        decision_id="berthmaster-7-42",
        attempt=3,
        decided_at_seconds=1_796_000_000.25,
        queue_wait_seconds=0.5,
    )


@dataclass
class BinderBench:
    bench: WriteBench
    limit: AdaptiveLimit = field(default_factory=AdaptiveLimit)
    outcomes: list[Outcome] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    activity: BindingActivity = field(default_factory=BindingActivity)

    def report(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.arrived.set()

    @asynccontextmanager
    async def binder(
        self,
        *,
        pool: WritePool | None = None,
        may_bind: Callable[[], bool] = lambda: True,
        node_exists: Callable[[str], bool] = lambda _: True,
        bind_timeout_seconds: float = 10.0,
        dry_run: bool = False,
    ) -> AsyncIterator[Binder]:
        async with Binder(
            pool or self.bench.pool,
            self.bench.client,
            guards=BindGuards(may_bind, node_exists),
            report=self.report,
            activity=self.activity,
            limit=self.limit,
            bind_timeout_seconds=bind_timeout_seconds,
            dry_run=dry_run,
        ) as binder:
            yield binder

    async def outcome_of(self, binder: Binder, effect: BindPod) -> Outcome:
        self.arrived.clear()
        binder.submit(effect)
        async with asyncio.timeout(30):
            await self.arrived.wait()
        assert self.outcomes[-1].uid == effect.pod.uid
        assert self.activity.count == 0
        return self.outcomes[-1]

    async def failure_of(self, binder: Binder, effect: BindPod) -> BindFailed:
        outcome = await self.outcome_of(binder, effect)
        assert isinstance(outcome, BindFailed)
        return outcome

    def binding_requests(self) -> list[str]:
        """What came through: POSTs of Bindings, and reads of Pods."""
        return self.bench.seen(
            lambda r: BINDING.matches(r.method, r.target) or READ.matches(r.method, r.target)
        )


@pytest.fixture
async def made(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[BinderBench]:
    async with write_bench(control_plane, tmp_path) as bench:
        yield BinderBench(bench)


async def test_binds_and_carries_the_decision(made: BinderBench) -> None:
    pod = await made.bench.create_pod()
    async with made.binder() as binder:
        assert await made.outcome_of(binder, bind_pod(pod)) == BindSucceeded(pod.uid)
    bound = await made.bench.read_pod(pod)
    assert bound["spec"]["nodeName"] == NODE
    assert bound["metadata"]["annotations"] == {
        "berthmaster.dev/decision-id": "berthmaster-7-42",
        "berthmaster.dev/attempt": "3",
        "berthmaster.dev/decided-at": "1796000000250000000",
        "berthmaster.dev/queue-wait": "500000000",
    }
    assert (await made.bench.condition(pod))["status"] == "True"
    assert made.binding_requests() == ["POST"]


async def test_pod_gone(made: BinderBench) -> None:
    pod = await made.bench.create_pod()
    await made.bench.delete_pod(pod)
    async with made.binder() as binder:
        failed = await made.failure_of(binder, bind_pod(pod))
    assert failed.failure is BindFailure.GONE
    assert failed.message == f'pods "{pod.name}" not found'
    assert made.binding_requests() == ["POST"]


async def test_another_pod_has_its_name(made: BinderBench) -> None:
    old = await made.bench.create_pod()
    await made.bench.delete_pod(old)
    new = await made.bench.create_pod(metadata={"name": old.name})
    async with made.binder() as binder:
        failed = await made.failure_of(binder, bind_pod(old))
    assert failed.failure is BindFailure.GONE
    assert await made.bench.node_name(new) is None


async def test_pod_is_being_deleted(made: BinderBench) -> None:
    pod = await made.bench.create_pod(metadata={"finalizers": ["example.com/hold"]})
    await made.bench.delete_pod(pod)
    async with made.binder() as binder:
        failed = await made.failure_of(binder, bind_pod(pod))
    assert failed.failure is BindFailure.GONE
    assert f"pod {pod.name} is being deleted, cannot be assigned to a host" in failed.message
    assert await made.bench.node_name(pod) is None


async def test_bound_already_by_us(made: BinderBench) -> None:
    pod = await made.bench.create_pod()
    await made.bench.bind(pod, NODE)
    async with made.binder() as binder:
        assert await made.outcome_of(binder, bind_pod(pod)) == BindSucceeded(pod.uid)
    assert made.binding_requests() == ["POST", "GET"]


async def test_bound_already_by_another(made: BinderBench) -> None:
    pod = await made.bench.create_pod()
    await made.bench.bind(pod, "node-b")
    async with made.binder() as binder:
        failed = await made.failure_of(binder, bind_pod(pod))
    assert failed.failure is BindFailure.BOUND_ELSEWHERE
    assert f'pod {pod.name} is already assigned to node "node-b"' in failed.message
    assert await made.bench.node_name(pod) == "node-b"


async def test_gated(made: BinderBench) -> None:
    pod = await made.bench.create_pod(schedulingGates=[{"name": "example.com/wait"}])
    async with made.binder() as binder:
        failed = await made.failure_of(binder, bind_pod(pod))
    assert failed.failure is BindFailure.REFUSED
    assert f"pod {pod.name} has non-empty .spec.schedulingGates" in failed.message
    assert made.binding_requests() == ["POST", "GET"]


async def test_forbidden(made: BinderBench, control_plane: ControlPlane, tmp_path: Path) -> None:
    pod = await made.bench.create_pod()
    kubeconfig = tmp_path / "nobody.kubeconfig"
    control_plane.write_client_kubeconfig(kubeconfig, user="nobody")
    async with (
        WritePool(await Credentials.load(str(kubeconfig)), user_agent="test") as pool,
        made.binder(pool=pool) as binder,
    ):
        failed = await made.failure_of(binder, bind_pod(pod))
    assert failed.failure is BindFailure.REFUSED
    assert 'User "nobody" cannot create resource "pods/binding"' in failed.message
    assert await made.bench.node_name(pod) is None


async def test_node_that_is_gone_is_not_bound_to(made: BinderBench) -> None:
    pod = await made.bench.create_pod()
    async with made.binder(node_exists=lambda name: name != NODE) as binder:
        failed = await made.failure_of(binder, bind_pod(pod))
    assert failed.failure is BindFailure.NODE_GONE
    assert failed.message == 'node "node-a" not found'
    assert made.binding_requests() == []


async def test_nothing_is_sent_without_the_lease(made: BinderBench) -> None:
    pod = await made.bench.create_pod()
    async with made.binder(may_bind=lambda: False) as binder:
        failed = await made.failure_of(binder, bind_pod(pod))
    assert failed.failure is BindFailure.NOT_LEADER
    assert made.binding_requests() == []


async def test_too_many_requests(made: BinderBench) -> None:
    made.bench.proxy.add(
        Respond(match=BINDING, times=1, status=429, headers={"Retry-After": "1"}, body=b"busy")
    )
    pod = await made.bench.create_pod()
    async with made.binder() as binder:
        assert await made.outcome_of(binder, bind_pod(pod)) == BindSucceeded(pod.uid)
        statistics = binder.statistics()
    first, second = [r for r in made.bench.proxy.requests if r.method == "POST"]
    assert 1.0 <= second.at - first.at <= 1.4
    assert statistics.concurrency_limit == 21
    assert statistics.retried_count == 1
    assert await made.bench.node_name(pod) == NODE


async def test_too_many_requests_for_too_long(made: BinderBench) -> None:
    made.bench.proxy.add(
        Respond(match=BINDING, status=429, headers={"Retry-After": "100"}, body=b"busy")
    )
    pod = await made.bench.create_pod()
    async with made.binder(bind_timeout_seconds=0.3) as binder:
        failed = await made.failure_of(binder, bind_pod(pod))
    assert failed.failure is BindFailure.REFUSED
    assert made.binding_requests() == ["POST", "POST"]
    assert await made.bench.node_name(pod) is None


@pytest.mark.parametrize("status", [500, 503, 504])
async def test_server_error_once(made: BinderBench, status: int) -> None:
    made.bench.proxy.add(Respond(match=BINDING, times=1, status=status, body=b"no"))
    pod = await made.bench.create_pod()
    async with made.binder() as binder:
        assert await made.outcome_of(binder, bind_pod(pod)) == BindSucceeded(pod.uid)
    assert made.binding_requests() == ["POST", "GET", "POST"]


async def test_server_error_each_time(made: BinderBench) -> None:
    made.bench.proxy.add(Respond(match=BINDING, status=500, body=b"etcdserver: no space"))
    pod = await made.bench.create_pod()
    async with made.binder() as binder:
        failed = await made.failure_of(binder, bind_pod(pod))
    assert failed.failure is BindFailure.REFUSED
    assert failed.message == "etcdserver: no space"
    assert made.binding_requests() == ["POST", "GET", "POST", "GET"]


async def test_lost_answer_of_a_pod_that_is_bound(made: BinderBench) -> None:
    made.bench.proxy.add(LoseAnswer(match=BINDING, times=1))
    pod = await made.bench.create_pod()
    async with made.binder() as binder:
        assert await made.outcome_of(binder, bind_pod(pod)) == BindSucceeded(pod.uid)
    assert made.binding_requests() == ["POST", "GET"]
    assert await made.bench.node_name(pod) == NODE


async def test_lost_request_of_a_pod_that_is_not_bound(made: BinderBench) -> None:
    made.bench.proxy.add(HalfOpen(match=BINDING, times=1))
    pod = await made.bench.create_pod()
    async with made.binder(bind_timeout_seconds=0.3) as binder:
        assert await made.outcome_of(binder, bind_pod(pod)) == BindSucceeded(pod.uid)
    assert made.binding_requests() == ["POST", "GET", "POST"]
    assert await made.bench.node_name(pod) == NODE


async def test_binding_that_arrives_late_changes_nothing(made: BinderBench) -> None:
    late = made.bench.proxy.add(Delay(match=BINDING, times=1, seconds=1.0))
    pod = await made.bench.create_pod()
    async with made.binder(bind_timeout_seconds=0.3) as binder:
        assert await made.outcome_of(binder, bind_pod(pod)) == BindSucceeded(pod.uid)
    assert late.hits == 1
    await wait_until(
        lambda: [r.status for r in made.bench.proxy.requests if r.method == "POST"] == [409, 201],
        what="the late Binding is refused",
    )
    assert await made.bench.node_name(pod) == NODE


async def test_pod_deleted_while_the_answer_is_lost(made: BinderBench) -> None:
    made.bench.proxy.add(HalfOpen(match=BINDING, times=1))
    pod = await made.bench.create_pod()
    async with made.binder(bind_timeout_seconds=0.5) as binder:
        made.arrived.clear()
        binder.submit(bind_pod(pod))
        await wait_until(lambda: made.bench.count(BINDING), what="the Binding is sent")
        await made.bench.delete_pod(pod)
        await made.arrived.wait()
    assert isinstance(made.outcomes[0], BindFailed)
    assert made.outcomes[0].failure is BindFailure.GONE


async def test_looks_until_the_outcome_is_known(made: BinderBench) -> None:
    made.bench.proxy.add(LoseAnswer(match=BINDING, times=1))
    made.bench.proxy.add(Respond(match=READ, times=2, status=503, body=b"not yet"))
    pod = await made.bench.create_pod()
    async with made.binder() as binder:
        assert await made.outcome_of(binder, bind_pod(pod)) == BindSucceeded(pod.uid)
    assert made.binding_requests() == ["POST", "GET", "GET", "GET"]


async def test_leadership_is_asked_for_again_before_a_retry(made: BinderBench) -> None:
    made.bench.proxy.add(Respond(match=BINDING, times=1, status=500, body=b"no"))
    pod = await made.bench.create_pod()
    # The Lease is lost with the first request.
    async with made.binder(may_bind=lambda: not made.binding_requests()) as binder:
        failed = await made.failure_of(binder, bind_pod(pod))
    assert failed.failure is BindFailure.NOT_LEADER
    assert made.binding_requests() == ["POST", "GET"]
    assert await made.bench.node_name(pod) is None


async def test_server_that_comes_back(made: BinderBench) -> None:
    pod = await made.bench.create_pod()
    await made.bench.proxy.refuse_connections()
    asked = 0

    def may_bind() -> bool:
        nonlocal asked
        asked += 1
        return True

    async with made.binder(may_bind=may_bind) as binder:
        made.arrived.clear()
        binder.submit(bind_pod(pod))
        await wait_until(lambda: asked == 2, what="it is tried again")
        await made.bench.proxy.accept_connections()
        async with asyncio.timeout(20):
            await made.arrived.wait()
    assert made.outcomes == [BindSucceeded(pod.uid)]
    assert made.binding_requests() == ["POST"]


async def test_dry_run_sends_nothing(made: BinderBench) -> None:
    pod = await made.bench.create_pod()
    async with made.binder(dry_run=True) as binder:
        assert await made.outcome_of(binder, bind_pod(pod)) == BindSucceeded(pod.uid)
    assert made.binding_requests() == []
    assert await made.bench.node_name(pod) is None


async def test_drain_lets_what_is_under_way_finish(made: BinderBench) -> None:
    made.limit = AdaptiveLimit(1)
    made.bench.proxy.add(Delay(match=BINDING, times=1, seconds=0.3))
    first, second = await made.bench.create_pod(), await made.bench.create_pod()
    async with made.binder() as binder:
        binder.submit(bind_pod(first))
        binder.submit(bind_pod(second))
        await wait_until(lambda: made.bench.count(BINDING), what="the first is sent")
        await binder.drain(10)
        binder.submit(bind_pod(second))
    text = "the scheduler is stopping"
    refused = BindFailed(second.uid, BindFailure.NOT_LEADER, text)
    assert made.outcomes == [refused, BindSucceeded(first.uid), refused]
    assert made.bench.count(BINDING) == 1


async def test_drain_ends_at_its_deadline(made: BinderBench) -> None:
    made.bench.proxy.add(HalfOpen(match=BINDING))
    pod = await made.bench.create_pod()
    async with made.binder() as binder:
        binder.submit(bind_pod(pod))
        await wait_until(lambda: made.bench.count(BINDING), what="it is sent")
        await binder.drain(0.1)
        assert isinstance(made.outcomes[0], BindFailed)
        assert made.outcomes[0].failure is BindFailure.NOT_LEADER
    assert len(made.outcomes) == 1


async def test_burst_through_a_bad_network(made: BinderBench) -> None:
    """Each Pod has one outcome, what is reported is true, and no Binding is sent blindly."""
    dice = random.Random(20)
    for _ in range(6):
        name = f"[{dice.choice('0123456789abcdef')}]/binding$"
        match = Match(method="POST", path=name)
        made.bench.proxy.add(
            dice.choice(
                [
                    LoseAnswer(match=match, times=3),
                    HalfOpen(match=match, times=2),
                    Delay(match=match, times=2, seconds=0.8),
                    Respond(match=match, times=3, status=500, body=b"no"),
                    Respond(match=match, times=3, status=429, body=b"busy"),
                ]
            )
        )
    pods = [await made.bench.create_pod() for _ in range(120)]
    node_names = {pod.uid: f"node-{i % 7}" for i, pod in enumerate(pods)}
    async with made.binder(bind_timeout_seconds=0.6) as binder:
        for pod in pods:
            binder.submit(bind_pod(pod, node_names[pod.uid]))
        await wait_until(lambda: len(made.outcomes) >= len(pods), what="all have an outcome")
    assert Counter(o.uid for o in made.outcomes) == Counter(pod.uid for pod in pods)
    for pod in pods:
        outcome = next(o for o in made.outcomes if o.uid == pod.uid)
        if isinstance(outcome, BindSucceeded):
            assert await made.bench.node_name(pod) == node_names[pod.uid]
        else:
            assert outcome.failure is BindFailure.REFUSED
            assert await made.bench.node_name(pod) in (None, node_names[pod.uid])
