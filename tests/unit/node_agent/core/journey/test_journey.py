"""One Pod's way, put together from whatever told of it."""

from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.evidence import MOST_INIT_RUNS
from node_agent.core.journey.journey import FileTimes, Journey, identify
from node_agent.core.journey.marks import MarkKind
from node_agent.core.objects import Pod
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.journey.stages import nanoseconds, seconds_of
from tests.unit.node_agent.core.journey.test_pulls import PRESENT, pulled
from tests.unit.node_agent.core.pods import make_pod

SPEC_WITH_INIT = {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}, {"name": "j"}]}


def journey_of(pod: Pod) -> Journey:
    return Journey(identify(pod, "api"))


def pulls_of(journey: Journey) -> int | None:
    return journey.pull_nanoseconds


def init_of(journey: Journey) -> int | None:
    return journey.init_nanoseconds


def test_what_does_not_change() -> None:
    pod = stages.bound(
        ownerReferences=[{"kind": "Job", "name": "j", "controller": True}],
        spec={
            **SPEC_WITH_INIT,
            "schedulerName": "berthmaster",
            "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
        },
    )
    identity = identify(pod, "api")
    assert (identity.namespace, identity.name, identity.uid) == ("default", "a", "uid-a")
    assert (identity.source, identity.workload_kind) == ("api", "Job")
    assert identity.scheduler_name == "berthmaster"
    assert identity.containers == ("c",)
    assert identity.init_containers == ("i", "j")
    assert identity.is_stateful


def test_a_whole_way() -> None:
    journey = journey_of(stages.bound())
    assert journey.observe(stages.bound(), nanoseconds(2.0))
    assert not journey.observe(stages.bound(), nanoseconds(2.5))
    assert journey.observe(stages.with_sandbox(), nanoseconds(3.5))
    assert journey.observe(stages.running(), nanoseconds(5.5))
    assert journey.observe(stages.ready(), nanoseconds(6.5))
    assert journey.observe_kubelet(stages.kubelet_copy())
    assert journey.observe_files(
        FileTimes(nanoseconds(2.2), nanoseconds(2.75), {"c": nanoseconds(4)})
    )
    assert journey.observe(stages.deleting(), nanoseconds(20.5))
    assert journey.observe_gone(nanoseconds(23))
    assert seconds_of(journey.marks) == {
        MarkKind.CREATED_API: 0.0,
        MarkKind.QUEUED_SCHEDULER: 1.0,
        MarkKind.DECIDED_SCHEDULER: 1.25,
        MarkKind.BOUND_API: 1.0,
        MarkKind.AGENT_SEEN: 2.0,
        MarkKind.KUBELET_SEEN: 2.125,
        MarkKind.SYNC_STARTED_KUBELET: 2.0,
        MarkKind.SYNC_STARTED_FILES: 2.2,
        MarkKind.VOLUMES_MOUNTED_FILES: 2.75,
        MarkKind.SANDBOX_READY_KUBELET: 3.0,
        MarkKind.SANDBOX_READY_WATCH: 3.5,
        MarkKind.IMAGES_PULLED_FILES: 4.0,
        MarkKind.STARTED_KUBELET: 5.0,
        MarkKind.STARTED_WATCH: 5.5,
        MarkKind.READY_KUBELET: 6.0,
        MarkKind.READY_WATCH: 6.5,
        MarkKind.DELETED_API: 20.0,
        MarkKind.DELETED_WATCH: 20.5,
        MarkKind.FINISHED_KUBELET: 22.0,
        MarkKind.FINISHED_WATCH: 20.5,
        MarkKind.GONE_WATCH: 23.0,
    }
    assert journey.is_measured
    assert journey.attempt == 1


def test_what_was_before_the_agent_has_no_receipt_later_either() -> None:
    journey = journey_of(stages.with_sandbox())
    journey.observe_before(stages.with_sandbox())
    journey.observe(stages.ready(), nanoseconds(6.5))
    heard = [kind for kind in journey.marks if kind.name.endswith("_WATCH")]
    assert set(heard) == {MarkKind.STARTED_WATCH, MarkKind.READY_WATCH}
    assert MarkKind.AGENT_SEEN not in journey.marks
    assert journey.was_there_before


def test_one_that_had_started_before_the_agent_is_not_measured() -> None:
    for pod, expected in (
        (stages.bound(), True),
        (stages.with_sandbox(), False),
        (stages.pod_with({"phase": "Failed"}), False),
    ):
        journey = journey_of(pod)
        journey.observe_before(pod)
        assert journey.is_measured is expected


def test_the_kubelets_copy_may_say_nothing_of_when_it_was_seen() -> None:
    journey = journey_of(stages.bound())
    journey.observe_kubelet(stages.bound())
    assert MarkKind.KUBELET_SEEN not in journey.marks
    assert MarkKind.AGENT_SEEN not in journey.marks


def test_files_that_are_not_there_are_no_times() -> None:
    journey = journey_of(stages.bound())
    assert not journey.observe_files(FileTimes())
    assert journey.observe_files(FileTimes(data_directory=nanoseconds(2)))
    assert journey.marks == {MarkKind.SYNC_STARTED_FILES: nanoseconds(2)}
    without = journey_of(make_pod(spec={}))
    assert not without.observe_files(FileTimes(container_logs={"c": 1}))


def test_pulls_are_known_once_they_are_of_each_container() -> None:
    pod = stages.bound(spec=SPEC_WITH_INIT)
    journey = journey_of(pod)
    assert pulls_of(journey) is None
    assert journey.observe_events([pulled("c", 4)])
    assert journey.marks[MarkKind.IMAGES_PULLED_EVENTS] == nanoseconds(4)
    assert pulls_of(journey) is None
    journey.observe_events([pulled("c", 9), pulled("i", 2, PRESENT), pulled("j", 3)])
    assert pulls_of(journey) == 5 * NANOSECONDS
    assert journey.marks[MarkKind.IMAGES_PULLED_EVENTS] == nanoseconds(4)


def test_the_image_of_a_sidecar_is_waited_for_like_every_other() -> None:
    sidecar = {"name": "s", "restartPolicy": "Always"}
    spec = {"containers": [{"name": "c"}], "initContainers": [sidecar]}
    journey = journey_of(stages.bound(spec=spec))
    journey.observe_events([pulled("c", 9)])
    assert pulls_of(journey) is None
    journey.observe_events([pulled("s", 4)])
    assert pulls_of(journey) == 5 * NANOSECONDS


def test_the_images_of_a_restart_are_not_those_of_the_start() -> None:
    """In whatever order Events and states come: the kubelet pulls, then it starts."""
    pods = (
        stages.running(),
        stages.pod_with({"containerStatuses": [stages.started("c", 7200, before=5)]}),
        stages.pod_with({"containerStatuses": [stages.started("c", 9, before=5, restarts=9)]}),
    )
    for pod in pods:
        journey = journey_of(pod)
        journey.observe_events([pulled("c", 4)])
        journey.observe_kubelet(pod)
        assert journey.marks[MarkKind.IMAGES_PULLED_EVENTS] == nanoseconds(4)
        for is_event_first in (True, False):
            late = journey_of(pod)
            if is_event_first:
                late.observe_events([pulled("c", 6)])
            late.observe_kubelet(pod)
            assert not late.observe_events([pulled("c", 6)])
            assert MarkKind.IMAGES_PULLED_EVENTS not in late.marks


def test_init_containers_run_one_after_the_other_or_again() -> None:
    journey = journey_of(stages.bound(spec=SPEC_WITH_INIT))
    assert init_of(journey) is None
    first = {"initContainerStatuses": [stages.ended("i", 3, 5)]}
    journey.observe(stages.pod_with(first, spec=SPEC_WITH_INIT), nanoseconds(5.1))
    assert init_of(journey) is None
    both = {"initContainerStatuses": [stages.ended("i", 7, 8), stages.ended("j", 8, 12)]}
    journey.observe(stages.pod_with(both, spec=SPEC_WITH_INIT), nanoseconds(12.1))
    assert init_of(journey) == 7 * NANOSECONDS
    assert init_of(journey_of(stages.bound())) == 0


def test_runs_that_are_kept_are_bounded() -> None:
    journey = journey_of(stages.bound(spec=SPEC_WITH_INIT))
    for number in range(2 * MOST_INIT_RUNS):
        run = {"initContainerStatuses": [stages.ended("i", 10 * number, 10 * number + 1)]}
        journey.observe(stages.pod_with(run, spec=SPEC_WITH_INIT), nanoseconds(10 * number + 2))
    done = {"initContainerStatuses": [stages.ended("j", 0, 0)]}
    journey.observe(stages.pod_with(done, spec=SPEC_WITH_INIT), nanoseconds(1))
    assert init_of(journey) == (MOST_INIT_RUNS - 1) * NANOSECONDS


def test_who_was_never_bound_has_no_such_step() -> None:
    """The specification names the Node, or a manifest does: PodScheduled is the kubelet's then."""
    spec = {"nodeName": "n", "containers": [{"name": "c"}]}
    born = make_pod(spec=spec, creationTimestamp=stages.stamp(0))
    synced = stages.pod_with({"startTime": stages.stamp(2)}, spec=spec)
    for told in ((born, synced), (synced, born)):
        journey = journey_of(born)
        for pod in told:
            journey.observe(pod, nanoseconds(3))
        assert MarkKind.BOUND_API not in journey.marks
    static = Journey(identify(synced, "file"))
    static.observe_kubelet(synced)
    assert MarkKind.BOUND_API not in static.marks
    assert MarkKind.SYNC_STARTED_KUBELET in static.marks
