"""What the watch says of Pods: who is ours, where each is, and whom a change may help."""

from collections.abc import Sequence

import msgspec
import pytest

from scheduler_svc.core.events import BindFailed, BindFailure, PodDeleted, PodUpserted
from scheduler_svc.core.framework.cluster_changes import is_word_of_attempt
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    QueueingHint,
    QueueingHintFunction,
)
from scheduler_svc.core.framework.interface import EnqueueExtensions
from scheduler_svc.core.pods import PodClaim, PodInfo
from scheduler_svc.core.queue import Place
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.core.status import Code, Status
from tests.builders import at, make_pod_info
from tests.scripted_plugins import Filtering, named
from tests.unit.scheduler_svc.core.staging import add, bound_to, decide, stage, step


class Watchful(Filtering, EnqueueExtensions):
    """Rejects every Pod, and notes which Pods' events it is asked about."""

    def __init__(self, seen: list[tuple[str, str, str]]) -> None:
        super().__init__({"n1": Status(Code.UNSCHEDULABLE, ("no",))})
        self.seen = seen

    def events_to_register(self) -> Sequence[EventRegistration]:
        return [
            EventRegistration(ClusterEvent(EventResource.POD, action), self._noting(action))
            for action in (ActionType.ADD, ActionType.DELETE, ActionType.UPDATE)
        ]

    def _noting(self, action: ActionType) -> QueueingHintFunction:
        def hint(pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> QueueingHint:
            self.seen.append(
                (action.text, old.resource_version if old else "", new.name if new else "")
            )
            return QueueingHint.SKIP

        return hint


def watched() -> tuple[Scheduler, list[tuple[str, str, str]]]:
    """Build a scheduler with a Pod that waits, and what its rejector has been asked."""
    seen: list[tuple[str, str, str]] = []
    scheduler = stage({"filter": [named("Watchful", Watchful)(seen)]})
    decide(scheduler, make_pod_info("waits"))
    assert scheduler.queue.place_of("uid-waits") is Place.UNSCHEDULABLE
    return scheduler, seen


def tell(scheduler: Scheduler, pod: PodInfo, seconds: float = 0) -> None:
    assert scheduler.handle(PodUpserted(pod), at(seconds)) == []
    scheduler.validate()


def test_pending_pods_of_ours_are_queued() -> None:
    scheduler = stage()
    tell(scheduler, make_pod_info())
    assert scheduler.queue.place_of("uid-a") is Place.ACTIVE
    assert len(scheduler.cache) == 0


def test_pending_pods_of_others_are_nothing_to_us() -> None:
    scheduler = stage()
    tell(scheduler, make_pod_info(scheduler="default-scheduler"))
    assert scheduler.queue.place_of("uid-a") is None
    assert len(scheduler.cache) == 0
    assert scheduler.handle(PodDeleted("uid-a"), at(0)) == []


def test_everybodys_pods_take_room_on_their_nodes() -> None:
    scheduler = stage()
    tell(scheduler, make_pod_info(scheduler="default-scheduler", node="n1", requests={"cpu": 3}))
    tell(scheduler, make_pod_info("static", scheduler="", node="n1"))
    assert len(scheduler.cache) == 2
    decide(scheduler, make_pod_info("b", requests={"cpu": 3}))
    assert scheduler.queue.place_of("uid-b") is Place.UNSCHEDULABLE


@pytest.mark.parametrize("node", ["", "n1"])
def test_finished_pods_are_gone(node: str) -> None:
    scheduler = stage()
    tell(scheduler, make_pod_info(node=node))
    tell(scheduler, make_pod_info(node=node, phase="Succeeded", version="2"))
    assert scheduler.queue.place_of("uid-a") is None
    assert len(scheduler.cache) == 0
    tell(scheduler, make_pod_info("never-seen", node=node, phase="Failed"))
    assert len(scheduler.cache) == 0


def test_a_pod_that_is_deleted_gives_up_its_room() -> None:
    scheduler = stage()
    tell(scheduler, make_pod_info("big", node="n1", requests={"cpu": 3}))
    decide(scheduler, make_pod_info("b", requests={"cpu": 3}))
    scheduler.handle(PodDeleted("uid-big"), at(5))
    # A Pod that was rejected once is tried early if nobody else waits.
    assert bound_to(step(scheduler, 5)) == "n1"


def test_a_pod_that_waits_may_be_deleted() -> None:
    scheduler, seen = watched()
    assert scheduler.handle(PodDeleted("uid-waits"), at(0)) == []
    assert scheduler.queue.place_of("uid-waits") is None
    assert seen == []


def test_a_pending_pod_that_changes_is_scheduled_as_it_is_now() -> None:
    scheduler = stage()
    tell(scheduler, make_pod_info(labels={"a": "b"}))
    newer = make_pod_info(labels={"a": "c"}, version="2")
    tell(scheduler, newer)
    queued = scheduler.queue.get("uid-a")
    assert queued is not None
    assert queued.pod is newer


def test_a_gated_pod_waits_for_its_last_gate() -> None:
    scheduler = stage()
    tell(scheduler, make_pod_info(gates=["a", "b"]))
    assert scheduler.queue.place_of("uid-a") is Place.GATED
    tell(scheduler, make_pod_info(gates=["b"], version="2"))
    assert scheduler.queue.place_of("uid-a") is Place.GATED
    tell(scheduler, make_pod_info(version="3"))
    assert scheduler.queue.place_of("uid-a") is Place.ACTIVE


def test_a_pod_that_somebody_else_binds_leaves_the_queue() -> None:
    scheduler = stage()
    tell(scheduler, make_pod_info())
    tell(scheduler, make_pod_info(node="n1", version="2"))
    assert scheduler.queue.place_of("uid-a") is None
    assert "uid-a" in scheduler.cache
    assert scheduler.step(at(1)) is None


def test_a_pod_that_is_assumed_is_left_alone_until_it_is_seen_on_its_node() -> None:
    scheduler = stage()
    decide(scheduler, make_pod_info())
    tell(scheduler, make_pod_info(labels={"new": ""}, version="2"))
    assert scheduler.queue.place_of("uid-a") is None
    assert scheduler.cache.is_assumed("uid-a")
    tell(scheduler, make_pod_info(node="n1", version="3"))
    assert not scheduler.cache.is_assumed("uid-a")


def test_what_changed_while_a_pod_was_assumed_is_not_lost() -> None:
    scheduler = stage()
    decide(scheduler, make_pod_info())
    newer = make_pod_info(labels={"new": ""}, version="2")
    tell(scheduler, newer)
    scheduler.handle(BindFailed("uid-a", BindFailure.REFUSED, "HTTP 500"), at(1))
    queued = scheduler.queue.get("uid-a")
    assert queued is not None
    assert queued.pod is newer


def test_an_assumed_pod_may_be_seen_elsewhere() -> None:
    scheduler = stage(nodes=("n1", "n2"))
    node = bound_to(decide(scheduler, make_pod_info()))
    other = "n2" if node == "n1" else "n1"
    tell(scheduler, make_pod_info(node=other, version="2"))
    assert scheduler.handle(BindFailed("uid-a", BindFailure.BOUND_ELSEWHERE, ""), at(1)) == []
    cached = scheduler.cache.get("uid-a")
    assert cached is not None
    assert cached.node_name == other
    assert scheduler.queue.place_of("uid-a") is None


def test_a_pod_of_somebody_elses_that_comes_may_help() -> None:
    scheduler, seen = watched()
    tell(scheduler, make_pod_info("x", node="n1"))
    assert seen == [("Add", "", "x")]


def test_a_pod_that_turns_out_to_have_other_labels_than_assumed_may_help() -> None:
    """Its labels have changed between the decision and its Binding, in one and the same version."""
    seen: list[tuple[str, str, str]] = []
    scheduler = stage({"filter": [named("Watchful", Watchful)(seen)]}, nodes=("n2", "n1"))
    assert bound_to(decide(scheduler, make_pod_info(labels={"app": "web"}))) == "n2"
    scheduler.cache.remove_node("n2")
    decide(scheduler, make_pod_info("waits"))
    tell(scheduler, make_pod_info(node="n2", labels={"app": "db"}, version="2"))
    assert seen == [("Update", "1", "a"), ("Add", "", "a")]


def test_a_pod_of_ours_that_is_seen_on_its_node_may_help() -> None:
    seen: list[tuple[str, str, str]] = []
    scheduler = stage({"filter": [named("Watchful", Watchful)(seen)]}, nodes=("n2", "n1"))
    assert bound_to(decide(scheduler, make_pod_info())) == "n2"
    scheduler.cache.remove_node("n2")
    decide(scheduler, make_pod_info("waits"))
    tell(scheduler, make_pod_info(node="n2", version="2"))
    assert seen == [("Add", "", "a")]


def test_an_assigned_pod_that_changes_may_help() -> None:
    scheduler, seen = watched()
    tell(scheduler, make_pod_info("x", node="n1", version="7"))
    seen.clear()
    tell(scheduler, make_pod_info("x", node="n1", labels={"new": ""}, version="8"))
    assert [(old, new) for _, old, new in seen] == [("7", "x")]


def test_an_assigned_pod_that_goes_may_help() -> None:
    scheduler, seen = watched()
    tell(scheduler, make_pod_info("x", node="n1", version="7"))
    seen.clear()
    scheduler.handle(PodDeleted("uid-x"), at(1))
    assert seen == [("Delete", "7", "")]


def test_the_waiting_pods_own_change_may_help_it_alone() -> None:
    scheduler, seen = watched()
    decide(scheduler, make_pod_info("other"))
    tell(scheduler, make_pod_info("waits", labels={"new": ""}, version="2"))
    assert [(old, new) for _, old, new in seen] == [("1", "waits")]


def test_a_version_that_is_known_is_no_change() -> None:
    scheduler, seen = watched()
    tell(scheduler, make_pod_info("waits", labels={"new": ""}))
    assert seen == []


def test_a_pod_that_was_dropped_comes_back_with_its_next_change() -> None:
    scheduler = stage()
    add(scheduler, make_pod_info(is_terminating=True))
    step(scheduler)
    assert scheduler.queue.place_of("uid-a") is None
    tell(scheduler, make_pod_info(is_terminating=True, version="2"))
    assert scheduler.queue.place_of("uid-a") is Place.ACTIVE


def test_a_pod_that_is_deleted_while_it_is_being_bound_gives_up_its_room() -> None:
    scheduler = stage()
    assert bound_to(decide(scheduler, make_pod_info("big", requests={"cpu": 3}))) == "n1"
    decide(scheduler, make_pod_info("b", requests={"cpu": 3}))
    assert scheduler.queue.place_of("uid-b") is Place.UNSCHEDULABLE
    scheduler.handle(PodDeleted("uid-big"), at(5))
    assert bound_to(step(scheduler, 5)) == "n1"


def test_a_pod_that_is_seen_elsewhere_than_assumed_gives_up_its_room() -> None:
    scheduler = stage()
    assert bound_to(decide(scheduler, make_pod_info("big", requests={"cpu": 3}))) == "n1"
    decide(scheduler, make_pod_info("b", requests={"cpu": 3}))
    tell(scheduler, make_pod_info("big", node="n2", requests={"cpu": 3}, version="2"), 5)
    assert bound_to(step(scheduler, 5)) == "n1"


def test_nominations_follow_the_status_of_pending_pods() -> None:
    scheduler = stage()
    tell(scheduler, make_pod_info(nominated="n1"))
    assert scheduler.nominator.node_name_of("uid-a") == "n1"
    tell(scheduler, make_pod_info(version="2"))
    assert scheduler.nominator.node_name_of("uid-a") == ""


@pytest.mark.parametrize("is_bound", [True, False])
def test_a_pod_that_is_placed_or_gone_is_not_nominated(is_bound: bool) -> None:
    scheduler = stage()
    tell(scheduler, make_pod_info(nominated="n1"))
    if is_bound:
        tell(scheduler, make_pod_info(node="n1", version="2"))
    else:
        scheduler.handle(PodDeleted("uid-a"), at(1))
    assert len(scheduler.nominator) == 0


def test_what_is_said_of_an_assumed_pods_nomination_is_no_news() -> None:
    scheduler = stage()
    decide(scheduler, make_pod_info(nominated="n1"))
    tell(scheduler, make_pod_info(nominated="n1", version="2"))
    assert len(scheduler.nominator) == 0


def test_what_happens_has_upstreams_names() -> None:
    scheduler = stage()
    plain = make_pod_info()
    heard: list[list[str]] = []
    for pod in (
        plain,
        make_pod_info(version="2"),
        make_pod_info(version="3", labels={"new": ""}),
        make_pod_info(version="4", labels={"new": ""}, node="n1"),
        make_pod_info(version="5", labels={"new": ""}, node="n1"),
        make_pod_info(version="6", node="n1"),
    ):
        tell(scheduler, pod)
        heard.append(list(scheduler.heard))
    scheduler.handle(PodDeleted("uid-a"), at(0))
    heard.append(list(scheduler.heard))
    tell(scheduler, make_pod_info("b"))
    scheduler.handle(PodDeleted("uid-b"), at(0))
    heard.append(list(scheduler.heard))
    scheduler.handle(PodDeleted("uid-unknown"), at(0))
    heard.append(list(scheduler.heard))
    assert heard == [
        ["UnschedulablePodAdd"],
        ["UnschedulablePodUpdate"],
        ["UnschedulablePodUpdate", "UnschedulablePodUpdatePodLabel"],
        ["UnschedulablePodDelete", "AssignedPodAdd"],
        ["AssignedPodUpdate"],
        ["AssignedPodUpdate", "AssignedPodUpdatePodLabel"],
        ["AssignedPodDelete"],
        ["UnschedulablePodDelete"],
        [],
    ]


def test_a_pod_that_was_assumed_is_new_on_its_node() -> None:
    scheduler = stage()
    decide(scheduler, make_pod_info())
    tell(scheduler, make_pod_info(version="2", node="n1"))
    assert scheduler.heard == ["UnschedulablePodDelete", "AssignedPodAdd"]


def test_word_of_its_own_attempt_calls_no_pod() -> None:
    """Else one that is told something else each time is tried again as fast as it is told."""
    scheduler, seen = watched()
    seen.clear()
    told = msgspec.structs.replace(
        make_pod_info("waits"), resource_version="2", condition=("Unschedulable", "waited 0.2 s")
    )
    tell(scheduler, told)
    again = msgspec.structs.replace(
        told,
        resource_version="3",
        condition=("Unschedulable", "waited 0.3 s"),
        nominated_node_name="n1",
    )
    tell(scheduler, again)
    assert seen == []
    queued = scheduler.queue.get("uid-waits")
    assert queued is not None
    assert queued.pod == again
    tell(scheduler, msgspec.structs.replace(again, resource_version="4"))
    assert [(action, old) for action, old, _ in seen] == [("Update", "3")]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("labels", (("team", "b"),)),
        ("annotations", (("budget", "4"),)),
        ("scheduling_gates", ()),
        ("claims", (PodClaim("gpu", "claim"),)),
        ("is_terminating", True),
    ],
)
def test_what_comes_with_word_of_an_attempt_counts(field: str, value: object) -> None:
    old = msgspec.structs.replace(make_pod_info(), scheduling_gates=("quota",))
    told = msgspec.structs.replace(old, condition=("Unschedulable", "no"))
    assert is_word_of_attempt(old, told)
    assert not is_word_of_attempt(old, msgspec.structs.replace(told, **{field: value}))
