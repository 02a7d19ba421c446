"""Nodes that come, change and go, and Pods that their kubelets refuse."""

import pytest
from msgspec import structs

from scheduler_svc.core.effects import Effect, EventType, RecordEvent, ReportRefusal
from scheduler_svc.core.events import (
    BindSucceeded,
    NodeDeleted,
    NodeUpserted,
    PodDeleted,
    PodRefused,
    PodUpserted,
)
from scheduler_svc.core.queue import Place
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.core.withheld_room import WITHHELD_SECONDS
from tests.builders import at, make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.staging import bound_to, decide, stage, step

THREE = {"cpu": 3}
# The Pod's own three are not among what is used.
HIDDEN = "Node didn't have enough resource: cpu, requested: 3000, used: 2500, capacity: 4000"
LOST = "Node didn't have enough resource: cpu, requested: 3000, used: 3000, capacity: 4000"


def refusal(name: str = "a", message: str = HIDDEN) -> PodRefused:
    return PodRefused(
        namespace="default",
        name=name,
        uid=f"uid-{name}",
        scheduler_name="berthmaster",
        node_name="n1",
        reason="OutOfcpu",
        message=message,
        decision_id="berthmaster-1",
    )


def bind(scheduler: Scheduler, name: str = "a", seconds: float = 0) -> None:
    """Have a Pod of three CPUs bound, and confirmed by the watch."""
    effects = decide(scheduler, make_pod_info(name, requests=THREE), seconds)
    assert bound_to(effects) == "n1"
    scheduler.handle(BindSucceeded(f"uid-{name}"), at(seconds))
    scheduler.handle(PodUpserted(make_pod_info(name, requests=THREE, node="n1")), at(seconds))


def refuse(scheduler: Scheduler, event: PodRefused) -> list[Effect]:
    """Tell that a Pod is refused, and then that it takes no room any more."""
    effects = scheduler.handle(event, at(0))
    scheduler.validate()
    scheduler.handle(PodDeleted(event.uid), at(0))
    scheduler.validate()
    return effects


def free_milli_cpu(scheduler: Scheduler) -> int:
    columns = scheduler.columns
    return int(columns.free[columns.resource_row("cpu"), columns.rows["n1"]])


def test_node_that_lacks_room_is_avoided_until_its_time_is_over() -> None:
    scheduler = stage()
    bind(scheduler)
    refuse(scheduler, refusal())
    assert free_milli_cpu(scheduler) == 1500
    assert scheduler.statistics().withheld_node_count == 1

    decide(scheduler, make_pod_info("next", requests=THREE), 1)
    assert scheduler.queue.place_of("uid-next") is Place.UNSCHEDULABLE
    assert scheduler.next_deadline() == at(WITHHELD_SECONDS).monotonic_seconds
    scheduler.expire(at(WITHHELD_SECONDS))
    assert scheduler.statistics().withheld_node_count == 0
    assert free_milli_cpu(scheduler) == 4000
    # It is called by that, and by no flush: those of others come after five minutes.
    assert scheduler.queue.place_of("uid-next") is Place.ACTIVE
    assert bound_to(step(scheduler, WITHHELD_SECONDS)) == "n1"


def test_pod_that_turns_up_ends_it() -> None:
    scheduler = stage()
    bind(scheduler)
    refuse(scheduler, refusal())
    static = make_pod_info("static", scheduler="", node="n1", requests={"cpu": "2500m"})
    scheduler.handle(PodUpserted(static), at(1))
    scheduler.validate()
    assert scheduler.statistics().withheld_node_count == 0
    assert free_milli_cpu(scheduler) == 1500
    scheduler.handle(PodUpserted(static), at(1))
    assert free_milli_cpu(scheduler) == 1500


def test_who_bound_the_pod_tells_of_it() -> None:
    scheduler = stage()
    bind(scheduler)
    report, told = refuse(scheduler, refusal())
    assert isinstance(report, ReportRefusal)
    assert report.pod.uid == "uid-a"
    assert (report.node_name, report.reason, report.message) == ("n1", "OutOfcpu", HIDDEN)
    assert report.withheld == "2500m cpu"
    assert isinstance(told, RecordEvent)
    assert (told.type, told.reason, told.pod) == (
        EventType.WARNING,
        "RefusedByKubelet",
        report.pod,
    )
    assert told.note == (
        "Node n1 refused the pod: OutOfcpu. Its kubelet has 2500m cpu less than the pods here add "
        "up to: no pod is sent there for it until that is accounted for, 30 s at most."
    )


def test_lost_race_withholds_nothing() -> None:
    scheduler = stage()
    bind(scheduler)
    winner = make_pod_info("winner", scheduler="default-scheduler", node="n1", requests=THREE)
    scheduler.handle(PodUpserted(winner), at(0))
    report, told = refuse(scheduler, refusal(message=LOST))
    assert isinstance(report, ReportRefusal)
    assert report.withheld == ""
    assert isinstance(told, RecordEvent)
    assert told.note == (
        "Node n1 refused the pod: OutOfcpu. Others took the room first, and are counted by now."
    )
    assert free_milli_cpu(scheduler) == 1000
    assert scheduler.statistics().withheld_node_count == 0


def test_winner_that_is_told_of_later_is_no_second_time_withheld() -> None:
    scheduler = stage()
    bind(scheduler)
    refuse(scheduler, refusal(message=LOST))
    assert free_milli_cpu(scheduler) == 1000
    winner = make_pod_info("winner", scheduler="default-scheduler", node="n1", requests=THREE)
    scheduler.handle(PodUpserted(winner), at(0))
    assert free_milli_cpu(scheduler) == 1000
    assert scheduler.statistics().withheld_node_count == 0


def test_refusal_for_another_reason_says_so() -> None:
    scheduler = stage()
    bind(scheduler)
    event = structs.replace(
        refusal(message="Resources cannot be allocated with Topology locality"),
        reason="TopologyAffinityError",
    )
    _, told = refuse(scheduler, event)
    assert isinstance(told, RecordEvent)
    assert told.note == (
        "Node n1 refused the pod: TopologyAffinityError. What the kubelet goes by is not known "
        "here."
    )


@pytest.mark.parametrize("decision_id", ["other-1", ""])
def test_pods_that_others_bound_are_learned_from_and_not_told_of(decision_id: str) -> None:
    scheduler = stage()
    bind(scheduler)
    assert refuse(scheduler, structs.replace(refusal(), decision_id=decision_id)) == []
    assert free_milli_cpu(scheduler) == 1500


def test_it_is_the_same_whichever_watch_tells_first() -> None:
    scheduler = stage()
    bind(scheduler)
    scheduler.handle(PodDeleted("uid-a"), at(0))
    refuse(scheduler, refusal())
    assert free_milli_cpu(scheduler) == 1500


def test_news_of_before_the_refusal_account_for_nothing() -> None:
    scheduler = stage()
    bind(scheduler)
    scheduler.handle(refusal(), at(0))
    scheduler.handle(PodUpserted(make_pod_info("a", requests=THREE, node="n1")), at(0))
    scheduler.handle(PodDeleted("uid-a"), at(0))
    scheduler.validate()
    assert free_milli_cpu(scheduler) == 1500


def test_room_stays_withheld_while_the_node_says_the_same() -> None:
    scheduler = stage()
    bind(scheduler)
    refuse(scheduler, refusal())
    scheduler.handle(NodeUpserted(make_node_info("n1", labels={"zone": "a"})), at(1))
    assert free_milli_cpu(scheduler) == 1500
    scheduler.handle(NodeUpserted(make_node_info("n1", cpu=2)), at(1))
    assert free_milli_cpu(scheduler) == 2000


def test_node_that_goes_and_comes_is_a_new_one() -> None:
    scheduler = stage()
    bind(scheduler)
    refuse(scheduler, refusal())
    assert scheduler.handle(NodeDeleted("n1"), at(1)) == []
    assert scheduler.handle(NodeDeleted("n1"), at(1)) == []
    scheduler.handle(NodeUpserted(make_node_info("n1")), at(1))
    assert free_milli_cpu(scheduler) == 4000
    scheduler.validate()
