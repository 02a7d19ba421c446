"""What each state of a Pod tells, and what it does not."""

from typing import Any

import pytest

from kubeio import decision_annotations
from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey import evidence
from node_agent.core.journey.evidence import (
    InitRun,
    attempt,
    has_started,
    init_container_names,
    init_runs,
    is_born_bound,
    pod_marks,
    sidecar_names,
    start_nanoseconds,
    started_by_nanoseconds,
    union_nanoseconds,
)
from node_agent.core.journey.marks import MarkKind
from node_agent.core.objects import Pod
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.journey.stages import nanoseconds, seconds_of, stamp
from tests.unit.node_agent.core.pods import make_pod

BOUND = {
    MarkKind.CREATED_API: 0.0,
    MarkKind.QUEUED_SCHEDULER: 1.0,
    MarkKind.DECIDED_SCHEDULER: 1.25,
    MarkKind.BOUND_API: 1.0,
}
WITH_SANDBOX = {
    **BOUND,
    MarkKind.SYNC_STARTED_KUBELET: 2.0,
    MarkKind.SANDBOX_READY_KUBELET: 3.0,
}
INIT_SPEC = {
    "containers": [{"name": "c"}],
    "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}, {"name": "j"}],
}


def marks_of(pod: Pod, received_seconds: float | None = None) -> dict[MarkKind, float]:
    received = None if received_seconds is None else nanoseconds(received_seconds)
    return seconds_of(pod_marks(pod, received))


def test_the_annotations_are_the_schedulers() -> None:
    assert evidence.DECIDED_AT == decision_annotations.DECIDED_AT
    assert evidence.QUEUE_WAIT == decision_annotations.QUEUE_WAIT
    assert evidence.ATTEMPT == decision_annotations.ATTEMPT
    assert evidence.DECISION_ID == decision_annotations.DECISION_ID


def test_nothing_is_guessed_of_a_pod_that_tells_nothing() -> None:
    assert marks_of(make_pod()) == {}


def test_a_bound_pod() -> None:
    assert marks_of(stages.bound()) == BOUND
    assert marks_of(stages.bound(), 1.5) == {**BOUND, MarkKind.AGENT_SEEN: 1.5}


def test_initialized_is_no_step_without_init_containers() -> None:
    heard = {MarkKind.AGENT_SEEN: 3.5, MarkKind.SANDBOX_READY_WATCH: 3.5}
    assert marks_of(stages.with_sandbox(), 3.5) == {**WITH_SANDBOX, **heard}
    assert marks_of(stages.with_sandbox(spec=INIT_SPEC)) == {
        **WITH_SANDBOX,
        MarkKind.INITIALIZED_KUBELET: 2.0,
    }


def test_sidecars_have_to_start_before_a_pod_is_initialized() -> None:
    spec = {"containers": [{"name": "c"}], "initContainers": [INIT_SPEC["initContainers"][1]]}
    assert MarkKind.INITIALIZED_KUBELET in marks_of(stages.with_sandbox(spec=spec))


def test_a_condition_that_does_not_hold_is_no_step() -> None:
    assert MarkKind.READY_KUBELET not in marks_of(stages.running())
    assert marks_of(stages.ready(), 6.5)[MarkKind.READY_KUBELET] == 6.0
    assert marks_of(stages.ready(), 6.5)[MarkKind.READY_WATCH] == 6.5


def test_containers_have_started_once_the_last_has() -> None:
    spec = {"containers": [{"name": "c"}, {"name": "d"}]}
    one = {"containerStatuses": [stages.started("c", 5)]}
    assert MarkKind.STARTED_KUBELET not in marks_of(stages.pod_with(one, spec=spec))
    waiting: dict[str, Any] = {"name": "d", "state": {"waiting": {"reason": "ContainerCreating"}}}
    both = {"containerStatuses": [stages.started("c", 5), waiting]}
    assert MarkKind.STARTED_KUBELET not in marks_of(stages.pod_with(both, spec=spec))
    all_ = {"containerStatuses": [stages.started("c", 5), stages.started("d", 7)]}
    marks = marks_of(stages.pod_with(all_, spec=spec), 8)
    assert marks[MarkKind.STARTED_KUBELET] == 7.0
    assert marks[MarkKind.STARTED_WATCH] == 8.0


def test_the_first_start_of_a_container_counts() -> None:
    status = {"containerStatuses": [stages.started("c", 50, before=5)]}
    assert marks_of(stages.pod_with(status))[MarkKind.STARTED_KUBELET] == 5.0


def test_of_later_starts_alone_nothing_tells_when_the_first_was() -> None:
    for status in (
        stages.started("c", 500, before=400, restarts=2),
        stages.started("c", 500, restarts=1),
    ):
        pod = stages.pod_with({"containerStatuses": [status]})
        assert MarkKind.STARTED_KUBELET not in marks_of(pod)
        assert MarkKind.STARTED_WATCH not in marks_of(pod, 501)
        assert has_started(pod)
    assert not has_started(stages.bound())
    assert not has_started(stages.pod_with({"containerStatuses": []}))


def test_what_runs_was_running_at_the_latest_when_it_began_to() -> None:
    one = stages.started("c", 500, before=400, restarts=7)
    other: dict[str, Any] = {"name": "d", "state": {"waiting": {"reason": "ContainerCreating"}}}
    assert started_by_nanoseconds(stages.bound()) is None
    both = stages.pod_with({"containerStatuses": [one, other]})
    assert started_by_nanoseconds(both) is None
    later = {**other, "state": {"running": {"startedAt": stamp(450)}}}
    both = stages.pod_with({"containerStatuses": [one, later]})
    assert started_by_nanoseconds(both) == nanoseconds(450)


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", None])
def test_a_start_that_the_runtime_gave_no_time_for_is_not_known(time: str | None) -> None:
    state = {"running": {"startedAt": time}}
    pod = make_pod(status={"containerStatuses": [{"name": "c", "state": state}]})
    assert start_nanoseconds(pod.status.container_statuses[0]) is None


def test_finished_only_where_no_container_will_run_again() -> None:
    status = {"containerStatuses": [stages.ended("c", 5, 9)]}
    assert MarkKind.FINISHED_KUBELET not in marks_of(stages.pod_with(dict(status)))
    done = marks_of(stages.pod_with({"phase": "Succeeded", **status}), 9.5)
    assert done[MarkKind.FINISHED_KUBELET] == 9.0
    assert done[MarkKind.FINISHED_WATCH] == 9.5
    assert done[MarkKind.STARTED_KUBELET] == 5.0
    assert marks_of(stages.deleting())[MarkKind.FINISHED_KUBELET] == 22.0


def test_deletion_was_asked_for_a_grace_period_before_its_deadline() -> None:
    marks = marks_of(stages.deleting(), 20.5)
    assert marks[MarkKind.DELETED_API] == 20.0
    assert marks[MarkKind.DELETED_WATCH] == 20.5
    at_once = stages.bound(deletionTimestamp=stamp(20))
    assert marks_of(at_once)[MarkKind.DELETED_API] == 20.0


@pytest.mark.parametrize("text", ["", "-1", "1.5", "0x1", "9" * 21, "²"])
def test_an_annotation_that_is_no_number_is_not_read(text: str) -> None:
    annotations = {"berthmaster.dev/decided-at": text, "berthmaster.dev/attempt": text}
    pod = stages.bound(annotations=annotations)
    assert MarkKind.DECIDED_SCHEDULER not in pod_marks(pod, None)
    assert attempt(pod) is None


def test_without_a_wait_nothing_tells_when_it_was_queued() -> None:
    pod = stages.bound(annotations={"berthmaster.dev/decided-at": str(nanoseconds(1))})
    assert MarkKind.QUEUED_SCHEDULER not in pod_marks(pod, None)


def test_the_attempt() -> None:
    assert attempt(stages.bound(annotations=stages.decided(attempt="3"))) == 3
    assert attempt(make_pod()) is None


@pytest.mark.parametrize("seconds", [-301, 302])
def test_a_decision_that_was_copied_from_another_pod_is_not_this_ones(seconds: float) -> None:
    pod = stages.bound(annotations=stages.decided(seconds, attempt="3"))
    assert marks_of(pod) == {MarkKind.CREATED_API: 0.0, MarkKind.BOUND_API: 1.0}
    assert attempt(pod) is None


@pytest.mark.parametrize("seconds", [-299.5, 300.5])
def test_clocks_may_be_minutes_apart(seconds: float) -> None:
    pod = stages.bound(annotations=stages.decided(seconds, attempt="3"))
    assert marks_of(pod)[MarkKind.DECIDED_SCHEDULER] == seconds
    assert attempt(pod) == 3


def test_no_wait_is_longer_than_its_pod_has_been_there() -> None:
    annotations = {**stages.decided(), "berthmaster.dev/queue-wait": "9" * 20}
    marks = marks_of(stages.bound(annotations=annotations))
    assert MarkKind.DECIDED_SCHEDULER in marks
    assert MarkKind.QUEUED_SCHEDULER not in marks


def test_init_containers_that_must_end() -> None:
    spec = make_pod(spec=INIT_SPEC).spec
    assert init_container_names(spec) == ("i", "j")
    assert sidecar_names(spec) == ("s",)


def test_runs_of_init_containers() -> None:
    again = {
        **stages.ended("i", 6, 9),
        "lastState": {"terminated": {"startedAt": stamp(2), "finishedAt": stamp(4)}},
    }
    backwards = stages.ended("j", 12, 11)
    running = stages.started("j", 12)
    sidecar = stages.ended("s", 1, 2)
    status = {"initContainerStatuses": [again, sidecar, backwards, running]}
    assert sorted(init_runs(stages.pod_with(status, spec=INIT_SPEC))) == [
        InitRun(nanoseconds(2), nanoseconds(4), "i"),
        InitRun(nanoseconds(6), nanoseconds(9), "i"),
    ]


def test_a_run_without_times_is_not_known() -> None:
    no_start = {"name": "i", "state": {"terminated": {"finishedAt": stamp(4)}}}
    no_end = {"name": "j", "state": {"terminated": {"startedAt": stamp(4)}}}
    status = {"initContainerStatuses": [no_start, no_end]}
    assert list(init_runs(stages.pod_with(status, spec=INIT_SPEC))) == []


def test_the_union_counts_no_moment_twice() -> None:
    second = NANOSECONDS
    runs = [
        InitRun(1 * second, 4 * second, "a"),
        InitRun(2 * second, 3 * second, "b"),
        InitRun(3 * second, 6 * second, "c"),
        InitRun(8 * second, 9 * second, "d"),
    ]
    assert union_nanoseconds(reversed(runs)) == 6 * second
    assert union_nanoseconds([]) == 0


@pytest.mark.parametrize(
    ("node", "conditions", "expected"),
    [
        ("n", [], True),
        ("n", [stages.condition("PodScheduled", 1)], False),
        ("", [], False),
    ],
)
def test_a_pod_whose_specification_names_its_node(
    node: str, conditions: list[dict[str, Any]], expected: bool
) -> None:
    spec = {"nodeName": node, "containers": [{"name": "c"}]}
    pod = make_pod(spec=spec, status={"phase": "Pending", "conditions": conditions})
    assert is_born_bound(pod) is expected
