"""Binds Pods: POSTs Bindings, and finds out what became of each.

Before each POST it asks whether our Lease is still valid and whether the Node still
exists, since the API server accepts a Binding to a Node that is gone. Once a POST may
have been carried out, nothing is sent again before the Pod has been read; a Pod that is
seen unbound then gets the same Binding once more, so that a request that is still on
its way to the server cannot bind it elsewhere than to the Node whose room we hold.

Every effect ends in exactly one event, also when the process stops. How many are under
way is adapted to what the API server bears (`concurrency`); the others wait in order.
Cost: about 60 µs of CPU a Binding, half of it TLS and HTTP.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self
from zlib import crc32

import msgspec

from kubeio.backoff import Backoff, Jitter
from kubeio.client import KubeClient
from kubeio.errors import (
    ApiError,
    KubeError,
    NotFoundError,
    RequestTimeoutError,
    ServerError,
    TooManyRequestsError,
)
from kubeio.writes import WritePool
from scheduler_svc.core.effects import BindPod
from scheduler_svc.core.events import BindFailed, BindFailure, BindSucceeded
from scheduler_svc.shell.clock import read_monotonic_seconds
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from scheduler_svc.shell.writes.binding_outcome import (
    Judgement,
    Outcome,
    PodState,
    Verdict,
    judge_error,
    judge_pod,
    judge_response,
)
from scheduler_svc.shell.writes.binding_request import encode_binding, pod_path
from scheduler_svc.shell.writes.concurrency import AdaptiveLimit
from scheduler_svc.shell.writes.work_queue import WorkQueue

BIND_TIMEOUT_SECONDS: Final = 30.0
LOOK_BUDGET_SECONDS: Final = 60.0
LOOK_TIMEOUT_SECONDS: Final = 10.0
RETRY_FIRST_SECONDS: Final = 0.2
RETRY_LIMIT_SECONDS: Final = 5.0
LOOK_RETRY_LIMIT_SECONDS: Final = 1.0
"""Shorter, since one asks for all: 32 that each waited 5 s would ask more often."""
_STOPPING: Final = "the scheduler is stopping"


class BinderStatistics(msgspec.Struct, frozen=True):
    """Counts since the start; the first three are of now.

    `failed_counts` is by `BindFailure`; `retried_count` counts POSTs that were repeated,
    `looked_count` those after which the Pod had to be read.
    """

    queued_count: int
    in_flight_count: int
    concurrency_limit: int
    succeeded_count: int
    failed_counts: dict[str, int]
    retried_count: int
    looked_count: int


def _nothing_to_withdraw(_uid: str) -> None:
    return None


class BindGuards(msgspec.Struct, frozen=True):
    """What is asked before a Binding is sent.

    Attributes
    ----------
    may_bind
        Whether our Lease is valid now.
    node_exists
        Whether the cache knows the Node.
    withdraw_condition
        `ConditionPatcher.withdraw`: a PodScheduled=False that is yet to be written, or
        on its way, must not overwrite what the Binding sets.
    """

    may_bind: Callable[[], bool]
    node_exists: Callable[[str], bool]
    withdraw_condition: Callable[[str], Awaitable[None] | None] = _nothing_to_withdraw


class Binder:
    """Carries out `BindPod`; an async context manager that owns its tasks.

    Parameters
    ----------
    pool, client
        For Bindings, and for reading Pods.
    report
        Gets the outcome of each effect, once; must not block or raise.
    activity
        Told of what is under way.
    bind_timeout_seconds
        For one POST; also how long a Binding that is refused with 429, or finds no
        connection, is tried again.
    dry_run
        Send nothing, and report success.
    """

    def __init__(
        self,
        pool: WritePool,
        client: KubeClient,
        *,
        guards: BindGuards,
        report: Callable[[Outcome], None],
        activity: BindingActivity,
        limit: AdaptiveLimit | None = None,
        bind_timeout_seconds: float = BIND_TIMEOUT_SECONDS,
        dry_run: bool = False,
    ) -> None:
        self._pool = pool
        self._client = client
        self._guards = guards
        self._report = report
        self._activity = activity
        self._limit = limit or AdaptiveLimit()
        self._timeout_seconds = bind_timeout_seconds
        self._is_dry_run = dry_run
        self._work = WorkQueue(
            self._carry_out, give_up=self._give_up, limit=lambda: self._limit.value
        )
        self._turn = asyncio.Lock()
        self._succeeded_count = 0
        self._failed_counts: Counter[str] = Counter()
        self._retried_count = 0
        self._looked_count = 0

    async def __aenter__(self) -> Self:
        await self._work.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._work.__aexit__(kind, error, trace)

    def submit(self, effect: BindPod) -> None:
        """Begin, or queue if as many as the limit allows are under way."""
        self._activity.begin()
        if self._is_dry_run:
            self._finish(BindSucceeded(effect.pod.uid))
        else:
            self._work.submit(effect)

    async def drain(self, timeout_seconds: float) -> None:
        """Send nothing more; wait for what is under way; report the rest as `NOT_LEADER`."""
        await self._work.drain(timeout_seconds)

    def statistics(self) -> BinderStatistics:
        """Count."""
        return BinderStatistics(
            queued_count=self._work.queued_count,
            in_flight_count=len(self._work) - self._work.queued_count,
            concurrency_limit=self._limit.value,
            succeeded_count=self._succeeded_count,
            failed_counts=dict(self._failed_counts),
            retried_count=self._retried_count,
            looked_count=self._looked_count,
        )

    def _give_up(self, effect: BindPod) -> None:
        self._finish(BindFailed(effect.pod.uid, BindFailure.NOT_LEADER, _STOPPING))

    def _finish(self, outcome: Outcome) -> None:
        self._activity.end()
        if isinstance(outcome, BindSucceeded):
            self._succeeded_count += 1
        else:
            self._failed_counts[outcome.failure] += 1
        self._report(outcome)

    async def _carry_out(self, effect: BindPod) -> None:
        text = f"{_STOPPING}, and the answer to the Binding has not come"
        outcome: Outcome = BindFailed(effect.pod.uid, BindFailure.NOT_LEADER, text)
        try:
            outcome = await self._bind(effect)
        finally:  # also when cancelled: every effect has its event
            self._finish(outcome)

    async def _bind(self, effect: BindPod) -> Outcome:
        uid = effect.pod.uid
        patched = self._guards.withdraw_condition(uid)
        if patched is not None:
            await patched
        backoff: Backoff | None = None
        give_up_seconds = read_monotonic_seconds() + self._timeout_seconds
        has_looked = False
        while (obstacle := self._find_obstacle(effect)) is None:
            judgement = await self._post(effect)
            if judgement.verdict is Verdict.BOUND:
                return BindSucceeded(uid)
            if judgement.verdict is Verdict.GONE:
                return BindFailed(uid, BindFailure.GONE, judgement.message)
            if judgement.verdict is Verdict.REFUSED:
                return BindFailed(uid, BindFailure.REFUSED, judgement.message)
            if judgement.verdict is Verdict.LOOK:
                self._looked_count += 1
                found = await self._look(effect, judgement.message)
                if found is not None:
                    return found
                if has_looked:
                    return BindFailed(uid, BindFailure.REFUSED, judgement.message)
                has_looked = True
            else:
                left_seconds = give_up_seconds - read_monotonic_seconds()
                if left_seconds <= 0:
                    return BindFailed(uid, BindFailure.REFUSED, judgement.message)
                backoff = backoff or _backoff_of(effect, limit_seconds=RETRY_LIMIT_SECONDS)
                await self._pause(
                    min(backoff.next_delay(judgement.retry_after_seconds), left_seconds)
                )
            self._retried_count += 1
        return obstacle

    def _find_obstacle(self, effect: BindPod) -> BindFailed | None:
        """Ask what must be asked before each POST."""
        if self._work.stopping.is_set():
            return BindFailed(effect.pod.uid, BindFailure.NOT_LEADER, _STOPPING)
        if not self._guards.may_bind():
            text = "the Lease may have another holder by now"
            return BindFailed(effect.pod.uid, BindFailure.NOT_LEADER, text)
        if not self._guards.node_exists(effect.node_name):
            text = f'node "{effect.node_name}" not found'
            return BindFailed(effect.pod.uid, BindFailure.NODE_GONE, text)
        return None

    async def _post(self, effect: BindPod) -> Judgement:
        sent_seconds = read_monotonic_seconds()
        try:
            response = await self._pool.post(
                f"{pod_path(effect.pod)}/binding",
                encode_binding(effect),
                resource="pods/binding",
                timeout_seconds=self._timeout_seconds,
                may_send=lambda: self._find_obstacle(effect) is None,
            )
        except KubeError as error:
            if isinstance(error, RequestTimeoutError):
                self._note_overload(sent_seconds)
            return judge_error(error)
        if response.status in (429, 503):
            self._note_overload(sent_seconds)
        elif response.ok:
            self._limit.succeeded(
                sent_seconds=sent_seconds,
                now_seconds=read_monotonic_seconds(),
                is_limiting=self._work.queued_count > 0,
            )
        return judge_response(response)

    def _note_overload(self, sent_seconds: float) -> None:
        self._limit.overloaded(sent_seconds=sent_seconds, now_seconds=read_monotonic_seconds())

    async def _look(self, effect: BindPod, why: str) -> Outcome | None:
        """Read the Pod until that works; None: it is not bound, and may be."""
        found = await self._read_pod(effect)
        if not isinstance(found, PodState) and _may_pass(found):
            found = await self._read_pod_in_turn(effect, found)
        if isinstance(found, PodState):
            return judge_pod(found, effect, why)
        if isinstance(found, NotFoundError):
            return BindFailed(effect.pod.uid, BindFailure.GONE, found.message)
        text = f"{why}; whether it was bound all the same cannot be read: {found}"
        return BindFailed(effect.pod.uid, BindFailure.REFUSED, text)

    async def _read_pod_in_turn(self, effect: BindPod, found: KubeError) -> PodState | KubeError:
        """Read the Pod until that works, or for long enough; give the last answer.

        While the server is away one asks for all. If each did, each try would need a
        connection: 3 % of a core for the 32 whose answers were lost when it went.
        """
        backoff = _backoff_of(effect, limit_seconds=LOOK_RETRY_LIMIT_SECONDS)
        answer: PodState | KubeError = found
        try:
            async with asyncio.timeout(LOOK_BUDGET_SECONDS):
                await asyncio.sleep(backoff.next_delay(found.retry_after_seconds))
                async with self._turn:
                    while True:
                        answer = await self._read_pod(effect)
                        if isinstance(answer, PodState) or not _may_pass(answer):
                            break
                        await asyncio.sleep(backoff.next_delay(answer.retry_after_seconds))
        except TimeoutError:
            return answer
        return answer

    async def _read_pod(self, effect: BindPod) -> PodState | KubeError:
        try:
            return await self._client.get_json(
                pod_path(effect.pod), PodState, timeout_seconds=LOOK_TIMEOUT_SECONDS
            )
        except KubeError as error:
            return error

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until the process stops."""
        try:
            async with asyncio.timeout(seconds):
                await self._work.stopping.wait()
        except TimeoutError:
            return


def _backoff_of(effect: BindPod, *, limit_seconds: float) -> Backoff:
    """Give delays that differ from Pod to Pod, so that those refused together part."""
    seed = crc32(f"{effect.pod.uid}/{effect.attempt}".encode())
    return Backoff(Jitter(seed), first_seconds=RETRY_FIRST_SECONDS, limit_seconds=limit_seconds)


def _may_pass(error: KubeError) -> bool:
    """Tell whether the same read may work later."""
    return not isinstance(error, ApiError) or isinstance(error, ServerError | TooManyRequestsError)
