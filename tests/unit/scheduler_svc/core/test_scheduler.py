"""The scheduler as a whole: events in, one decision a step, effects out."""

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.effects import PatchPodCondition
from scheduler_svc.core.errors import InvariantError
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    FeedUpdated,
    NodeDeleted,
    NodeUpserted,
    ObjectDeleted,
    ObjectUpserted,
    PermitDecided,
    PodDeleted,
    PodUpserted,
    PreBindFinished,
)
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
)
from scheduler_svc.core.framework.interface import EnqueueExtensions, FedPlugin, PreBindWork
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Namespace, ObjectMeta, Taint
from scheduler_svc.core.plugins.default_binder import DefaultBinder
from scheduler_svc.core.plugins.priority_sort import PrioritySort
from scheduler_svc.core.plugins.scheduling_gates import SchedulingGates
from scheduler_svc.core.plugins.taint_toleration import TaintToleration
from scheduler_svc.core.queue import Place
from scheduler_svc.core.scheduler import Scheduler, Timing
from scheduler_svc.core.status import Code, Status
from tests.builders import SCHEDULER, at, make_node_info, make_pod_info
from tests.scripted_plugins import Filtering, Permitting, PreBinding, named
from tests.storage import make_claim
from tests.unit.scheduler_svc.core.staging import Points, add, bound_to, decide, stage, step, the
from tests.unit.scheduler_svc.core.test_pre_enqueue import Measured


def test_nothing_to_do() -> None:
    scheduler = stage(nodes=())
    assert scheduler.step(at(0)) is None
    assert scheduler.expire(at(0)) == []
    assert scheduler.next_deadline() is None


def test_the_higher_priority_goes_first_then_who_came_earlier() -> None:
    scheduler = stage()
    for seconds, (name, priority) in enumerate([("a", 0), ("b", 5), ("c", 0), ("d", 5)]):
        add(scheduler, make_pod_info(name, priority=priority), seconds)
    attempts = [step(scheduler, 9) for _ in range(4)]
    assert [effects[0].pod.name for effects in attempts] == ["b", "d", "a", "c"]
    assert scheduler.step(at(9)) is None


@pytest.mark.parametrize(
    "event",
    [
        NodeDeleted("unheard-of"),
        PodDeleted("unheard-of"),
        BindSucceeded("unheard-of"),
        BindFailed("unheard-of", BindFailure.REFUSED, ""),
        PreBindFinished("unheard-of", "P"),
        PermitDecided("unheard-of", "P"),
    ],
)
def test_events_about_things_unknown_change_nothing(
    event: NodeDeleted | PodDeleted | BindSucceeded | BindFailed | PreBindFinished | PermitDecided,
) -> None:
    scheduler = stage()
    before = scheduler.statistics()
    assert scheduler.handle(event, at(0)) == []
    assert scheduler.statistics() == before
    scheduler.validate()


def waiting_for_cpu(node: NodeInfo) -> Scheduler:
    """Build a scheduler with a Node, and a Pod that wants 8 CPUs."""
    scheduler = stage(nodes=())
    scheduler.handle(NodeUpserted(node), at(0))
    decide(scheduler, make_pod_info(requests={"cpu": 8}))
    assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE
    return scheduler


def test_a_new_node_may_help() -> None:
    scheduler = waiting_for_cpu(make_node_info("n1"))
    scheduler.handle(NodeUpserted(make_node_info("small")), at(1))
    assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE
    scheduler.handle(NodeUpserted(make_node_info("large", cpu=8)), at(1))
    assert bound_to(step(scheduler, 1)) == "large"


def test_a_node_that_changes_may_help_whom_the_change_concerns() -> None:
    scheduler = waiting_for_cpu(make_node_info("n1"))
    for node in (
        make_node_info("n1", labels={"new": ""}),
        make_node_info("n1", labels={"new": ""}),
        make_node_info("n1", memory="99Gi"),
        make_node_info("n1", cpu=7),
    ):
        scheduler.handle(NodeUpserted(node), at(1))
        assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE
    scheduler.handle(NodeUpserted(make_node_info("n1", cpu=8)), at(1))
    assert bound_to(step(scheduler, 1)) == "n1"


def test_a_node_that_goes_is_no_longer_chosen() -> None:
    scheduler = stage(nodes=("n1", "n2"))
    scheduler.handle(NodeDeleted("n1"), at(0))
    for name in "abcd":
        assert bound_to(decide(scheduler, make_pod_info(name))) == "n2"
    scheduler.handle(NodeDeleted("n2"), at(0))
    effects = decide(scheduler, make_pod_info("e"))
    assert the(PatchPodCondition, effects).message == "no nodes available to schedule pods"


def test_a_node_that_goes_may_help_whom_that_concerns() -> None:
    class Lonely(Filtering, EnqueueExtensions):
        """Rejects every Pod until some Node is gone."""

        def events_to_register(self) -> Sequence[EventRegistration]:
            return [EventRegistration(ClusterEvent(EventResource.NODE, ActionType.DELETE))]

    rejecting = named("Lonely", Lonely)({"n1": Status(Code.UNSCHEDULABLE, ("no",))})
    scheduler = stage({"filter": [rejecting]})
    scheduler.handle(NodeUpserted(make_node_info("n1")), at(0))
    decide(scheduler, make_pod_info())
    assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE
    scheduler.handle(NodeDeleted("n1"), at(1))
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF


def test_a_node_that_comes_again_has_its_pods_still() -> None:
    scheduler = stage()
    scheduler.handle(PodUpserted(make_pod_info("big", node="n1", requests={"cpu": 4})), at(0))
    scheduler.handle(NodeDeleted("n1"), at(1))
    scheduler.handle(NodeUpserted(make_node_info("n1")), at(2))
    effects = decide(scheduler, make_pod_info(requests={"cpu": 1}))
    assert the(PatchPodCondition, effects).message == (
        "0/1 nodes are available: 1 Insufficient cpu."
    )


def test_backoff_doubles_and_ends_by_itself() -> None:
    scheduler = stage(nodes=())
    add(scheduler, make_pod_info())
    seconds, waits = 0.0, []
    for _ in range(6):
        step(scheduler, seconds)
        deadline = scheduler.next_deadline()
        assert deadline is not None
        assert scheduler.step(at(deadline - 0.001)) is None
        waits.append(deadline - seconds)
        seconds = deadline
        assert scheduler.expire(at(seconds)) == []
        assert scheduler.queue.place_of("uid-a") is Place.ACTIVE
    # Upstream waits until the whole second after: 1, 2, 4, 8, 10, 10.
    assert waits == [2, 3, 5, 9, 11, 11]


def test_backoff_may_be_configured() -> None:
    scheduler = stage(nodes=(), timing=Timing(3, 4))
    decide(scheduler, make_pod_info())
    assert scheduler.next_deadline() == 4
    step(scheduler, 4)
    assert scheduler.next_deadline() == 9


def test_the_next_deadline_is_that_of_the_queue_or_of_a_binding() -> None:
    waiting = Status(Code.WAIT)
    scheduler = stage({"permit": [named("P", Permitting)([], waiting, 100)]})
    decide(scheduler, make_pod_info())
    assert scheduler.next_deadline() == 100
    add(scheduler, make_pod_info("b", requests={"cpu": 99}), 1)
    step(scheduler, 1)
    # 5 minutes in the unschedulable pool, looked at every 30 s.
    assert scheduler.next_deadline() == 100
    scheduler.handle(PermitDecided("uid-a", "P"), at(2))
    assert scheduler.next_deadline() == 330


def test_each_pod_is_decided_by_its_own_profile() -> None:
    taints, sort, binder = TaintToleration(), PrioritySort(), DefaultBinder()
    strict: Points = {
        "queueSort": [sort],
        "preFilter": [taints],
        "filter": [taints],
        "bind": [binder],
    }
    lenient: Points = {"queueSort": [sort], "preEnqueue": [SchedulingGates()], "bind": [binder]}
    scheduler = Scheduler([Profile("strict", strict, {}), Profile("lenient", lenient, {})])
    tainted = make_node_info("n1", taints=[Taint("a", "NoSchedule")])
    scheduler.handle(NodeUpserted(tainted), at(0))
    decide(scheduler, make_pod_info("s", scheduler="strict", gates=["no plugin looks at it"]))
    assert scheduler.queue.place_of("uid-s") is Place.UNSCHEDULABLE
    assert bound_to(decide(scheduler, make_pod_info("l", scheduler="lenient"))) == "n1"
    add(scheduler, make_pod_info("g", scheduler="lenient", gates=["a"]))
    assert scheduler.queue.place_of("uid-g") is Place.GATED
    add(scheduler, make_pod_info("o", scheduler="other"))
    assert scheduler.queue.place_of("uid-o") is None


def test_what_happens_has_upstreams_names() -> None:
    scheduler = stage(nodes=())
    heard: list[list[str]] = []
    for event in (
        NodeUpserted(make_node_info("n1")),
        NodeUpserted(make_node_info("n1")),
        NodeUpserted(make_node_info("n1", cpu=8, labels={"a": "b"})),
        NodeDeleted("n1"),
        NodeDeleted("n1"),
        ObjectUpserted(ObjectKind.STORAGE_CLASS, Namespace(ObjectMeta("x"))),
        ObjectDeleted(ObjectKind.STORAGE_CLASS, "x"),
        ObjectUpserted(ObjectKind.POD_DISRUPTION_BUDGET, Namespace(ObjectMeta("x"))),
        BindSucceeded("uid-unknown"),
    ):
        scheduler.handle(event, at(0))
        heard.append(list(scheduler.heard))
    assert heard == [
        ["NodeAdd"],
        [],
        ["NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel"],
        ["NodeDelete"],
        [],
        ["storage.k8s.io/StorageClassAdd"],
        ["storage.k8s.io/StorageClassDelete"],
        [],
        [],
    ]


def test_pre_enqueue_and_hints_are_timed_if_somebody_wants_to_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scheduler_svc.core.pre_enqueue.MEASURED_ENTRIES", 1)
    measured = Measured()
    scheduler = stage(measuring=measured)
    add(scheduler, make_pod_info("free"))
    add(scheduler, make_pod_info("gated", gates=["g"]))
    entered = [("berthmaster",), ("PreEnqueue", "SchedulingGates", "Success"), ("finished",)]
    gated = ("PreEnqueue", "SchedulingGates", "UnschedulableAndUnresolvable")
    assert measured.notes == [*entered, ("berthmaster",), gated, ("finished",)]
    measured.notes.clear()
    decide(scheduler, make_pod_info("large", requests={"cpu": 99}))
    step(scheduler)
    scheduler.handle(NodeUpserted(make_node_info("n2")), at(100))
    assert ("NodeResourcesFit", "NodeAdd", "QueueSkip") in measured.notes


def test_attempts_count_for_plugins_by_profile() -> None:
    scheduler = stage()
    decide(scheduler, make_pod_info("a"))
    decide(scheduler, make_pod_info("b"))
    assert scheduler.drain_plugin_evaluations() == {
        ("NodeResourcesFit", "PreFilter", "berthmaster"): 2,
        ("NodeResourcesFit", "Filter", "berthmaster"): 2,
    }
    assert scheduler.drain_plugin_evaluations() == {}


def test_statistics() -> None:
    scheduler = stage()
    scheduler.handle(PodUpserted(make_pod_info("x", node="n1")), at(0))
    decide(scheduler, make_pod_info("a"))
    decide(scheduler, make_pod_info("b", requests={"cpu": 99}))
    add(scheduler, make_pod_info("c"))
    add(scheduler, make_pod_info("d", gates=["g"]))
    statistics = scheduler.statistics()
    assert statistics.node_count == 1
    assert statistics.pod_count == 2
    assert statistics.assumed_pod_count == 1
    assert statistics.binding_count == 1
    assert statistics.class_count == 2
    assert statistics.class_size_bytes > 0
    assert statistics.queue.active_count == 1
    assert statistics.queue.unschedulable_count == 1
    assert statistics.queue.gated_count == 1


def test_all_pods_are_given_once() -> None:
    scheduler = stage()
    scheduler.handle(PodUpserted(make_pod_info("x", node="n1", scheduler="other")), at(0))
    decide(scheduler, make_pod_info("a"))
    decide(scheduler, make_pod_info("b", requests={"cpu": 99}))
    add(scheduler, make_pod_info("d", gates=["g"]))
    assert sorted(pod.name for pod in scheduler.pods()) == ["a", "b", "d", "x"]


def test_validation_finds_a_pod_in_two_places() -> None:
    scheduler = stage()
    pod = make_pod_info()
    scheduler.cache.assume(pod, scheduler.columns.rows["n1"])
    scheduler.validate()
    scheduler.queue.add(pod, at(0))
    with pytest.raises(InvariantError, match="default/a is on a Node and waits for one, too"):
        scheduler.validate()


def test_validation_looks_into_the_queue_and_the_cache() -> None:
    scheduler = stage()
    scheduler.queue._pool.gated_count += 1
    with pytest.raises(InvariantError, match="gated_count is 1"):
        scheduler.validate()
    scheduler = stage()
    scheduler.cache.assumed_count += 1
    with pytest.raises(InvariantError, match="the count of assumed Pods is wrong"):
        scheduler.validate()


def test_plugins_work_goes_on_while_others_are_decided() -> None:
    calls: list[str] = []
    scheduler = stage({"preBind": [named("W", PreBinding)(calls, PreBindWork("x", 30))]})
    decide(scheduler, make_pod_info("a"))
    decide(scheduler, make_pod_info("b"))
    assert scheduler.statistics().binding_count == 2
    assert bound_to(scheduler.handle(PreBindFinished("uid-b", "W"), at(1))) == "n1"
    assert bound_to(scheduler.handle(PreBindFinished("uid-a", "W"), at(2))) == "n1"


def test_objects_are_kept_and_their_changes_call_waiting_pods() -> None:
    class Claims(Filtering, EnqueueExtensions):
        def events_to_register(self) -> Sequence[EventRegistration]:
            claim = EventResource.PERSISTENT_VOLUME_CLAIM
            return [EventRegistration(ClusterEvent(claim, ActionType.ADD))]

    no = Status(Code.UNSCHEDULABLE, ("no",))
    scheduler = stage({"filter": [named("Claims", Claims)({"n1": no})]})
    decide(scheduler, make_pod_info("a"))
    claim, other = make_claim("data"), Namespace(ObjectMeta("data"))
    kind = ObjectKind.PERSISTENT_VOLUME_CLAIM

    assert scheduler.handle(ObjectUpserted(ObjectKind.NAMESPACE, other), at(1)) == []
    assert scheduler.queue.statistics().unschedulable_count == 1
    assert scheduler.handle(ObjectUpserted(kind, claim), at(2)) == []
    assert scheduler.queue.statistics().unschedulable_count == 0
    assert scheduler.cluster.objects[kind].get("default", "data") is claim

    assert scheduler.handle(ObjectDeleted(kind, "default/data"), at(3)) == []
    assert scheduler.cluster.objects[kind].get("default", "data") is None
    assert scheduler.handle(ObjectDeleted(kind, "default/data"), at(4)) == []


def test_a_feed_is_for_the_plugin_that_has_its_name() -> None:
    class Fed(Filtering, FedPlugin):
        told: ClassVar[list[Any]] = []

        def take_in(self, value: Any) -> Status:
            self.told.append(value)
            return Status(Code.SUCCESS)

        def feed_event(self) -> ClusterEvent:
            return ClusterEvent(f"Feed/{self.name}", ActionType.UPDATE)

    scheduler = stage({"filter": [named("Fed", Fed)()]})
    assert scheduler.handle(FeedUpdated(SCHEDULER, "Other", 1), at(0)) == []
    assert scheduler.handle(FeedUpdated(SCHEDULER, "Fed", 2), at(0)) == []
    assert Fed.told == [2]
