"""Which Pods are timed, when a phase is counted, and how much is kept."""

import tracemalloc
from dataclasses import dataclass, field

from node_agent.core.clock import Now
from node_agent.core.journey.journey import FileTimes
from node_agent.core.journey.journeys import SETTLE_SECONDS, Journeys
from node_agent.core.journey.marks import MarkKind
from node_agent.core.journey.phases import Phase, Span
from node_agent.core.journey.startup import SkipReason, Startup
from node_agent.core.objects import Pod
from node_agent.core.operations import Operation, Source
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.journey.stages import nanoseconds
from tests.unit.node_agent.core.journey.test_pulls import pulled
from tests.unit.node_agent.core.pods import at, make_mirror, make_pod

ADD, UPDATE, REMOVE = Operation.ADD, Operation.UPDATE, Operation.REMOVE
SECOND = 1_000_000_000


@dataclass
class Report:
    """What was counted."""

    phases: dict[str, Span] = field(default_factory=dict)
    startups: list[Startup] = field(default_factory=list)
    skips: list[SkipReason] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)

    def phase(self, phase: Phase, span: Span, workload_kind: str) -> None:
        assert phase.name not in self.phases
        self.phases[phase.name] = span
        self.kinds.add(workload_kind)

    def startup(self, startup: Startup, workload_kind: str) -> None:
        self.startups.append(startup)
        self.kinds.add(workload_kind)

    def skipped(self, reason: SkipReason) -> None:
        self.skips.append(reason)


class DeafReport(Report):
    """Counts nothing."""

    def phase(self, phase: Phase, span: Span, workload_kind: str) -> None:
        pass


def started_agent(report: Report, *, finished_limit: int = 10) -> Journeys:
    """Give journeys of an agent whose sources are all listed already."""
    journeys = Journeys(report, finished_limit=finished_limit)
    for source in Source:
        journeys.source_listed(source, at(0))
    return journeys


def static_pod(uid: str, kubelet: float | None = None) -> Pod:
    annotations = {"kubernetes.io/config.source": "file"}
    if kubelet is not None:
        annotations["kubernetes.io/config.seen"] = f"2026-06-01T12:00:{kubelet:012.9f}Z"
    return make_pod("etcd-n", uid=uid, annotations=annotations)


def kubelet_seen(journeys: Journeys, uid: str) -> int | None:
    journey = journeys.journey(uid)
    assert journey is not None
    return journey.marks.get(MarkKind.KUBELET_SEEN)


def test_a_phase_is_counted_once_it_has_settled() -> None:
    report = Report()
    journeys = started_agent(report)
    assert journeys.next_deadline() is None
    journeys.pod_operation(ADD, Source.API, stages.bound(), at(2))
    assert journeys.next_deadline() == at(2 + SETTLE_SECONDS).monotonic_seconds
    journeys.kubelet_listed([stages.kubelet_copy()], at(3))
    journeys.expire(at(2 + SETTLE_SECONDS))
    assert set(report.phases) == {"before_queue", "queue", "scheduling", "binding"}
    assert report.phases["queue"].nanoseconds == SECOND // 4
    journeys.expire(at(3 + SETTLE_SECONDS))
    assert report.phases["decided_to_kubelet_seen"].nanoseconds == SECOND * 7 // 8
    assert report.kinds == {"none"}
    assert journeys.next_deadline() is None


def test_a_way_is_counted_once_however_often_it_is_told() -> None:
    report = Report()
    journeys = started_agent(report)
    for second, pod in ((2, stages.bound()), (6, stages.running()), (7, stages.ready())):
        operation = ADD if second == 2 else Operation.RECONCILE
        journeys.pod_operation(operation, Source.API, pod, at(second))
        journeys.pod_operation(Operation.RECONCILE, Source.API, pod, at(second))
        journeys.pod_observed(pod, at(second))
    journeys.expire(at(60))
    journeys.pod_operation(UPDATE, Source.API, stages.ready(), at(61))
    journeys.expire(at(90))
    assert len(report.startups) == 1
    assert report.startups[0].total_nanoseconds == 6 * SECOND
    assert report.phases["readiness"].nanoseconds == SECOND


def test_slower_evidence_is_in_when_it_is_counted() -> None:
    report = Report()
    journeys = started_agent(report)
    journeys.pod_operation(ADD, Source.API, stages.running(), at(6))
    times = FileTimes(nanoseconds(2.5), nanoseconds(2.75))
    journeys.files_read(stages.UID, times, at(7))
    journeys.events_read(stages.UID, [pulled("c", 4)], at(8))
    journeys.expire(at(30))
    assert "volumes_and_sandbox" not in report.phases
    assert report.phases["volumes"].nanoseconds == SECOND // 4
    assert report.startups[0].sli_nanoseconds == SECOND * 7 // 2
    journey = journeys.journey(stages.UID)
    assert journey is not None
    assert journey.are_files_read
    assert journey.are_events_read


def test_what_is_read_too_early_is_read_again() -> None:
    journeys = started_agent(Report())
    journeys.pod_operation(ADD, Source.API, stages.bound(), at(2))
    journeys.files_read(stages.UID, FileTimes(), at(2))
    journeys.events_read(stages.UID, [], at(2))
    (journey,) = journeys.live()
    assert not journey.are_files_read
    assert not journey.are_events_read
    journeys.pod_operation(UPDATE, Source.API, stages.running(), at(6))
    journeys.events_read(stages.UID, [], at(6))
    assert not journey.are_events_read


def test_files_are_read_no_longer_of_a_pod_that_was_restarted_again_and_again() -> None:
    journeys = started_agent(Report())
    status = {"containerStatuses": [stages.started("c", 500, before=400, restarts=9)]}
    journeys.pod_operation(ADD, Source.API, stages.pod_with(status), at(501))
    journeys.files_read(stages.UID, FileTimes(), at(502))
    (journey,) = journeys.live()
    assert journey.are_files_read


def test_what_is_told_of_a_pod_that_is_gone() -> None:
    journeys = started_agent(Report())
    journeys.files_read("other", FileTimes(), at(1))
    journeys.events_read("other", [], at(1))
    journeys.kubelet_listed([stages.kubelet_copy()], at(1))
    journeys.pod_operation(REMOVE, Source.API, stages.bound(), at(1))
    assert journeys.counts() == (0, 0)


def test_pods_that_were_there_before_the_agent_are_no_new_journeys() -> None:
    report = Report()
    journeys = Journeys(report)
    journeys.pod_operation(ADD, Source.API, stages.running(), at(600))
    journeys.source_listed(Source.API, at(600))
    journeys.pod_operation(Operation.RECONCILE, Source.API, stages.ready(), at(601))
    journeys.expire(at(700))
    assert (report.phases, report.startups) == ({}, [])
    assert report.skips == [SkipReason.AGENT_RESTART]
    assert journeys.next_deadline() is None


def test_one_that_was_bound_before_and_starts_after_counts_without_its_receipt() -> None:
    report = Report()
    journeys = Journeys(report)
    journeys.pod_operation(ADD, Source.API, stages.bound(), at(2))
    journeys.source_listed(Source.API, at(2))
    journeys.pod_operation(UPDATE, Source.API, stages.ready(), at(6.5))
    journeys.expire(at(30))
    assert report.skips == []
    assert report.phases["created_to_ready"].nanoseconds == 6 * SECOND
    (journey,) = journeys.live()
    assert MarkKind.AGENT_SEEN not in journey.marks


def test_a_pod_that_is_gone_is_kept_and_still_counted() -> None:
    report = Report()
    journeys = started_agent(report)
    journeys.pod_operation(ADD, Source.API, stages.ready(), at(7))
    journeys.pod_operation(Operation.DELETE, Source.API, stages.deleting(), at(20.5))
    journeys.pod_operation(REMOVE, Source.API, stages.deleting(), at(23))
    journeys.pod_gone(stages.UID, at(23))
    assert journeys.counts() == (0, 1)
    journeys.expire(at(40))
    assert report.phases["removal"].nanoseconds == SECOND * 5 // 2
    assert [j.identity.uid for j in journeys.all()] == [stages.UID]


def test_only_the_last_are_kept_and_none_is_lost_uncounted() -> None:
    report = Report()
    journeys = started_agent(report, finished_limit=2)
    for number in range(4):
        pod = stages.bound(uid=f"u{number}")
        journeys.pod_operation(ADD, Source.API, pod, at(2 + number))
        if number == 0:
            journeys.expire(at(2 + SETTLE_SECONDS))
            report.phases.clear()
        journeys.pod_operation(REMOVE, Source.API, pod, at(2 + number))
    # u0 had been counted; u1 is counted as it is dropped.
    assert "scheduling" in report.phases
    assert [j.identity.uid for j in journeys.all()] == ["u2", "u3"]
    assert journeys.journey("u1") is None


def test_found_by_name_the_live_one_first() -> None:
    journeys = started_agent(Report())
    assert journeys.named("default", "a") is None
    for uid in ("u1", "u2", "u3"):
        journeys.pod_operation(ADD, Source.API, stages.bound(uid=uid), at(2))
    for uid in ("u1", "u2"):
        journeys.pod_operation(REMOVE, Source.API, stages.bound(uid=uid), at(3))
    named = journeys.named("default", "a")
    assert named is not None
    assert named.identity.uid == "u3"
    journeys.pod_operation(REMOVE, Source.API, stages.bound(uid="u3"), at(4))
    named = journeys.named("default", "a")
    assert named is not None
    assert named.identity.uid == "u3"
    assert journeys.named("other", "a") is None


def test_mirror_pods_have_no_way_of_their_own() -> None:
    journeys = started_agent(Report())
    journeys.pod_operation(ADD, Source.API, make_mirror("etcd-n"), at(1))
    assert journeys.counts() == (0, 0)


def test_a_static_pod_is_found_by_name() -> None:
    journeys = started_agent(Report())
    journeys.pod_operation(ADD, Source.FILE, static_pod("ours"), at(1))
    (journey,) = journeys.live()
    assert journeys.kubelet_uid(journey) is None
    journeys.kubelet_listed([static_pod("theirs", 1.5)], at(3))
    assert kubelet_seen(journeys, "ours") == nanoseconds(1.5)
    assert journeys.kubelet_uid(journey) == "theirs"


def test_what_a_manifest_says_of_a_past_is_another_pods() -> None:
    """It may have been made of a Pod's YAML, with its times and its decision."""
    status = {
        "startTime": stages.stamp(-900),
        "conditions": [stages.condition("PodScheduled", -900), stages.condition("Ready", -890)],
        "containerStatuses": [stages.started("c", -899)],
    }
    annotations = {"kubernetes.io/config.source": "file", **stages.decided(-901, attempt="3")}
    pod = make_pod("a", status=status, annotations=annotations, creationTimestamp=stages.stamp(0))
    for is_there_before in (False, True):
        journeys = Journeys(Report()) if is_there_before else started_agent(Report())
        journeys.pod_operation(ADD, Source.FILE, pod, at(1))
        (journey,) = journeys.live()
        assert journey.marks == ({} if is_there_before else {MarkKind.AGENT_SEEN: nanoseconds(1)})
        assert journey.attempt is None
        assert journey.is_measured


def test_the_kubelets_status_of_a_static_pod_is_taken_each_time() -> None:
    journeys = started_agent(Report())
    journeys.pod_operation(ADD, Source.FILE, static_pod("ours"), at(1))
    journeys.kubelet_listed([static_pod("theirs", 1.5)], at(3))
    started = {"startTime": stages.stamp(2)}
    annotations = static_pod("theirs", 1.5).metadata.annotations
    later = make_pod("etcd-n", uid="theirs", annotations=annotations, status=started)
    for second in (4, 5):
        journeys.kubelet_listed([later], at(second))
    (journey,) = journeys.live()
    assert journey.marks[MarkKind.SYNC_STARTED_KUBELET] == nanoseconds(2)


def test_a_kubelet_that_was_restarted_has_seen_a_pod_before() -> None:
    journeys = started_agent(Report())
    journeys.pod_operation(ADD, Source.API, stages.bound(), at(2))
    journeys.kubelet_listed([stages.kubelet_copy(2.5)], at(3))
    journeys.kubelet_listed([stages.kubelet_copy(60)], at(61))
    assert kubelet_seen(journeys, stages.UID) == nanoseconds(2.5)


def test_an_api_pods_uid_is_the_kubelets() -> None:
    journeys = started_agent(Report())
    journeys.pod_operation(ADD, Source.API, stages.bound(), at(1))
    (journey,) = journeys.live()
    assert journeys.kubelet_uid(journey) == stages.UID


def test_what_the_kubelet_still_shows_of_an_old_manifest_is_passed_over() -> None:
    journeys = started_agent(Report())
    journeys.pod_operation(ADD, Source.FILE, static_pod("ours-1"), at(1))
    journeys.kubelet_listed([static_pod("theirs-1", 1.5)], at(3))
    journeys.pod_operation(REMOVE, Source.FILE, static_pod("ours-1"), at(10))
    journeys.kubelet_listed([static_pod("theirs-1", 1.5)], at(10))
    journeys.pod_operation(ADD, Source.FILE, static_pod("ours-2"), at(10))
    journeys.kubelet_listed([static_pod("theirs-1", 1.5)], at(11))
    assert kubelet_seen(journeys, "ours-2") is None
    journeys.kubelet_listed([static_pod("theirs-2", 20)], at(21))
    assert kubelet_seen(journeys, "ours-2") == nanoseconds(20)


def test_a_manifest_that_was_put_back_unchanged_is_found_in_the_kubelet_again() -> None:
    """As static Pods are restarted: the kubelet's uid, a hash, is the same as before."""
    journeys = started_agent(Report())
    journeys.pod_operation(ADD, Source.FILE, static_pod("ours"), at(1))
    journeys.kubelet_listed([static_pod("theirs", 1.5)], at(3))
    journeys.pod_operation(REMOVE, Source.FILE, static_pod("ours"), at(10))
    journeys.pod_operation(ADD, Source.FILE, static_pod("ours"), at(11))
    journeys.kubelet_listed([static_pod("theirs", 1.5)], at(11))
    assert kubelet_seen(journeys, "ours") is None
    journeys.kubelet_listed([static_pod("theirs", 11.5)], at(12))
    assert kubelet_seen(journeys, "ours") == nanoseconds(11.5)
    (journey,) = journeys.live()
    assert journeys.kubelet_uid(journey) == "theirs"


def test_nothing_is_kept_of_manifests_that_neither_side_has() -> None:
    journeys = started_agent(DeafReport(), finished_limit=1)
    annotations = static_pod("x", 1.5).metadata.annotations
    web = make_pod("web-n", uid="web", annotations=annotations)
    before = 0
    tracemalloc.start()
    try:
        for number in range(2000):
            pod = make_pod(f"{number}-n", uid=f"ours-{number}", annotations=annotations)
            journeys.pod_operation(ADD, Source.FILE, pod, at(number))
            journeys.kubelet_listed([pod, web], at(number))
            journeys.pod_operation(REMOVE, Source.FILE, pod, at(number))
            journeys.kubelet_listed([web], at(number))
            if number == 1000:
                before, _ = tracemalloc.get_traced_memory()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 50_000


def test_a_static_pod_that_was_renamed_under_its_uid_is_gone_by_both_names() -> None:
    journeys = started_agent(Report())
    journeys.pod_operation(ADD, Source.FILE, static_pod("ours"), at(1))
    annotations = static_pod("ours").metadata.annotations
    renamed = make_pod("web-n", uid="ours", annotations=annotations)
    journeys.pod_operation(UPDATE, Source.FILE, renamed, at(2))
    journeys.pod_operation(REMOVE, Source.FILE, renamed, at(3))
    journeys.kubelet_listed([static_pod("theirs", 1.5)], at(4))
    assert journeys.counts() == (0, 1)
    assert kubelet_seen(journeys, "ours") is None


def test_a_static_pod_that_the_kubelet_never_had() -> None:
    journeys = started_agent(Report())
    journeys.pod_operation(ADD, Source.FILE, static_pod("ours-1"), at(1))
    journeys.pod_operation(ADD, Source.FILE, static_pod("ours-2"), at(2))
    journeys.pod_operation(REMOVE, Source.FILE, static_pod("ours-1"), at(2))
    journeys.pod_operation(REMOVE, Source.FILE, static_pod("ours-2"), at(3))
    assert journeys.counts() == (0, 2)


def test_a_clock_that_was_set_spoils_the_ways_under_way() -> None:
    report = Report()
    journeys = started_agent(report)
    journeys.pod_operation(ADD, Source.API, stages.bound(), at(2))
    assert journeys.skew.estimate() is not None
    later = at(7)
    set_back = Now(later.monotonic_seconds, later.wall_nanoseconds - 3600 * SECOND)
    journeys.pod_operation(UPDATE, Source.API, stages.ready(), set_back)
    assert journeys.clock_jump_count == 1
    assert journeys.skew.estimate() is None
    journeys.expire(Now(set_back.monotonic_seconds + 60, set_back.wall_nanoseconds + 60 * SECOND))
    assert report.skips == [SkipReason.CLOCK_SET]
    assert (report.phases, report.startups) == ({}, [])
    assert journeys.clock_jump_count == 1


def test_a_clock_that_is_set_twice_is_told_once_for_each_pod() -> None:
    report = Report()
    journeys = Journeys(report)
    journeys.pod_operation(ADD, Source.API, stages.running(), at(2))
    journeys.source_listed(Source.API, at(2))
    journeys.pod_operation(ADD, Source.API, stages.bound(uid="new"), at(3))
    for shift in (10, -10):
        now = at(4)
        journeys.expire(Now(now.monotonic_seconds, now.wall_nanoseconds + shift * SECOND))
    assert journeys.clock_jump_count == 2
    assert report.skips == [SkipReason.AGENT_RESTART, SkipReason.CLOCK_SET]


def test_a_clock_that_is_slewed_is_not_one_that_was_set() -> None:
    journeys = started_agent(Report())
    later = at(600)
    journeys.expire(Now(later.monotonic_seconds, later.wall_nanoseconds + SECOND // 2))
    assert journeys.clock_jump_count == 0


def test_a_phase_that_became_another_is_not_counted() -> None:
    """The coarse phase was due; by then the finer one had replaced it."""
    report = Report()
    journeys = started_agent(report)
    journeys.pod_operation(ADD, Source.API, stages.with_sandbox(), at(3.5))
    journeys.files_read(stages.UID, FileTimes(log_directory=nanoseconds(2.75)), at(4))
    journeys.expire(at(20))
    assert "volumes_and_sandbox" not in report.phases
    assert "sandbox" in report.phases


def test_a_uid_that_comes_back_begins_anew() -> None:
    """A manifest that names its own uid was taken away and put back."""
    report = Report()
    journeys = started_agent(report)
    for second in (1, 50):
        journeys.pod_operation(ADD, Source.FILE, static_pod("fixed"), at(second))
        journeys.pod_operation(REMOVE, Source.FILE, static_pod("fixed"), at(second + 1))
    journeys.pod_operation(ADD, Source.FILE, static_pod("fixed"), at(90))
    assert journeys.counts() == (1, 0)
    (journey,) = journeys.all()
    assert journey.marks == {MarkKind.AGENT_SEEN: nanoseconds(90)}
