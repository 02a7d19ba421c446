"""The kubelet's workers, inferred: what is seen, and what follows from it.

Cases: pkg/kubelet/pod_workers_test.go and the MirrorPod tests of test/e2e_node, v1.36.3, as far
as an observer can see them.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from node_agent.core.objects import Pod
from node_agent.core.operations import SOURCE_ANNOTATION
from node_agent.core.pod_workers import UNSEEN_SECONDS, PodWorkers, WorkerState, WorkerStep
from tests.unit.node_agent.core.pods import at, ended, make_mirror, make_pod, running, status

DELETED = "2026-06-01T12:00:05Z"
Steps = list[tuple[str, str, str]]


class Stage:
    """Workers, and the mirrors that they look at."""

    def __init__(self) -> None:
        self.mirrors: dict[str, Pod] = {}
        self.workers = PodWorkers(self.mirrors.get)

    def state(self, uid: str) -> WorkerState | None:
        worker = self.workers.workers.get(uid)
        return None if worker is None else worker.state

    def mirror(self, pod: Pod | None, seconds: float = 0, name: str = "a_default") -> Steps:
        """Have a mirror come, change or go."""
        if pod is None:
            self.mirrors.pop(name, None)
        else:
            self.mirrors[name] = pod
        return told(self.workers.note_mirror(name, at(seconds)))

    def create(self, pod: Pod, seconds: float = 0) -> Steps:
        return told(self.workers.create(pod, at(seconds)))

    def update(self, pod: Pod, seconds: float = 0) -> Steps:
        return told(self.workers.update(pod, at(seconds)))

    def reconcile(self, pod: Pod, seconds: float = 0) -> Steps:
        return told(self.workers.reconcile(pod, at(seconds)))

    def remove(self, pod: Pod, seconds: float = 0) -> Steps:
        return told(self.workers.remove(pod, at(seconds)))

    def expire(self, seconds: float) -> Steps:
        return told(self.workers.expire(at(seconds)))


def told(steps: Iterator[WorkerStep]) -> Steps:
    """Give uid, state and reason of each step."""
    return [(step.pod.metadata.uid, step.state.value, step.reason) for step in steps]


def states(steps: Steps) -> list[tuple[str, str]]:
    """Give uid and state alone."""
    return [(uid, state) for uid, state, _ in steps]


def static(uid: str = "s1", **fields: Any) -> Pod:
    """Give a Pod of a manifest."""
    return make_pod(uid=uid, annotations={SOURCE_ANNOTATION: "file"}, **fields)


@pytest.fixture
def stage() -> Stage:
    """Give one without Pods."""
    return Stage()


def test_a_pod_lives_and_ends(stage: Stage) -> None:
    assert stage.create(make_pod()) == [("uid-a", "sync", "created")]
    assert stage.update(make_pod(labels={"x": "1"}), 1) == [("uid-a", "sync", "updated")]
    assert stage.reconcile(make_pod(status=status("Running", running())), 2) == []
    deleted = {"deletionTimestamp": DELETED}
    assert stage.update(make_pod(status=status("Running", running()), **deleted), 5) == [
        ("uid-a", "terminating", "it is being deleted")
    ]
    assert stage.reconcile(make_pod(status=status("Running", ended()), **deleted), 8) == [
        ("uid-a", "terminated", "no container runs")
    ]
    worker = stage.workers.workers["uid-a"]
    assert worker.synced_at == worker.started_at == 1000
    assert (worker.terminating_at, worker.terminated_at) == (1005, 1008)
    assert stage.remove(make_pod(), 9) == [("uid-a", "finished", "its object is gone")]
    assert stage.state("uid-a") is None


def test_a_pod_whose_object_vanishes_goes_through_all_states(stage: Stage) -> None:
    stage.create(make_pod())
    assert states(stage.remove(make_pod(), 1)) == [
        ("uid-a", "terminating"),
        ("uid-a", "terminated"),
        ("uid-a", "finished"),
    ]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_terminal_phase_ends_a_pod(stage: Stage, phase: str) -> None:
    stage.create(make_pod())
    assert stage.reconcile(make_pod(status=status(phase, ended()))) == [
        ("uid-a", "terminating", f"its phase is {phase}"),
        ("uid-a", "terminated", "no container runs"),
    ]


def test_a_pod_that_the_kubelet_refused_ends(stage: Stage) -> None:
    stage.create(make_pod())
    refused = make_pod(status={"phase": "Failed", "reason": "OutOfcpu"})
    assert states(stage.reconcile(refused)) == [("uid-a", "terminating"), ("uid-a", "terminated")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (status("Succeeded", ended()), ["terminated"]),
        (status("Failed"), ["terminated"]),
        (status("Failed", running()), ["sync", "terminating"]),
        (status("Running", running()), ["sync"]),
        (status("Running", ended()), ["sync"]),
        (status("Pending"), ["sync"]),
    ],
)
def test_first_sight(stage: Stage, given: dict[str, Any], expected: list[str]) -> None:
    assert [state for _, state, _ in stage.create(make_pod(status=given))] == expected


def test_a_pod_first_seen_while_it_is_deleted_syncs_and_terminates(stage: Stage) -> None:
    pod = make_pod(deletionTimestamp=DELETED, status=status("Running", running()))
    assert states(stage.create(pod)) == [("uid-a", "sync"), ("uid-a", "terminating")]


@pytest.mark.parametrize(
    ("containers", "init", "has_stopped"),
    [
        ([], [], False),
        ([ended("a"), ended("b")], [], True),
        ([ended("a"), running("b")], [], False),
        ([ended("a"), {"name": "b", "state": {"waiting": {"reason": "x"}}}], [], False),
        ([ended("a")], [running("sidecar")], False),
        ([ended("a")], [ended("sidecar")], True),
    ],
)
def test_a_deleted_pod_is_terminated_when_nothing_runs(
    stage: Stage, containers: list[Any], init: list[Any], has_stopped: bool
) -> None:
    stage.create(make_pod())
    given = status("Running", *containers, initContainerStatuses=init)
    steps = stage.update(make_pod(deletionTimestamp=DELETED, status=given))
    assert ("uid-a", "terminated") in states(steps) or not has_stopped
    assert stage.state("uid-a") is (
        WorkerState.TERMINATED if has_stopped else WorkerState.TERMINATING
    )


def test_a_create_of_a_known_pod_is_an_update(stage: Stage) -> None:
    stage.create(make_pod())
    assert stage.create(make_pod(labels={"x": "1"})) == [("uid-a", "sync", "updated")]


def test_a_deleted_pod_does_not_sync(stage: Stage) -> None:
    stage.create(make_pod())
    stage.update(make_pod(deletionTimestamp=DELETED))
    assert stage.update(make_pod(deletionTimestamp=DELETED, labels={"x": "1"})) == []


@pytest.mark.parametrize("method", ["update", "reconcile", "remove"])
def test_unknown_pods_do_nothing(stage: Stage, method: str) -> None:
    call: Callable[[Pod], Steps] = getattr(stage, method)
    assert call(make_pod()) == []
    assert stage.mirror(make_mirror()) == []


def test_a_static_pod_ends_when_its_mirror_goes(stage: Stage) -> None:
    stage.create(static())
    assert stage.mirror(make_mirror(hash_="h1")) == []
    assert stage.remove(static(), 10) == [("s1", "terminating", "its manifest is gone")]
    assert stage.workers.next_deadline() is None
    assert stage.mirror(make_mirror(hash_="h1", status=status("Running", running())), 11) == []
    assert stage.mirror(make_mirror(hash_="h1", status=status("Running", ended())), 20) == [
        ("s1", "terminated", "no container runs")
    ]
    assert stage.mirror(None, 21) == [("s1", "finished", "its mirror is gone")]


def test_a_deleted_mirror_does_not_end_its_pod(stage: Stage) -> None:
    stage.create(static())
    stage.mirror(make_mirror(hash_="h1"))
    assert stage.mirror(make_mirror(hash_="h1", deletionTimestamp=DELETED)) == []
    assert stage.mirror(None) == []
    assert stage.state("s1") is WorkerState.SYNC


def test_a_static_pod_without_a_mirror_ends_by_time(stage: Stage) -> None:
    pod = static(spec={"terminationGracePeriodSeconds": 5})
    stage.create(pod)
    stage.remove(pod, 10)
    due = 10 + 5 + UNSEEN_SECONDS
    assert stage.workers.next_deadline() == 1000 + due
    assert stage.expire(due - 1) == []
    assert states(stage.expire(due)) == [("s1", "terminated"), ("s1", "finished")]
    assert stage.workers.next_deadline() is None


def test_a_static_pod_that_has_ended_finishes_with_its_manifest(stage: Stage) -> None:
    stage.create(static())
    stage.mirror(make_mirror(hash_="h1"))
    assert states(stage.mirror(make_mirror(hash_="h1", status=status("Succeeded", ended())))) == [
        ("s1", "terminating"),
        ("s1", "terminated"),
    ]
    assert stage.remove(static()) == [("s1", "finished", "its manifest is gone")]


def test_a_mirror_that_was_there_first_tells_of_the_end(stage: Stage) -> None:
    stage.mirror(make_mirror(hash_="h1", status=status("Succeeded", ended())))
    assert states(stage.create(static())) == [("s1", "terminated")]


def test_a_new_manifest_waits_for_the_old_pod(stage: Stage) -> None:
    stage.create(static("s1"))
    stage.mirror(make_mirror(hash_="h1", uid="m1"))
    stage.remove(static("s1"), 10)
    assert stage.create(static("s2"), 10) == [
        ("s2", "waiting", "another static Pod of this name runs")
    ]
    # The status of the old mirror says nothing of the new Pod, nor its deletion by anybody.
    assert states(stage.mirror(make_mirror(hash_="h2", uid="m2"), 15)) == [
        ("s1", "terminated"),
        ("s1", "finished"),
        ("s2", "sync"),
    ]
    assert stage.workers.workers["s2"].mirror_hash == "h2"
    assert stage.workers.workers["s2"].started_at == 1015


def test_static_pods_of_one_name_start_in_the_order_they_came(stage: Stage) -> None:
    for uid in ("s1", "s2", "s3", "s4"):
        stage.create(static(uid))
    assert stage.remove(static("s3")) == [("s3", "finished", "its manifest is gone")]
    stage.remove(static("s1"), 1)
    assert states(stage.expire(60)) == [("s1", "terminated"), ("s1", "finished"), ("s2", "sync")]
    stage.remove(static("s2"), 61)
    assert states(stage.expire(200))[-1] == ("s4", "sync")
    assert stage.remove(static("s4"), 201) == [("s4", "terminating", "its manifest is gone")]
    assert states(stage.expire(300))[-1] == ("s4", "finished")
    assert dict(stage.workers.workers) == {}
    assert states(stage.create(static("s1"), 301)) == [("s1", "sync")]


def test_a_waiting_pod_takes_updates(stage: Stage) -> None:
    stage.create(static("s1"))
    stage.create(static("s2"))
    assert stage.update(static("s2", labels={"x": "1"})) == []
    assert stage.workers.workers["s2"].pod.metadata.labels == {"x": "1"}


def test_an_api_pod_of_the_same_name_runs_beside_it(stage: Stage) -> None:
    stage.create(static())
    assert states(stage.create(make_pod())) == [("uid-a", "sync")]
    assert states(stage.remove(make_pod()))[-1] == ("uid-a", "finished")
    assert stage.state("s1") is WorkerState.SYNC


def test_a_manifest_that_comes_back_restarts_its_pod(stage: Stage) -> None:
    stage.create(static())
    stage.mirror(make_mirror(hash_="h1", status=status("Running", running())))
    stage.remove(static(), 1)
    assert stage.create(static(), 2) == []
    assert states(stage.mirror(make_mirror(hash_="h1", status=status("Running", ended())), 9)) == [
        ("s1", "terminated"),
        ("s1", "finished"),
        ("s1", "sync"),
    ]
    assert stage.workers.workers["s1"].synced_at == 1009
    assert not stage.workers.workers["s1"].is_removed


def test_a_manifest_that_comes_back_unseen_restarts_its_pod_by_time(stage: Stage) -> None:
    stage.create(static())
    stage.mirror(make_mirror(hash_="h1", status=status("Running", running())))
    stage.remove(static(), 1)
    assert stage.workers.next_deadline() is None
    stage.create(static(), 2)
    assert stage.workers.next_deadline() == 1000 + 1 + 30 + UNSEEN_SECONDS
    assert states(stage.expire(60))[-1] == ("s1", "sync")


def test_a_manifest_that_comes_and_goes_again_is_gone(stage: Stage) -> None:
    stage.create(static())
    stage.remove(static(), 1)
    stage.create(static(), 2)
    assert stage.remove(static(), 3) == []
    assert states(stage.expire(60)) == [("s1", "terminated"), ("s1", "finished")]
    assert stage.state("s1") is None


def test_a_static_pod_may_be_renamed_under_its_uid(stage: Stage) -> None:
    stage.create(static("s1"))
    stage.create(static("s2"))
    stage.update(make_pod("b", uid="s2", annotations=static("s2").metadata.annotations))
    stage.remove(static("s2"))
    stage.remove(static("s1"), 1)
    assert states(stage.expire(60)) == [("s1", "terminated"), ("s1", "finished")]
    assert states(stage.create(static("s3"), 61)) == [("s3", "sync")]


def test_a_manifest_that_comes_back_renamed_restarts_beside_the_next_of_its_name(
    stage: Stage,
) -> None:
    stage.create(static("s1"))
    stage.create(static("s2"))
    stage.remove(static("s1"), 1)
    stage.create(make_pod("b", uid="s1", annotations=static("s1").metadata.annotations), 2)
    assert states(stage.expire(60)) == [
        ("s1", "terminated"),
        ("s1", "finished"),
        ("s2", "sync"),
        ("s1", "sync"),
    ]
