"""What lasts, since when, and how seldom it is told."""

from node_agent.core.divergence.causes import Cause
from node_agent.core.divergence.comparison import DivergenceKind
from node_agent.core.divergence.divergences import DivergenceLimits, Divergences
from node_agent.core.journey.journey import FileTimes
from node_agent.core.objects import Pod
from node_agent.core.operations import Operation, Source
from tests.unit.node_agent.core.divergence.views import seen, static_pod, view_of
from tests.unit.node_agent.core.pods import at, make_mirror, make_pod, status

STARTING = {"phase": "Pending", "startTime": "2026-06-01T12:00:02Z"}


def followed(*pods: Pod, limits: DivergenceLimits | None = None) -> Divergences:
    """Follow Pods that have been known since noon."""
    divergences = Divergences(Source, limits)
    for source in Source:
        divergences.source_listed(source, at(0))
    for pod in pods:
        divergences.pod_operation(Operation.ADD, Source.API, pod, at(0))
    return divergences


def read(divergences: Divergences, second: float, *pods: Pod) -> None:
    divergences.kubelet_read(view_of(*pods, asked=at(second)), at(second))


def confirmed(divergences: Divergences) -> list[str]:
    return [divergence.finding.kind.value for divergence in divergences.confirmed()]


def test_two_comparisons_in_a_row_confirm() -> None:
    divergences = followed(make_pod("a"))
    read(divergences, 10)
    assert confirmed(divergences) == []
    read(divergences, 20)
    (divergence,) = divergences.confirmed()
    assert divergence.finding.kind is DivergenceKind.MISSING_IN_KUBELET
    assert divergence.since_seconds == at(10).monotonic_seconds
    read(divergences, 30, seen("a"))
    assert confirmed(divergences) == []
    read(divergences, 40)
    assert confirmed(divergences) == []


def test_a_young_pod_is_given_time() -> None:
    divergences = followed(make_pod("a"))
    read(divergences, 3)
    read(divergences, 4)
    assert confirmed(divergences) == []
    read(divergences, 5)
    read(divergences, 6)
    assert confirmed(divergences) == ["missing_in_kubelet"]


def test_a_manifest_is_given_the_time_of_a_check() -> None:
    ours = static_pod(hash_="ours")
    divergences = followed(ours)
    for second in (10, 20, 29):
        read(divergences, second)
    assert confirmed(divergences) == []
    for second in (30, 40):
        read(divergences, second)
    assert confirmed(divergences) == ["missing_in_kubelet"]


def test_what_the_agent_has_not_heard_of_yet() -> None:
    divergences = followed()
    for second in (11, 14):
        read(divergences, second, seen("a", seen_seconds=10))
    assert confirmed(divergences) == []
    for second in (15, 16):
        read(divergences, second, seen("a", seen_seconds=10))
    assert confirmed(divergences) == ["unknown_to_agent"]


def test_a_source_that_has_not_told_of_all_its_pods_is_not_compared() -> None:
    divergences = Divergences(Source)
    divergences.source_listed(Source.FILE, at(0))
    for second in (200, 210):
        read(divergences, second, seen("a"), static_pod())
    assert confirmed(divergences) == ["unknown_to_agent"]  # the static Pod; nothing of mirrors
    divergences.source_listed(Source.API, at(211))
    for second in (220, 230):
        read(divergences, second, seen("a"), static_pod())
    assert sorted(confirmed(divergences)) == [
        "mirror_missing",
        "unknown_to_agent",
        "unknown_to_agent",
    ]


def test_a_mirror_is_given_two_minutes() -> None:
    divergences = followed(static_pod(hash_="ours"))
    for second in (60, 119):
        read(divergences, second, static_pod())
    assert confirmed(divergences) == []
    for second in (120, 130):
        read(divergences, second, static_pod())
    assert confirmed(divergences) == ["mirror_missing"]


def test_a_kubelet_that_does_not_say_when_it_saw_a_pod() -> None:
    divergences = followed()
    stranger = make_pod("a", annotations={"kubernetes.io/config.source": "api"})
    for second in (1, 2):
        read(divergences, second, make_pod("b", uid="other"), stranger)
    assert confirmed(divergences) == ["unknown_to_agent", "unknown_to_agent"]


def test_an_orphan_mirror() -> None:
    divergences = followed(make_mirror("etcd-n"))
    for second in (1, 2):
        read(divergences, second)
    assert confirmed(divergences) == ["mirror_orphan"]


def test_a_kubelet_that_does_not_answer_changes_no_finding() -> None:
    divergences = followed(make_pod("a"))
    read(divergences, 10)
    read(divergences, 20)
    divergences.kubelet_failed(at(30), is_reachable=False)
    assert confirmed(divergences) == ["missing_in_kubelet"]
    cause = divergences.cause_of("uid-a")
    assert cause is not None
    assert cause.diagnosis.cause is Cause.KUBELET_UNREACHABLE


def test_a_kubelet_that_may_not_be_asked_tells_nothing() -> None:
    divergences = followed(make_pod("a"))
    read(divergences, 10)
    divergences.kubelet_failed(at(20), is_reachable=True)
    cause = divergences.cause_of("uid-a")
    assert cause is not None
    assert cause.diagnosis.cause is Cause.KUBELET_SILENT


def test_causes_keep_the_moment_they_began() -> None:
    divergences = followed(make_pod("a"), make_pod("b", status=status("Succeeded")))
    divergences.judge(at(1))
    cause = divergences.cause_of("uid-a")
    assert cause is not None
    assert cause.diagnosis.cause is Cause.KUBELET_SILENT
    read(divergences, 10)
    read(divergences, 20)
    cause = divergences.cause_of("uid-a")
    assert cause is not None
    assert (cause.namespace, cause.name) == ("default", "a")
    assert cause.diagnosis.cause is Cause.NOT_SEEN
    assert cause.since_seconds == at(10).monotonic_seconds
    assert list(divergences.causes()) == ["uid-a"]


def test_a_kubelet_that_was_asked_before_the_pod_came_tells_nothing() -> None:
    divergences = followed()
    read(divergences, 10)
    divergences.pod_operation(Operation.ADD, Source.API, make_pod("a"), at(11))
    divergences.judge(at(12))
    cause = divergences.cause_of("uid-a")
    assert cause is not None
    assert cause.diagnosis.cause is Cause.KUBELET_SILENT


def test_directories_and_events_count() -> None:
    spec = {"containers": [{"name": "c"}], "volumes": [{"name": "v", "emptyDir": {}}]}
    pods = [make_pod(name, spec=spec, status=STARTING) for name in "ab"]
    divergences = followed(*pods)
    divergences.files_read("uid-a", FileTimes(data_directory=1, log_directory=2))
    divergences.events_read("uid-b", ["Scheduled", "FailedMount"])
    divergences.judge(at(5))
    found = {uid: cause.diagnosis.cause for uid, cause in divergences.causes().items()}
    assert found == {"uid-a": Cause.SANDBOX, "uid-b": Cause.VOLUMES}


def test_a_static_pods_status_is_the_kubelets() -> None:
    ours = static_pod(hash_="ours", status={"phase": "Pending"})
    divergences = followed(ours)
    crashing = {
        "name": "c",
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 1, "startedAt": "2026-06-01T12:00:03Z"}},
    }
    copy = static_pod(status=status("Running", crashing, startTime="2026-06-01T12:00:02Z"))
    read(divergences, 10, copy)
    cause = divergences.cause_of("ours")
    assert cause is not None
    assert cause.diagnosis.cause is Cause.CRASH_LOOP


def test_the_status_in_a_manifest_tells_nothing() -> None:
    ready = [{"type": "Ready", "status": "True"}]
    divergences = followed(static_pod(hash_="ours", status=status("Pending", conditions=ready)))
    divergences.judge(at(1))
    cause = divergences.cause_of("ours")
    assert cause is not None
    assert cause.diagnosis.cause is Cause.KUBELET_SILENT


def test_what_is_gone_is_forgotten() -> None:
    divergences = followed(make_pod("a"))
    divergences.judge(at(1))
    divergences.files_read("uid-a", FileTimes())
    divergences.events_read("uid-a", [])
    divergences.pod_operation(Operation.REMOVE, Source.API, make_pod("a"), at(2))
    divergences.pod_gone("uid-a", at(2))
    divergences.files_read("uid-a", FileTimes())
    divergences.events_read("uid-a", [])
    assert divergences.causes() == {}
    assert divergences._files == {}
    assert divergences._event_reasons == {}
    assert divergences._known_since == {}


def test_nothing_falls_due() -> None:
    divergences = followed(make_pod("a"))
    divergences.pod_observed(make_pod("a"), at(1))
    divergences.expire(at(1))
    assert divergences.next_deadline() is None


def test_an_event_is_due_once_it_lasts_then_seldom() -> None:
    divergences = followed(make_pod("a"))
    for second in (10, 60):
        read(divergences, second)
    assert divergences.take_untold(at(69)) == []
    (told,) = divergences.take_untold(at(70))
    assert told.finding.name == "a"
    assert divergences.take_untold(at(71)) == []
    assert divergences.take_untold(at(70 + 3599)) == []
    assert len(divergences.take_untold(at(70 + 3600))) == 1


def test_only_so_many_events_a_minute() -> None:
    pods = [make_pod(f"p{number}") for number in range(5)]
    divergences = followed(*pods, limits=DivergenceLimits(tell_per_minute=2))
    for second in (10, 70):
        read(divergences, second)
    assert [d.finding.name for d in divergences.take_untold(at(80))] == ["p0", "p1"]
    assert divergences.take_untold(at(139)) == []
    assert [d.finding.name for d in divergences.take_untold(at(140))] == ["p2", "p3"]
