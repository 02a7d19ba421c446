"""One Pod, one decision: which Node, or why none."""

from collections import Counter
from uuid import NAMESPACE_DNS, uuid5

import pytest

from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.effects import (
    AttemptResult,
    BindPod,
    EventType,
    PatchNomination,
    PatchPodCondition,
    PodReference,
    RecordEvent,
    ReportAttempt,
)
from scheduler_svc.core.framework.cluster_evaluation import ClassEvaluation
from scheduler_svc.core.framework.interface import Plugin, PreFilterResult, State
from scheduler_svc.core.framework.post_filter import (
    FailedAttempt,
    PostFilterPlugin,
    PostFilterResult,
)
from scheduler_svc.core.plugins.default_preemption import DefaultPreemption
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Place
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.core.status import SKIP, SUCCESS, Code, Status
from tests.builders import at, make_pod_info
from tests.scripted_plugins import (
    Filtering,
    Permitting,
    PostFiltering,
    PreBinding,
    PreFiltering,
    Reserving,
    Scoring,
    named,
)
from tests.unit.scheduler_svc.core.staging import (
    NeverHelped,
    Points,
    add,
    bound_to,
    decide,
    stage,
    step,
    the,
)

UNRESOLVABLE = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
NO = Status(Code.UNSCHEDULABLE, ("no",))
WAIT = Status(Code.WAIT)


def scoring(**scores: int) -> Scheduler:
    return stage({"score": [named("S", Scoring)(scores)]}, nodes=tuple(scores))


def rejectors(scheduler: Scheduler) -> tuple[set[str], set[str]]:
    queued = scheduler.queue.get("uid-a")
    assert queued is not None
    return set(queued.unschedulable_plugins), set(queued.pending_plugins)


def test_the_best_node_is_bound() -> None:
    assert bound_to(decide(scoring(n1=3, n2=7, n3=5), make_pod_info())) == "n2"


def test_a_witness_sees_the_choice_before_anything_has_changed_by_it() -> None:
    seen: list[tuple[str, str, list[int], bool]] = []

    def witness(pod: PodInfo, evaluation: ClassEvaluation, columns: NodeColumns, row: int) -> None:
        totals = evaluation.totals[columns.rows_of(["n1", "n2"])].tolist()
        seen.append((pod.key, columns.names[row], totals, pod.uid in scheduler.cache))

    points: Points = {"score": [named("S", Scoring)({"n1": 3, "n2": 7})]}
    scheduler = stage(points, nodes=("n1", "n2"), witness=witness)
    decide(scheduler, make_pod_info("a"))
    assert seen == [("default/a", "n2", [3, 7], False)]


def test_a_binding_says_who_decided_what_and_when() -> None:
    scheduler = stage(instance="host-1")
    pods = [make_pod_info(name, namespace="shop") for name in "abcdefghijk"]
    for pod in pods:
        add(scheduler, pod, 2)
    bindings = [the(BindPod, step(scheduler, 3.5)) for _ in pods]
    assert bindings[0] == BindPod(
        pod=PodReference("shop", "a", "uid-a"),
        scheduler_name="berthmaster",
        node_name="n1",
        decision_id="host-1-1",
        attempt=1,
        decided_at_seconds=at(3.5).wall_seconds,
        queue_wait_seconds=1.5,
        plugin="DefaultBinder",
    )
    assert bindings[-1].decision_id == "host-1-b"
    assert scheduler.statistics().assumed_pod_count == 11


def test_among_equals_seed_and_uid_decide() -> None:
    def nodes_of(seed: int) -> list[str]:
        scheduler = stage(nodes=("n1", "n2", "n3"), seed=seed)
        uids = [str(uuid5(NAMESPACE_DNS, str(i))) for i in range(60)]
        return [bound_to(decide(scheduler, make_pod_info(uid=uid))) for uid in uids]

    assert nodes_of(1) == nodes_of(1)
    assert nodes_of(1) != nodes_of(2)
    # Each Node gets 20 on average, with a standard deviation of 3.7.
    assert all(10 <= count <= 30 for count in Counter(nodes_of(1)).values())
    assert set(nodes_of(1)) == {"n1", "n2", "n3"}


def test_an_assumed_pod_takes_room_at_once() -> None:
    scheduler = stage()
    assert bound_to(decide(scheduler, make_pod_info("a", requests={"cpu": 3}))) == "n1"
    effects = decide(scheduler, make_pod_info("b", requests={"cpu": 3}))
    assert the(PatchPodCondition, effects).message == (
        "0/1 nodes are available: 1 Insufficient cpu."
    )


def test_a_pod_that_is_being_deleted_is_dropped() -> None:
    scheduler = stage()
    assert decide(scheduler, make_pod_info(is_terminating=True)) == [
        RecordEvent(
            PodReference("default", "a", "uid-a"),
            "berthmaster",
            EventType.WARNING,
            "FailedScheduling",
            "Scheduling",
            "skip schedule deleting pod: default/a",
        )
    ]
    assert scheduler.queue.place_of("uid-a") is None


def test_without_nodes_the_pod_is_tried_again_after_a_backoff() -> None:
    post_filter = named("P", PostFiltering)(Status(Code.UNSCHEDULABLE, ("not asked",)))
    scheduler = stage({"postFilter": [post_filter]}, nodes=())
    effects = decide(scheduler, make_pod_info())
    assert the(PatchPodCondition, effects).reason == "Unschedulable"
    assert the(PatchPodCondition, effects).message == "no nodes available to schedule pods"
    assert the(ReportAttempt, effects).result is AttemptResult.UNSCHEDULABLE
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF
    assert rejectors(scheduler) == (set(), set())


@pytest.mark.parametrize(
    ("nominated", "rejected", "expected"),
    [("n1", {}, "n1"), ("n1", {"n1": NO}, "n2"), ("unheard-of", {}, "n2"), ("", {}, "n2")],
)
def test_the_nominated_node_is_taken_if_the_pod_may_run_there(
    nominated: str, rejected: dict[str, Status], expected: str
) -> None:
    points: Points = {
        "filter": [named("F", Filtering)(rejected)],
        "score": [named("S", Scoring)({"n2": 100})],
    }
    scheduler = stage(points, nodes=("n1", "n2"))
    assert bound_to(decide(scheduler, make_pod_info(nominated=nominated))) == expected


def test_a_pod_that_fits_nowhere_waits_for_its_rejectors() -> None:
    waiting = Status(Code.PENDING, ("waiting",))
    filters = [
        named("First", Filtering)({"n1": NO}),
        named("Second", Filtering)({"n1": NO, "n2": waiting}),
    ]
    scheduler = stage({"filter": filters}, nodes=("n1", "n2"))
    effects = decide(scheduler, make_pod_info())
    assert the(PatchPodCondition, effects).message == ("0/2 nodes are available: 1 no, 1 waiting.")
    assert rejectors(scheduler) == ({"First"}, {"Second"})
    assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE


@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        ([Status(Code.UNSCHEDULABLE, ("a",)), Status(Code.UNSCHEDULABLE, ("b", "c"))], " a, b, c"),
        ([Status(Code.UNSCHEDULABLE, ("a",)), SUCCESS, Status(Code.UNSCHEDULABLE, ("b",))], ""),
        ([Status(UNRESOLVABLE, ("never",)), Status(Code.UNSCHEDULABLE, ("b",))], " never"),
        ([Status(Code.ERROR, ("not found",)), Status(Code.UNSCHEDULABLE, ("b",))], " not found"),
        ([Status(Code.UNSCHEDULABLE)], ""),
        ([], ""),
    ],
)
def test_what_post_filter_says_is_added(statuses: list[Status], message: str) -> None:
    plugins = [named(f"P{i}", PostFiltering)(status) for i, status in enumerate(statuses)]
    points: Points = {"filter": [named("F", Filtering)({"n1": NO})], "postFilter": plugins}
    effects = decide(stage(points), make_pod_info())
    assert the(PatchPodCondition, effects).message == f"0/1 nodes are available: 1 no.{message}"


def test_post_filter_sees_the_attempt() -> None:
    seen = []

    class Seeing(PostFilterPlugin):
        name = "Seeing"

        def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
            seen.append(attempt)
            return PostFilterResult(SUCCESS)

    points: Points = {"filter": [named("F", Filtering)({"n1": NO})], "postFilter": [Seeing()]}
    decide(stage(points), make_pod_info(), 7)
    [attempt] = seen
    assert attempt.pod.name == "a"
    assert attempt.now == at(7)
    assert attempt.cache.columns.names == ["n1"]
    assert [plugin.name for plugin, _ in attempt.prepared.filters] == ["F"]
    assert attempt.diagnosis.fit_error() == "0/1 nodes are available: 1 no."


def test_pre_filter_may_turn_the_pod_away() -> None:
    rejection = PreFilterResult(Status(UNRESOLVABLE, ("pod affinity terms conflict",)))
    scheduler = stage({"preFilter": [named("P", PreFiltering)(rejection)]})
    effects = decide(scheduler, make_pod_info(nominated="n1"))
    assert the(PatchPodCondition, effects).message == (
        "0/1 nodes are available: pod affinity terms conflict."
    )
    assert rejectors(scheduler) == ({"P"}, set())


def test_an_error_of_pre_filter_is_an_error_of_the_attempt() -> None:
    error = PreFilterResult(Status(Code.ERROR, ("broken",)))
    scheduler = stage({"preFilter": [named("P", PreFiltering)(error)]})
    effects = decide(scheduler, make_pod_info())
    condition = the(PatchPodCondition, effects)
    assert condition.reason == "SchedulerError"
    assert condition.message == 'running PreFilter plugin "P": broken'
    assert the(ReportAttempt, effects).result is AttemptResult.ERROR
    assert rejectors(scheduler) == (set(), set())
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF


def test_reserve_and_permit_are_asked_in_order() -> None:
    calls: list[str] = []
    points: Points = {
        "reserve": [named(name, Reserving)(calls) for name in ("A", "B")],
        "permit": [named(name, Permitting)(calls) for name in ("C", "D")],
    }
    assert bound_to(decide(stage(points), make_pod_info())) == "n1"
    assert calls == ["A reserve a n1", "B reserve a n1", "C permit a n1", "D permit a n1"]


class PickyReserve(Reserving, NeverHelped):
    """Reserve whose rejections no event undoes."""


class PickyPermit(Permitting, NeverHelped):
    """Permit whose rejections no event undoes."""


@pytest.mark.parametrize("point", ["reserve", "permit"])
@pytest.mark.parametrize(
    ("status", "unschedulable", "pending"),
    [
        (Status(Code.UNSCHEDULABLE, ("no", "way")), {"B"}, set()),
        (Status(UNRESOLVABLE, ("no", "way")), {"B"}, set()),
        (Status(Code.PENDING, ("no", "way")), set(), {"B"}),
    ],
)
def test_a_rejection_undoes_the_decision(
    point: str, status: Status, unschedulable: set[str], pending: set[str]
) -> None:
    calls: list[str] = []
    reserves = [named(name, Reserving)(calls) for name in ("A", "C")]
    points: Points = {
        "reserve": [reserves[0], named("B", PickyReserve)(calls, status), reserves[1]],
        "permit": [named("D", Permitting)(calls)],
    }
    if point == "permit":
        points = {
            "reserve": reserves,
            "permit": [named("B", PickyPermit)(calls, status), named("D", Permitting)(calls)],
        }
    scheduler = stage(points, nodes=("n1", "n2", "n3"))
    effects = decide(scheduler, make_pod_info())
    node = calls[0].split()[-1]
    # Only the one Node was looked at.
    assert the(PatchPodCondition, effects).message == ("0/1 nodes are available: 1 no, 1 way.")
    assert the(ReportAttempt, effects).result is AttemptResult.UNSCHEDULABLE
    assert rejectors(scheduler) == (unschedulable, pending)
    assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE
    assert scheduler.statistics().assumed_pod_count == 0
    if point == "reserve":
        undone = [f"{name} unreserve a {node}" for name in "CBA"]
        assert calls == [f"A reserve a {node}", f"B reserve a {node}", *undone]
    else:
        asked = [f"A reserve a {node}", f"C reserve a {node}", f"B permit a {node}"]
        assert calls == [*asked, f"C unreserve a {node}", f"A unreserve a {node}"]


@pytest.mark.parametrize("code", [Code.ERROR, Code.SKIP])
@pytest.mark.parametrize("point", ["Reserve", "Permit"])
def test_anything_else_is_an_error(point: str, code: Code) -> None:
    calls: list[str] = []
    status = Status(code, ("broken",))
    plugin: Plugin = named("B", Reserving)(calls, status)
    if point == "Permit":
        plugin = named("B", Permitting)(calls, status)
    scheduler = stage({point.lower(): [plugin]})
    effects = decide(scheduler, make_pod_info())
    condition = the(PatchPodCondition, effects)
    assert condition.reason == "SchedulerError"
    assert condition.message == f'running {point} plugin "B": broken'
    assert the(ReportAttempt, effects).node_name == "n1"
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF
    assert scheduler.statistics().assumed_pod_count == 0


def test_nobody_waits_for_more_than_15_minutes() -> None:
    calls: list[str] = []
    permits = [named("Long", Permitting)(calls, WAIT, 3600)]
    scheduler = stage({"permit": permits})
    patch = the(PatchNomination, decide(scheduler, make_pod_info(), seconds=10))
    assert patch.nominated_node_name == "n1"
    assert scheduler.next_deadline() == 10 + 15 * 60


class Clock:
    """A stopwatch that notes which plugins were asked."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str, str]] = []

    def read(self) -> float:
        return 0.0

    def note(
        self, extension_point: str, plugin: str, seconds: float, status: str = "Success"
    ) -> None:
        self.notes.append((extension_point, plugin, status))


def test_plugins_are_timed_if_somebody_wants_to_know() -> None:
    calls: list[str] = []
    scheduler = stage(
        {
            "score": [named("S", Scoring)({})],
            "postFilter": [DefaultPreemption()],
            "reserve": [named("R", Reserving)(calls)],
            "permit": [named("P", Permitting)(calls, SUCCESS)],
            "preBind": [named("B", PreBinding)(calls, SKIP)],
        }
    )
    clock = Clock()
    add(scheduler, make_pod_info())
    scheduler.step(at(0), clock)
    assert set(clock.notes[:-3]) >= {
        ("PreFilter", "NodeResourcesFit", "Success"),
        ("Filter", "NodeResourcesFit", "Success"),
        ("Score", "S", "Success"),
    }
    assert clock.notes[-3:] == [
        ("Reserve", "R", "Success"),
        ("Permit", "P", "Success"),
        ("PreBindPreFlight", "B", "Skip"),
    ]
    clock = Clock()
    add(scheduler, make_pod_info("large", requests={"cpu": 99}))
    scheduler.step(at(0), clock)
    assert clock.notes[-1] == ("PostFilter", "DefaultPreemption", "Unschedulable")


def test_a_failure_while_filtering_ends_the_attempt() -> None:
    class Failing(Filtering):
        def failure(self, state: State) -> Status | None:
            return Status(Code.ERROR, ("node n1: broken",))

    effects = decide(stage({"filter": [named("F", Failing)()]}), make_pod_info())
    condition = the(PatchPodCondition, effects)
    assert (condition.reason, condition.message) == ("SchedulerError", "node n1: broken")
