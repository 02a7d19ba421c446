"""Whatever tells of a Pod, in whatever order and however often: one journey comes of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from node_agent.core.journey.clock_skew import ClockSkew
from node_agent.core.journey.journey import FileTimes, Journey, identify
from node_agent.core.journey.journeys import FINISHED_LIMIT, Journeys
from node_agent.core.journey.marks import MarkKind, best_marks
from node_agent.core.journey.phases import PHASES, Phase, Span, phase_span
from node_agent.core.journey.startup import SkipReason, Startup
from node_agent.core.journey.timeline import timeline_of
from node_agent.core.objects import Pod
from node_agent.core.operations import Operation, Source
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.journey.stages import condition, nanoseconds, stamp
from tests.unit.node_agent.core.journey.test_pulls import PRESENT, WAITED, pulled
from tests.unit.node_agent.core.pods import at, make_pod

SECOND = 1_000_000_000
SPEC = {"containers": [{"name": "c"}, {"name": "d"}], "initContainers": [{"name": "i"}]}

BORN_BOUND = make_pod(spec={**SPEC, "nodeName": "n"}, status={"phase": "Pending"})

Observation = Callable[[Journey], object]
seconds = st.integers(0, 900)
moments = st.floats(0, 900, allow_nan=False)


@st.composite
def container_statuses(draw: st.DrawFn) -> list[dict[str, Any]]:
    made = []
    for name in draw(st.sets(st.sampled_from("cd"))):
        start = draw(seconds)
        made.append(
            stages.ended(name, start, start + draw(seconds))
            if draw(st.booleans())
            else stages.started(name, start, before=draw(st.none() | seconds))
        )
    return made


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """Give a Pod in any state, be it one that no kubelet would write."""
    types = draw(st.sets(st.sampled_from(["PodReadyToStartContainers", "Initialized", "Ready"])))
    start = draw(seconds)
    status: dict[str, Any] = {
        "phase": draw(st.sampled_from(["Pending", "Running", "Succeeded", "Failed"])),
        "conditions": [
            condition(type_, draw(seconds), draw(st.sampled_from(["True", "False"])))
            for type_ in sorted(types)
        ],
        "containerStatuses": draw(container_statuses()),
        "initContainerStatuses": [stages.ended("i", start, start + draw(seconds))],
    }
    if draw(st.booleans()):
        status["startTime"] = stamp(draw(seconds))
    fields: dict[str, Any] = {}
    if draw(st.booleans()):
        fields = {"deletionTimestamp": stamp(draw(seconds)), "deletionGracePeriodSeconds": 30}
    return stages.pod_with(status, spec=SPEC, **fields)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    pod, moment = draw(pods()), nanoseconds(draw(moments))
    times = FileTimes(moment, moment + draw(seconds), {"c": moment, "d": moment + 1})
    events = [
        pulled(name, draw(seconds), draw(st.sampled_from([WAITED, PRESENT]))) for name in "cdi"
    ]
    choices: list[Observation] = [
        lambda journey: journey.observe(pod, moment),
        lambda journey: journey.observe_before(pod),
        lambda journey: journey.observe_kubelet(pod),
        lambda journey: journey.observe(BORN_BOUND, moment),
        lambda journey: journey.observe_files(times),
        lambda journey: journey.observe_events(events[: len(pod.status.conditions)]),
        lambda journey: journey.observe_gone(moment),
    ]
    return choices[draw(st.integers(0, len(choices) - 1))]


def journey_after(told: list[Observation]) -> Journey:
    journey = Journey(identify(stages.bound(spec=SPEC), "api"))
    for observe in told:
        observe(journey)
    return journey


@settings(max_examples=60)
@given(st.data(), st.lists(observations(), min_size=1, max_size=6))
def test_any_order_gives_the_same_journey(data: st.DataObject, told: list[Observation]) -> None:
    other = data.draw(st.permutations(told)) + data.draw(st.lists(st.sampled_from(told)))
    first, second = journey_after(told), journey_after(other)
    assert first.marks == second.marks
    assert timeline_of(first, node_name="n") == timeline_of(second, node_name="n")


@given(st.dictionaries(st.sampled_from(MarkKind), st.integers(0, 10 * SECOND)))
def test_a_negative_duration_always_says_why(marks: dict[MarkKind, int]) -> None:
    best = best_marks(marks)
    for phase in PHASES:
        span = phase_span(phase, best)
        if span is None:
            continue
        assert (span.nanoseconds < 0) == (span.negative_cause is not None)
        assert span.error_nanoseconds <= SECOND


@given(st.integers(-5 * SECOND, 5 * SECOND), st.lists(st.integers(0, 900 * SECOND), min_size=1))
def test_the_true_skew_lies_within_the_bounds(difference: int, moments: list[int]) -> None:
    """Clocks that really differ by `difference`, answers and receipts with some latency."""
    skew = ClockSkew()
    for number, moment in enumerate(moments):
        latency = number * 7_000_000
        node = moment + difference
        skew.add_answer(node - latency, node + latency // 2, moment // SECOND)
        skew.add_receipt(node + latency, moment // SECOND * SECOND)
    estimate = skew.estimate()
    assert estimate is not None
    assert estimate.low_nanoseconds is not None
    assert estimate.low_nanoseconds <= difference <= estimate.high_nanoseconds
    assert skew.contradiction_count == 0


@dataclass
class Ledger:
    """Counts what is counted, and whether any Pod is counted twice."""

    phases: list[tuple[Phase, Span]] = field(default_factory=list)
    startup_count: int = 0
    skips: list[SkipReason] = field(default_factory=list)

    def phase(self, phase: Phase, span: Span, workload_kind: str) -> None:
        assert workload_kind == "none"
        self.phases.append((phase, span))

    def startup(self, startup: Startup, workload_kind: str) -> None:
        assert workload_kind == "none"
        self.startup_count += 1
        assert startup.total_nanoseconds is not None

    def skipped(self, reason: SkipReason) -> None:
        self.skips.append(reason)


OPERATIONS = [Operation.ADD, Operation.UPDATE, Operation.DELETE, Operation.RECONCILE]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(pods(), st.sampled_from(OPERATIONS), seconds), max_size=8),
    st.integers(0, 8),
    st.booleans(),
)
def test_each_figure_of_a_pod_is_counted_once_at_most(
    told: list[tuple[Pod, Operation, int]], listed_after: int, is_removed: bool
) -> None:
    ledger = Ledger()
    journeys = Journeys(ledger, finished_limit=3)
    moment = 0
    for number, (pod, operation, wait) in enumerate(told):
        if number == listed_after:
            journeys.source_listed(Source.API, at(moment))
        journeys.pod_operation(operation, Source.API, pod, at(moment))
        moment += wait
        deadline = journeys.next_deadline()
        journeys.expire(at(moment))
        if deadline is not None and deadline <= at(moment).monotonic_seconds:
            assert journeys.next_deadline() != deadline
    if told and is_removed:
        journeys.pod_operation(Operation.REMOVE, Source.API, told[-1][0], at(moment))
    journeys.expire(at(moment + 100))
    assert journeys.next_deadline() is None
    names = [phase.name for phase, _ in ledger.phases]
    assert len(names) == len(set(names))
    assert ledger.startup_count <= 1
    assert journeys.clock_jump_count == 0
    assert sum(journeys.counts()) == bool(told)


@given(st.lists(st.integers(0, 50), max_size=60))
def test_memory_is_bounded(uids: list[int]) -> None:
    journeys = Journeys(Ledger(), finished_limit=5)
    journeys.source_listed(Source.API, at(0))
    for second, uid in enumerate(uids):
        pod = stages.bound(uid=f"u{uid}")
        journeys.pod_operation(Operation.ADD, Source.API, pod, at(second))
        journeys.pod_operation(Operation.REMOVE, Source.API, pod, at(second))
    live, finished = journeys.counts()
    assert live == 0
    assert finished == min(len(set(uids)), 5)
    assert len(journeys._reported) <= finished
    assert len(journeys._due) <= (len(PHASES) + 1) * finished


def test_the_last_thousand_are_kept() -> None:
    assert FINISHED_LIMIT == 1000
