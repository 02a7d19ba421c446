"""Pending Pods that none of our profiles is for."""

from scheduler_svc.core.effects import EventType, PodReference, RecordEvent
from scheduler_svc.core.unserved import UnservedPods
from tests.builders import make_pod_info


def keeping() -> UnservedPods:
    unserved = UnservedPods()
    unserved.keeps = True
    return unserved


def test_nothing_is_kept_unless_it_may_be_of_use() -> None:
    unserved = UnservedPods()
    unserved.note(make_pod_info("a", scheduler="other"))
    assert len(unserved) == 0


def test_pods_are_given_up_by_name_in_the_order_in_which_they_came() -> None:
    unserved = keeping()
    for name, scheduler in (("a", "x"), ("b", "y"), ("c", "x"), ("d", "x")):
        unserved.note(make_pod_info(name, scheduler=scheduler))
    unserved.note(make_pod_info("c", scheduler="x", version="2"))
    unserved.forget("uid-d")
    unserved.forget("uid-unheard-of")
    assert [(p.name, p.resource_version) for p in unserved.take("x")] == [("a", "1"), ("c", "2")]
    assert len(unserved) == 1
    assert unserved.take("x") == []


def test_users_are_told_what_happened_and_what_they_can_do() -> None:
    unserved = keeping()
    unserved.causes["batch"] = 'SchedulerProfile "night" was deleted'
    assert unserved.farewell(make_pod_info("a", scheduler="batch"), ["gpu", "berth"]) == (
        RecordEvent(
            pod=PodReference("default", "a", "uid-a"),
            scheduler_name="batch",
            type=EventType.WARNING,
            reason="SchedulerProfileDeleted",
            action="Scheduling",
            note='SchedulerProfile "night" was deleted: no profile serves schedulerName "batch" '
            "any more. Create one that does, or create the Pod anew with a schedulerName that is "
            "served: berth, gpu",
        )
    )
