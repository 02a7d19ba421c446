"""Never two leaders: candidates with bad clocks on a bad network, simulated event by event.

The server is what a Lease in Kubernetes is: one record, writes conditional on its
resourceVersion. Everything else goes wrong: requests and answers are delayed or lost, a request
is carried out long after its caller gave up, the watch lags, repeats, drops and
reorders, clocks are apart and run at different rates, processes stall.
"""

import heapq
from collections.abc import Callable
from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scheduler_svc.core.clock import Now
from scheduler_svc.core.leaderelection import (
    CreateLease,
    ElectionTiming,
    GetLease,
    LeaderElection,
    LeaseRecord,
    Stop,
    UpdateLease,
    Wait,
)

# The ratio of lease duration to renew deadline is 1.5; clock rates differ by less.
_MAX_RATE = 1.45


class World:
    """True time, the events to come, the Lease, and the candidates."""

    def __init__(self, seed: int, candidate_count: int) -> None:
        self.random = Random(seed)
        self.seconds = 0.0
        self.is_calm = False
        self.leaders_seen: set[str] = set()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._event_count = 0
        self._version = 0
        self.record: LeaseRecord | None = None
        self.candidates: list[Candidate] = []
        for _ in range(candidate_count):
            self.start_candidate()

    def start_candidate(self) -> None:
        self.candidates.append(Candidate(self, f"candidate-{len(self.candidates)}"))

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self._event_count += 1
        heapq.heappush(self._events, (self.seconds + seconds, self._event_count, call))

    def run_until(self, seconds: float) -> None:
        while self._events and self._events[0][0] <= seconds:
            self.seconds, _, call = heapq.heappop(self._events)
            call()
            self.check()
        self.seconds = seconds
        self.check()

    def check(self) -> None:
        leaders = [c.identity for c in self.candidates if c.election.is_leader(c.now())]
        assert len(leaders) <= 1, f"{leaders} lead at {self.seconds}"
        self.leaders_seen.update(leaders)

    def write(self, record: LeaseRecord) -> LeaseRecord | None:
        """Carry out a conditional write; None is a conflict."""
        present = "" if self.record is None else self.record.resource_version
        if record.resource_version != present:
            return None
        self._version += 1
        self.record = msgspec.structs.replace(record, resource_version=str(self._version))
        for candidate in self.candidates:
            if not candidate.is_lost():
                self.later(candidate.delay(), candidate.watch(self.record))
        return self.record


class Candidate:
    """A replica: its clocks, and a shell that carries out what its machine asks for."""

    def __init__(self, world: World, identity: str) -> None:
        self.world = world
        self.identity = identity
        self.rate = world.random.uniform(1, _MAX_RATE)
        self.monotonic_offset = world.random.uniform(0, 1000)
        self.wall_offset = world.random.uniform(-1e6, 1e6)
        self.election = LeaderElection(identity, timing=ElectionTiming(), seed="s")
        self._call_number = 0
        self._is_calling = False
        self._is_stopped = False
        self._longest_delay, self._loss = 0.1, 0.0
        self.change_weather()
        world.later(world.random.uniform(0, 10), self.step)

    def change_weather(self) -> None:
        """Let this candidate's network be good, slow, lossy or broken for a while."""
        weather = self.world.random.choice([(0.1, 0), (6, 0), (0.1, 0.5), (14, 0.3), (1, 1)])
        self._longest_delay, self._loss = (0.1, 0) if self.world.is_calm else weather
        self.world.later(self.world.random.uniform(2, 20), self.change_weather)

    def delay(self) -> float:
        return self.world.random.uniform(0.001, self._longest_delay)

    def is_lost(self) -> bool:
        return self.world.random.random() < self._loss

    def now(self) -> Now:
        elapsed = self.rate * self.world.seconds
        return Now(self.monotonic_offset + elapsed, self.wall_offset + self.world.seconds)

    def watch(self, record: LeaseRecord) -> Callable[[], None]:
        def observe() -> None:
            self.election.observe(record, self.now(), is_watched=True)
            self.step()

        return observe

    def step(self) -> None:
        if self._is_calling:
            return
        if not self.world.is_calm and self.world.random.random() < 0.005:
            self.election.release(self.now())
        sent = self.now()
        match self.election.next_action(sent):
            case Wait(until_seconds=until_seconds):
                wait = (until_seconds - sent.monotonic_seconds) / self.rate
                stall = self.delay() if self.is_lost() else 0.0
                self.world.later(max(wait, 0) + 1e-6 + stall, self.step)
            case GetLease(timeout_seconds=timeout_seconds):
                self.call(None, sent, timeout_seconds)
            case CreateLease(record, timeout_seconds) | UpdateLease(record, timeout_seconds):
                self.call(record, sent, timeout_seconds)
            case Stop():
                self.stop()

    def stop(self) -> None:
        """End the process; it is restarted under a new identity."""
        if not self._is_stopped:
            self._is_stopped = True
            self.world.start_candidate()

    def call(self, record: LeaseRecord | None, sent: Now, timeout_seconds: float) -> None:
        self._is_calling = True
        self._call_number += 1
        number = self._call_number

        def arrive() -> None:
            found = self.world.record if record is None else self.world.write(record)
            if not self.is_lost():
                self.world.later(self.delay(), lambda: self.answer(number, sent, record, found))

        if not self.is_lost():
            self.world.later(self.delay(), arrive)
        self.world.later(timeout_seconds / self.rate, lambda: self.time_out(number))

    def answer(
        self, number: int, sent: Now, record: LeaseRecord | None, found: LeaseRecord | None
    ) -> None:
        if number != self._call_number or not self._is_calling:
            return
        self._is_calling = False
        if record is None:
            self.election.observe(found, self.now())
        elif found is None:
            self.election.conflict(self.now())
        else:
            self.election.wrote(found, self.now(), sent=sent)
        self.step()

    def time_out(self, number: int) -> None:
        if number == self._call_number and self._is_calling:
            self._is_calling = False
            self.election.failed(self.now())
            self.step()


@given(seed=st.integers(0, 2**32), candidate_count=st.integers(2, 4))
def test_two_never_lead_at_once(seed: int, candidate_count: int) -> None:
    world = World(seed, candidate_count)
    world.run_until(200)


@given(seed=st.integers(0, 2**32))
def test_when_the_network_heals_someone_leads(seed: int) -> None:
    world = World(seed, 3)
    world.run_until(20)
    world.is_calm = True
    world.leaders_seen.clear()
    # The weather is good everywhere 20 s later, and what was under way arrives within 14 s
    # more; then 15 s by the slowest clock, and a call that must time out first.
    world.run_until(20 + 20 + 14 + 15 + 5)
    assert world.leaders_seen
    leaders = [c for c in world.candidates if c.election.is_leader(c.now())]
    assert len(leaders) == 1


def test_without_faults_the_first_candidate_leads_and_stays() -> None:
    world = World(1, 3)
    world.is_calm = True
    world.run_until(120)
    assert len(world.leaders_seen) == 1
