"""Leader election on a Lease: which replica may act, decided without a clock or a socket.

::

                 written in time               its time is over, or another holds it
    standby ─────────────────────▶ leading ───────────────────────────────────────────▶ lost
       │ release                      │ release
       ▼                              ▼
    released ◀── written, gave up ── releasing

Why two never lead at once: a leader acts until `renew_deadline` after it *sent* its last
acknowledged write, so for less than that after the write happened. A candidate takes
the Lease `lease_duration`, which is longer, after it *learned* of the last write, so
more than that after it happened; and as its own write names the resourceVersion that
it learned of, the server refuses it if there was a later write. Only differences of
times of one clock matter: clocks may be apart by any amount, and run at rates that differ
by less than the ratio of the two durations. The record's times are for people.

A lost answer makes nobody a leader. Lost is lost: what the process has begun may be at
odds with its successor, so it must end. One gap remains: when someone deletes the Lease, a
candidate that starts just then cannot know of the leader; others wait as if it were held.

The shell's monotonic clock must go on while the machine is suspended (CLOCK_BOOTTIME).

Source: client-go tools/leaderelection/leaderelection.go, v0.36.3. Differences: no read
before a renewal; a leader that sees another holder stops at once.
"""

from enum import Enum, auto
from math import ceil, inf
from typing import Final
from zlib import crc32

import msgspec

from scheduler_svc.core.clock import Now
from scheduler_svc.core.errors import InputError

_JITTER_FACTOR: Final = 1.2
_MAX_TRANSITIONS: Final = 2**31 - 1  # an int32; one more would be refused for ever


class LeaseRecord(msgspec.Struct, frozen=True):
    """What a Lease says. Times are Unix seconds, set by the holder's wall clock.

    An empty `holder_identity` means that the Lease was released.
    """

    holder_identity: str
    lease_duration_seconds: int
    acquire_time_seconds: float | None = None
    renew_time_seconds: float | None = None
    lease_transitions: int = 0
    resource_version: str = ""


class ElectionTiming(msgspec.Struct, frozen=True):
    """How long a Lease is respected, how long a leader tries to renew it, and how often.

    Raises `InputError`, naming every mistake, unless lease duration > renew deadline >
    1.2 * retry period > 0.
    """

    lease_duration_seconds: float = 15
    renew_deadline_seconds: float = 10
    retry_period_seconds: float = 2

    def __post_init__(self) -> None:
        lease, renew, retry = msgspec.structs.astuple(self)
        rules = (
            (retry > 0, f"retryPeriod {retry:g} s must be greater than 0"),
            (
                renew > _JITTER_FACTOR * retry,
                f"renewDeadline {renew:g} s must be greater than 1.2 times retryPeriod {retry:g} s",
            ),
            (lease > renew, f"leaseDuration {lease:g} s must exceed renewDeadline {renew:g} s"),
        )
        if mistakes := [text for is_kept, text in rules if not is_kept]:
            raise InputError("; ".join(mistakes))


class GetLease(msgspec.Struct, frozen=True):
    """Read the Lease; then `observe`, with None if there is none, or `failed`."""

    timeout_seconds: float


class CreateLease(msgspec.Struct, frozen=True):
    """Create the Lease; then `wrote`, `conflict` if there is one by now, or `failed`."""

    record: LeaseRecord
    timeout_seconds: float


class UpdateLease(msgspec.Struct, frozen=True):
    """Replace the Lease, provided it still has the record's resourceVersion.

    Then `wrote`, `conflict`, `observe` with None if the Lease is gone, or `failed`.
    """

    record: LeaseRecord
    timeout_seconds: float


class Wait(msgspec.Struct, frozen=True):
    """Nothing is to be done before this monotonic time, unless something is observed."""

    until_seconds: float


class Stop(msgspec.Struct, frozen=True):
    """Nothing is to be done any more: leadership is lost, or released."""


Action = GetLease | CreateLease | UpdateLease | Wait | Stop


class ElectionState(Enum):
    """Where a candidate is in its life; see the diagram above."""

    STANDBY = auto()
    LEADING = auto()
    LOST = auto()
    RELEASING = auto()
    RELEASED = auto()


_FINISHED: Final = frozenset({ElectionState.LOST, ElectionState.RELEASED})


class LeaderElection:
    """One candidate. `identity` must be unique to the process; `seed` spreads the retries."""

    def __init__(self, identity: str, *, timing: ElectionTiming, seed: str = "") -> None:
        if not identity:
            raise InputError("the identity of a candidate must not be empty")
        self.identity = identity
        self.timing = timing
        self._seed = seed
        self._draws = 0
        self._state = ElectionState.STANDBY
        self._record: LeaseRecord | None = None
        self._written: LeaseRecord | None = None
        # Monotonic times: until when we may act, from when on we may take the Lease,
        # before when we call nobody, when to read again, when to give up releasing.
        self._fence_seconds = -inf
        self._free_seconds = -inf
        self._rest_seconds = -inf
        self._poll_seconds = -inf
        self._give_up_seconds = inf
        self._called_seconds = -inf
        self._must_read = True
        self._may_have_written = False
        self._conflict_count = 0

    @property
    def state(self) -> ElectionState:
        """The state as of the last call."""
        return self._state

    @property
    def holder_identity(self) -> str:
        """Who holds the Lease, as far as is known; empty if nobody."""
        return "" if self._record is None else self._record.holder_identity

    def is_leader(self, now: Now) -> bool:
        """Whether we may act now: to be asked before each act, for time may have passed."""
        is_in_time = now.monotonic_seconds < self._fence_seconds
        return is_in_time and self._state is ElectionState.LEADING

    def next_action(self, now: Now) -> Action:
        """Say what to do now; report its outcome before asking again."""
        self._expire(now)
        if self._state is ElectionState.LEADING:
            return self._renew(now)
        if self._state is ElectionState.STANDBY:
            return self._try_to_acquire(now)
        if self._state is ElectionState.RELEASING:
            return self._give_back(now)
        return Stop()

    def observe(self, record: LeaseRecord | None, now: Now, *, is_watched: bool = False) -> None:
        """Take note of what the Lease is, or that there is none.

        A watch may lag behind our own writes, which is why an older record from it is
        ignored; what was read counts as the truth.
        """
        self._expire(now)
        if self._state in _FINISHED:
            return
        if not is_watched:
            self._must_read = self._may_have_written = False
        elif _is_older(record, self._record):
            return
        self._poll_seconds = now.monotonic_seconds + self._retry_seconds()
        self._adopt(record, now)

    def wrote(self, record: LeaseRecord, now: Now, *, sent: Now) -> None:
        """Take note that our write, sent at `sent`, was acknowledged with `record`."""
        self._expire(now)
        if self._state in _FINISHED:
            return
        self._must_read = self._may_have_written = False
        self._conflict_count = 0
        self._adopt(record, now)
        if self._state is ElectionState.RELEASING:
            if record.holder_identity != self.identity:
                self._state = ElectionState.RELEASED
        elif record.holder_identity == self.identity:
            self._written = record
            self._lead(now.monotonic_seconds, sent.monotonic_seconds)

    def conflict(self, now: Now) -> None:
        """Take note that our write was refused, because the Lease is another by now."""
        self._conflict_count += 1
        self._must_read = True
        if self._conflict_count > 1:
            self._rest_seconds = now.monotonic_seconds + self._retry_seconds()

    def failed(self, now: Now) -> None:
        """Take note that a call had no outcome: an error, a refusal, no answer in time."""
        rested_seconds = self._called_seconds + self._retry_seconds()
        self._rest_seconds = max(now.monotonic_seconds, rested_seconds)

    def release(self, now: Now) -> None:
        """Stop leading at once, and give the Lease back if we hold it or may do so.

        All work under the Lease must have ended. After `renew_deadline` it is given up.
        """
        self._expire(now)
        if self._state in _FINISHED or self._state is ElectionState.RELEASING:
            return
        if self.holder_identity != self.identity and not self._may_have_written:
            self._state = ElectionState.RELEASED
            return
        self._state = ElectionState.RELEASING
        self._must_read = self._must_read or self._may_have_written
        self._rest_seconds = now.monotonic_seconds
        self._give_up_seconds = now.monotonic_seconds + self.timing.renew_deadline_seconds

    def _expire(self, now: Now) -> None:
        if self._state is ElectionState.LEADING and now.monotonic_seconds >= self._fence_seconds:
            self._state = ElectionState.LOST

    def _adopt(self, record: LeaseRecord | None, now: Now) -> None:
        """Learn of a record; if it is a new one, its holder's time begins anew."""
        known, self._record = self._record, record
        if record == known:
            return
        # Whoever held a Lease that is gone may lead still.
        held = known if record is None else record
        if held is None or held.holder_identity in {"", self.identity}:
            self._free_seconds = -inf
        else:
            duration_seconds = held.lease_duration_seconds
            if duration_seconds <= 0:
                duration_seconds = ceil(self.timing.lease_duration_seconds)
            self._free_seconds = now.monotonic_seconds + duration_seconds
        is_ours = record is None or record.holder_identity == self.identity
        if self._state is ElectionState.LEADING and not is_ours:
            self._state = ElectionState.LOST

    def _lead(self, now_seconds: float, sent_seconds: float) -> None:
        self._rest_seconds = max(now_seconds, sent_seconds + self.timing.retry_period_seconds)
        fence_seconds = sent_seconds + self.timing.renew_deadline_seconds
        if now_seconds < fence_seconds:  # else the answer was too long under way to be of use
            self._state = ElectionState.LEADING
            self._fence_seconds = fence_seconds

    def _try_to_acquire(self, now: Now) -> Action:
        seconds = now.monotonic_seconds
        if seconds < self._rest_seconds:
            return Wait(self._rest_seconds)
        if seconds < self._free_seconds and not self._must_read:
            if seconds < self._poll_seconds:
                return Wait(min(self._free_seconds, self._poll_seconds))
            self._must_read = True
        return self._call(now, inf)

    def _renew(self, now: Now) -> Action:
        if now.monotonic_seconds < self._rest_seconds:
            return Wait(min(self._rest_seconds, self._fence_seconds))
        return self._call(now, self._fence_seconds)

    def _give_back(self, now: Now) -> Action:
        seconds = now.monotonic_seconds
        is_not_ours = self.holder_identity != self.identity and not self._must_read
        if is_not_ours or seconds >= self._give_up_seconds:
            self._state = ElectionState.RELEASED
            return Stop()
        if seconds < self._rest_seconds:
            return Wait(min(self._rest_seconds, self._give_up_seconds))
        return self._call(now, self._give_up_seconds)

    def _call(self, now: Now, deadline_seconds: float) -> Action:
        """Read if we have to, else write. A call may take half of the renew deadline."""
        self._called_seconds = now.monotonic_seconds
        timeout_seconds = min(
            self.timing.renew_deadline_seconds / 2, deadline_seconds - now.monotonic_seconds
        )
        if self._must_read:
            return GetLease(timeout_seconds)
        self._may_have_written = True
        record = self._next_record(now.wall_seconds)
        if self._record is None:
            return CreateLease(record, timeout_seconds)
        return UpdateLease(record, timeout_seconds)

    def _next_record(self, wall_seconds: float) -> LeaseRecord:
        """Give what to write: released, renewed, or taken over."""
        if self._record is not None:
            basis = self._record
        elif self._written is not None:  # the Lease is gone: go on as before
            basis = msgspec.structs.replace(self._written, resource_version="")
        else:
            basis = LeaseRecord(self.identity, 0, wall_seconds)
        if self._state is ElectionState.RELEASING:
            return msgspec.structs.replace(
                basis,
                holder_identity="",
                lease_duration_seconds=1,
                acquire_time_seconds=wall_seconds,
                renew_time_seconds=wall_seconds,
            )
        is_ours = basis.holder_identity == self.identity
        return msgspec.structs.replace(
            basis,
            holder_identity=self.identity,
            lease_duration_seconds=ceil(self.timing.lease_duration_seconds),
            acquire_time_seconds=basis.acquire_time_seconds if is_ours else wall_seconds,
            renew_time_seconds=wall_seconds,
            lease_transitions=min(basis.lease_transitions + (not is_ours), _MAX_TRANSITIONS),
        )

    def _retry_seconds(self) -> float:
        """Give a retry period; candidates, to avoid one another, wait up to 2.2 of them."""
        if self._state is not ElectionState.STANDBY:
            return self.timing.retry_period_seconds
        self._draws += 1
        digest = crc32(f"{self._seed}/{self.identity}/{self._draws}".encode())
        return self.timing.retry_period_seconds * (1 + _JITTER_FACTOR * digest / 2**32)


def _is_older(record: LeaseRecord | None, known: LeaseRecord | None) -> bool:
    """Whether `record` precedes `known`: resourceVersions of one object are ordered numbers."""
    if record is None or known is None:
        return False
    new, old = record.resource_version, known.resource_version
    return new.isdecimal() and old.isdecimal() and int(new) < int(old)
