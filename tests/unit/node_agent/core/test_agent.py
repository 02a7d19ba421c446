"""The whole shadow: lists in, reports and observers' calls out, in order."""

from typing import Any

from node_agent.core.agent import NodeAgent
from node_agent.core.clock import Now
from node_agent.core.effects import (
    DuplicateDropped,
    Effect,
    SourcesSeen,
    UpdateReceived,
    WorkerStepped,
)
from node_agent.core.events import PodsListed
from node_agent.core.objects import Pod
from node_agent.core.operations import SEEN_ANNOTATION, Operation, Source, annotation
from node_agent.core.pod_workers import UNSEEN_SECONDS
from tests.unit.node_agent.core.pods import at, ended, make_mirror, make_pod, running, status

API, FILE = Source.API, Source.FILE


class Listener:
    """Notes what it is told."""

    def __init__(self, deadline: float | None = None) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.deadline = deadline

    def pod_operation(self, operation: Operation, source: Source, pod: Pod, now: Now) -> None:
        seconds = now.monotonic_seconds - 1000
        self.told.append((operation.value, source.value, pod.metadata.uid, seconds))

    def pod_observed(self, pod: Pod, now: Now) -> None:
        self.told.append(("observed", pod.metadata.uid, pod.status.phase))

    def pod_gone(self, uid: str, now: Now) -> None:
        self.told.append(("gone", uid))

    def source_listed(self, source: Source, now: Now) -> None:
        self.told.append(("listed", source.value))

    def next_deadline(self) -> float | None:
        return self.deadline

    def expire(self, now: Now) -> None:
        self.told.append(("expire", now.monotonic_seconds))

    def take(self) -> list[tuple[Any, ...]]:
        told, self.told = self.told, []
        return told


class Stage:
    """An agent with a listener."""

    def __init__(self, *sources: Source) -> None:
        self.listener = Listener()
        self.agent = NodeAgent(sources, [self.listener])

    def list(self, source: Source, *pods: Pod, seconds: float = 0) -> list[str]:
        """Have a source tell its Pods; give the reports."""
        event = PodsListed(source, pods, at(seconds))
        return told(self.agent.handle(event, at(seconds + 0.5)))


def told(effects: list[Effect]) -> list[str]:
    """Write reports as a line each."""
    lines = []
    for effect in effects:
        match effect:
            case UpdateReceived(update):
                names = ",".join(pod.metadata.uid for pod in update.pods)
                lines.append(f"{update.operation} {update.source} {names}")
            case WorkerStepped(step):
                lines.append(f"{step.state} {step.pod.metadata.uid}")
            case DuplicateDropped(source, pod):
                lines.append(f"duplicate {source} {pod.metadata.uid}")
            case SourcesSeen():
                lines.append("sources seen")
    return lines


def test_operations_reach_workers_and_observers() -> None:
    stage = Stage(API)
    assert stage.list(API, make_pod("a"), seconds=1) == [
        "ADD api uid-a",
        "sync uid-a",
        "sources seen",
    ]
    assert stage.listener.take() == [
        ("ADD", "api", "uid-a", 1),
        ("observed", "uid-a", "Pending"),
        ("listed", "api"),
    ]
    stage.list(API, make_pod("a", labels={"x": "1"}), seconds=2)
    stage.list(
        API, make_pod("a", labels={"x": "1"}, status=status("Running", running())), seconds=3
    )
    deleted = make_pod(
        "a", deletionTimestamp="2026-06-01T12:00:05Z", status=status("Running", ended())
    )
    assert stage.list(API, deleted, seconds=4) == [
        "DELETE api uid-a",
        "terminating uid-a",
        "terminated uid-a",
    ]
    assert stage.list(API, seconds=5) == ["REMOVE api uid-a", "finished uid-a"]
    assert stage.listener.take() == [
        ("UPDATE", "api", "uid-a", 2),
        ("observed", "uid-a", "Pending"),
        ("RECONCILE", "api", "uid-a", 3),
        ("observed", "uid-a", "Running"),
        ("DELETE", "api", "uid-a", 4),
        ("observed", "uid-a", "Running"),
        ("REMOVE", "api", "uid-a", 5),
        ("gone", "uid-a"),
    ]
    assert list(stage.agent.known.pods()) == []
    assert dict(stage.agent.workers.workers) == {}


def test_the_oldest_pod_is_added_first() -> None:
    stage = Stage(API)
    stage.list(
        API,
        make_pod("young", creationTimestamp="2026-06-01T11:59:59Z"),
        make_pod("old", creationTimestamp="2026-06-01T11:00:00Z"),
        make_pod("ageless"),
    )
    assert [one[2] for one in stage.listener.told if one[0] == "ADD"] == [
        "uid-ageless",
        "uid-old",
        "uid-young",
    ]


def test_a_source_without_pods_is_ready_too() -> None:
    stage = Stage(FILE, API)
    assert stage.list(API) == ["ADD api "]
    assert stage.agent.config.unready_sources == (FILE,)
    assert stage.list(FILE) == ["ADD file ", "sources seen"]
    assert stage.list(FILE) == []
    assert stage.listener.take() == [("listed", "api"), ("listed", "file")]


def test_duplicates_are_told_of() -> None:
    stage = Stage(API)
    assert stage.list(API, make_pod(uid="1"), make_pod(uid="2"))[:2] == [
        "duplicate api 2",
        "ADD api 1",
    ]


def test_workers_outlive_their_pods_until_all_sources_have_been_heard_of() -> None:
    stage = Stage(FILE, API)
    stage.list(API, make_pod("a"), make_pod("b"))
    assert stage.list(API) == ["REMOVE api uid-a,uid-b"]
    assert set(stage.agent.workers.workers) == {"uid-a", "uid-b"}
    assert stage.list(API, make_pod("b", labels={"x": "1"})) == ["ADD api uid-b", "sync uid-b"]
    assert stage.list(FILE) == [
        "ADD file ",
        "sources seen",
        "terminating uid-a",
        "terminated uid-a",
        "finished uid-a",
    ]
    assert set(stage.agent.workers.workers) == {"uid-b"}


def test_a_worker_that_has_ended_waits_for_no_source() -> None:
    """A source may never be heard of, and Pods come and go all the time."""
    stage = Stage(FILE, API)
    for number in range(3):
        name = f"p{number}"
        stage.list(API, make_pod(name, status=status("Running", running())))
        stage.list(
            API,
            make_pod(
                name,
                deletionTimestamp="2026-06-01T12:00:05Z",
                status=status("Running", ended()),
            ),
        )
        assert stage.list(API) == [f"REMOVE api uid-{name}", f"finished uid-{name}"]
    assert dict(stage.agent.workers.workers) == {}
    assert stage.list(FILE) == ["ADD file ", "sources seen"]


def test_a_mirror_has_no_worker_of_its_own() -> None:
    stage = Stage(FILE, API)
    stage.list(API)
    stage.list(FILE, make_pod("a", uid="s"))
    stage.listener.take()
    assert stage.list(API, make_mirror("a", hash_="h")) == ["ADD api mirror-a"]
    assert stage.agent.known.static_uid("mirror-a") == "s"
    ran = make_mirror("a", hash_="h", status=status("Running", running()))
    assert stage.list(API, ran) == ["RECONCILE api mirror-a"]
    labelled = make_mirror("a", hash_="h", labels={"x": "1"}, status=status("Running", running()))
    assert stage.list(API, labelled) == ["UPDATE api mirror-a"]
    assert stage.list(FILE) == ["REMOVE file s", "terminating s"]
    assert [one for one in stage.listener.take() if one[0] == "gone"] == []
    assert stage.list(API) == ["REMOVE api mirror-a", "terminated s", "finished s"]
    assert [one for one in stage.listener.take() if one[0] == "gone"] == [
        ("gone", "s"),
        ("gone", "mirror-a"),
    ]


def test_a_static_pod_without_a_mirror_is_gone_by_time() -> None:
    stage = Stage(FILE)
    stage.list(FILE, make_pod("a", uid="s"))
    assert stage.agent.next_deadline() is None
    stage.list(FILE)
    due = stage.agent.next_deadline()
    assert due == 1000.5 + 30 + UNSEEN_SECONDS
    stage.listener.take()
    assert told(stage.agent.expire(Now(due, 0))) == ["terminated s", "finished s"]
    assert stage.listener.take() == [("gone", "s"), ("expire", due)]


def test_a_static_pod_that_restarts_is_not_gone() -> None:
    stage = Stage(FILE)
    stage.list(FILE, make_pod("a", uid="s"))
    stage.list(FILE)
    stage.list(FILE, make_pod("a", uid="s"))
    stage.listener.take()
    assert told(stage.agent.expire(at(100))) == ["terminated s", "finished s", "sync s"]
    assert stage.listener.take() == [("expire", 1100)]


def test_observers_are_told_in_the_order_in_which_they_came() -> None:
    told_to: list[str] = []

    class Named(Listener):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def source_listed(self, source: Source, now: Now) -> None:
            told_to.append(self.name)

    agent = NodeAgent([API], [Named("first")])
    agent.attach(Named("second"))
    agent.handle(PodsListed(API, (), at(0)), at(0))
    assert told_to == ["first", "second"]


def test_observers_have_deadlines_too() -> None:
    near, far, none = Listener(5.0), Listener(9.0), Listener()
    assert NodeAgent([API], [far, near, none]).next_deadline() == 5.0
    assert NodeAgent([API], [none]).next_deadline() is None


def test_a_wall_clock_that_is_set_back_moves_nothing_but_what_is_new() -> None:
    stage = Stage(FILE)
    stage.list(FILE, make_pod("old", uid="s"))
    before = [annotation(pod, SEEN_ANNOTATION) for pod in stage.agent.config.pods(FILE)]
    an_hour_ago = at(1).wall_nanoseconds - 3600 * 10**9
    jumped = Now(at(1).monotonic_seconds, an_hour_ago)
    stage.agent.handle(
        PodsListed(FILE, (make_pod("old", uid="s"), make_pod("new")), jumped), jumped
    )
    after = [annotation(pod, SEEN_ANNOTATION) for pod in stage.agent.config.pods(FILE)]
    assert after == [*before, "2026-06-01T11:00:01.000000000Z"]
    stage.agent.handle(PodsListed(FILE, (make_pod("new"),), jumped), jumped)
    # What is waited for is counted by the clock that is never set.
    assert stage.agent.next_deadline() == 1001 + 30 + UNSEEN_SECONDS
