"""Takes part in the leader election: does what the machine in the core says.

The machine (`scheduler_svc.core.leaderelection`) decides; here are the calls it asks for,
on connections that nothing else uses, each no longer than the machine allows, and a
watch of the Lease, by which a standby learns at once that it has been released. Without
the watch (no right to it, say) the machine's own reads go on, a few seconds apart.

`may_bind` is the fence: it compares two numbers and asks nobody, so it is right at the
moment of asking even if every task of this module is stuck.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from zlib import crc32

from kubeio.changes import Deleted, Listed, ReflectorEvent
from kubeio.client import KubeClient
from kubeio.decoding import Query
from kubeio.errors import KubeError, NotFoundError
from kubeio.lease import LEASES, LeaseClient, LeaseConflict, LeaseObject
from kubeio.lease import LeaseRecord as ApiLeaseRecord
from kubeio.logs import fields
from kubeio.reflector import Reflector
from scheduler_svc.core.clock import Now
from scheduler_svc.core.leaderelection import (
    CreateLease,
    ElectionState,
    GetLease,
    LeaderElection,
    LeaseRecord,
    Stop,
    UpdateLease,
    Wait,
)
from scheduler_svc.shell.clock import read_now

Call = GetLease | CreateLease | UpdateLease

_logger = logging.getLogger(__name__)


class LeaseElection:
    """One candidate for one Lease.

    Parameters
    ----------
    client
        Its ``leases`` and ``watches`` lanes are used.
    machine
        Who we are and how long things last; owned from now on.
    on_leading, on_lost
        Called once each, at most; must not block or raise.

    Attributes
    ----------
    namespace, name
        Of the Lease; the name is the label of ``leader_election_master_status``.
    renewal_count, failure_count
        Writes that were acknowledged, and calls without an outcome, since the start.
    """

    def __init__(
        self,
        client: KubeClient,
        machine: LeaderElection,
        *,
        namespace: str,
        name: str,
        on_leading: Callable[[], None],
        on_lost: Callable[[], None],
        clock: Callable[[], Now] = read_now,
    ) -> None:
        self.namespace = namespace
        self.name = name
        self.renewal_count = 0
        self.failure_count = 0
        self._machine = machine
        self._on_leading = on_leading
        self._on_lost = on_lost
        self._clock = clock
        self._lease = LeaseClient(client, namespace=namespace, name=name)
        self._read_version = ""
        self._renewed_seconds: float | None = None
        self._heard_seconds: float | None = None
        self._announced_state = ElectionState.STANDBY
        self._announced_holder = ""
        self._wake = asyncio.Event()
        self._ended = asyncio.Event()
        self._ended.set()
        query: Query[LeaseObject] = Query(
            resource=LEASES.in_namespace(namespace),
            object_type=LeaseObject,
            field_selector=f"metadata.name={name}",
        )
        self._reflector: Reflector[LeaseObject] = Reflector(
            client, query, self._notice, seed=crc32(machine.identity.encode())
        )

    def may_bind(self) -> bool:
        """Tell whether our Lease is valid now: the fence. Cost: under 1 µs."""
        return self._machine.is_leader(self._clock())

    @property
    def is_leader(self) -> bool:
        """The same, for gauges."""
        return self.may_bind()

    @property
    def holder_identity(self) -> str:
        """Who holds the Lease, as far as is known; "" if nobody."""
        return self._machine.holder_identity

    @property
    def renewal_age_seconds(self) -> float | None:
        """Seconds since the last acknowledged renewal was sent; None on a standby."""
        if self._renewed_seconds is None or self._machine.state is not ElectionState.LEADING:
            return None
        return self._clock().monotonic_seconds - self._renewed_seconds

    @property
    def silence_seconds(self) -> float | None:
        """Seconds since the API server last told of the Lease, or `run` began; None before."""
        if self._heard_seconds is None:
            return None
        return self._clock().monotonic_seconds - self._heard_seconds

    async def run(self) -> ElectionState:
        """Compete until leadership is lost or released; give which of the two."""
        self._ended.clear()
        self._heard_seconds = self._clock().monotonic_seconds
        watch = asyncio.create_task(self._reflector.run(), name="watch the Lease")
        election = asyncio.create_task(self._compete(), name="compete for the Lease")
        try:
            await asyncio.wait((watch, election), return_when=asyncio.FIRST_COMPLETED)
            if not election.done():
                watch.result()  # it never ends by itself, unless by an error of ours
            return await election
        finally:
            self._ended.set()
            for task in (watch, election):
                task.cancel()
            await asyncio.gather(watch, election, return_exceptions=True)

    async def release(self) -> None:
        """Stop leading at once, give the Lease back, and wait until that is done or given up.

        All work under the Lease must have ended. Returns at once unless `run` is running.
        """
        self._machine.release(self._clock())
        self._wake.set()
        await self._ended.wait()

    async def _compete(self) -> ElectionState:
        _logger.info("Attempting to acquire leader lease", extra=fields(lease=self._key))
        while True:
            self._wake.clear()
            action = self._machine.next_action(self._clock())
            match action:
                case Stop():
                    self._announce()
                    return self._machine.state
                case Wait(until_seconds):
                    await self._sleep_until(until_seconds)
                case UpdateLease(record) if record.resource_version != self._read_version:
                    # Only the watch has shown it: what else is in it must be known to be kept.
                    await self._call(GetLease(action.timeout_seconds))
                case _:
                    await self._call(action)
            self._announce()

    async def _call(self, action: Call) -> None:
        sent = self._clock()
        try:
            # The time-out holds here too: reading a token, say, must not outlast it.
            async with asyncio.timeout(action.timeout_seconds):
                answer = await self._send(action)
        except (KubeError, TimeoutError) as error:
            if isinstance(error, NotFoundError) and isinstance(action, UpdateLease):
                self._machine.observe(None, self._clock())
                return
            self.failure_count += 1
            self._machine.failed(self._clock())
            text = str(error) or f"no answer within {action.timeout_seconds:.3g} s"
            _logger.warning("Lease call failed", extra=fields(lease=self._key, error=text))
        else:
            self._take_in(action, answer, sent)

    async def _send(self, action: Call) -> ApiLeaseRecord | LeaseConflict | None:
        timeout_seconds = action.timeout_seconds
        match action:
            case GetLease():
                return await self._lease.get(timeout_seconds=timeout_seconds)
            case CreateLease(record):
                return await self._lease.create(_to_api(record), timeout_seconds=timeout_seconds)
            case UpdateLease(record):
                return await self._lease.update(_to_api(record), timeout_seconds=timeout_seconds)

    def _take_in(
        self, action: Call, answer: ApiLeaseRecord | LeaseConflict | None, sent: Now
    ) -> None:
        now = self._clock()
        self._heard_seconds = now.monotonic_seconds
        if isinstance(answer, LeaseConflict):
            self._machine.conflict(now)
            return
        record = None if answer is None else _from_api(answer)
        self._read_version = "" if record is None else record.resource_version
        if record is None or isinstance(action, GetLease):
            self._machine.observe(record, now)
            return
        self.renewal_count += 1
        self._renewed_seconds = sent.monotonic_seconds
        self._machine.wrote(record, now, sent=sent)

    def _notice(self, event: ReflectorEvent[LeaseObject]) -> None:
        """Take in what the watch shows."""
        if isinstance(event, Listed):
            return
        record = None if isinstance(event, Deleted) else _from_api(event.object.record())
        now = self._clock()
        self._heard_seconds = now.monotonic_seconds
        self._machine.observe(record, now, is_watched=True)
        self._wake.set()

    def _announce(self) -> None:
        """Tell others and the log what has changed."""
        state, holder = self._machine.state, self._machine.holder_identity
        if holder != self._announced_holder:
            self._announced_holder = holder
            if holder:
                text = fields(lease=self._key, identity=holder)
                _logger.info("New leader elected", extra=text)
            else:
                _logger.info("The Lease is nobody's", extra=fields(lease=self._key))
        if state is self._announced_state:
            return
        self._announced_state = state
        if state is ElectionState.LEADING:
            _logger.info("Successfully acquired lease", extra=fields(lease=self._key))
            self._on_leading()
        elif state is ElectionState.LOST:
            _logger.error("Leaderelection lost", extra=fields(lease=self._key))
            self._on_lost()

    async def _sleep_until(self, until_seconds: float) -> None:
        left_seconds = until_seconds - self._clock().monotonic_seconds
        try:
            async with asyncio.timeout(left_seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    @property
    def _key(self) -> str:
        return f"{self.namespace}/{self.name}"


def _to_api(record: LeaseRecord) -> ApiLeaseRecord:
    return ApiLeaseRecord(
        holder_identity=record.holder_identity,
        lease_duration_seconds=record.lease_duration_seconds,
        acquire_time=_moment(record.acquire_time_seconds),
        renew_time=_moment(record.renew_time_seconds),
        lease_transitions=record.lease_transitions,
        resource_version=record.resource_version,
    )


def _from_api(record: ApiLeaseRecord) -> LeaseRecord:
    return LeaseRecord(
        holder_identity=record.holder_identity,
        lease_duration_seconds=record.lease_duration_seconds,
        acquire_time_seconds=_unix_seconds(record.acquire_time),
        renew_time_seconds=_unix_seconds(record.renew_time),
        lease_transitions=record.lease_transitions,
        resource_version=record.resource_version,
    )


def _moment(unix_seconds: float | None) -> datetime | None:
    """Give the time, None if there is none or it cannot be said: the Lease keeps what it has."""
    try:
        return None if unix_seconds is None else datetime.fromtimestamp(unix_seconds, UTC)
    except (ValueError, OverflowError, OSError):  # the last microsecond of 9999, as a float
        return None


def _unix_seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
