"""Profiles that change while Pods wait, are being tried, or are on their way to a Node."""

from collections.abc import Sequence
from typing import Any

import pytest

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.effects import (
    AskAboutVictims,
    AskExtenders,
    BindPod,
    Effect,
    EvictPods,
    PatchPodCondition,
    RecordEvent,
    RunPreBind,
)
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    EvictionFinished,
    ExtendersAnswered,
    FeedUpdated,
    NodeUpserted,
    ObjectUpserted,
    PermitDecided,
    PodDeleted,
    PodUpserted,
    PreBindFinished,
    ProfileRemoved,
    ProfileSet,
    VictimsAnswered,
    VictimUids,
)
from scheduler_svc.core.extenders import Extender, Extenders
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.plugins.default_binder import DefaultBinder
from scheduler_svc.core.plugins.default_preemption import DefaultPreemption
from scheduler_svc.core.plugins.dynamic_resources import DynamicResources
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.plugins.priority_sort import PrioritySort
from scheduler_svc.core.plugins.scheduling_gates import SchedulingGates
from scheduler_svc.core.plugins.volume_binding import VolumeBinding
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Place
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.core.status import Code, Status
from tests.builders import SCHEDULER, at, make_node_info, make_pod_info
from tests.scripted_plugins import Filtering, Permitting, Reserving, Scoring, named
from tests.storage import HOSTNAME, make_claim, make_class, make_volume, pod_claiming
from tests.unit.scheduler_svc.core.staging import Points, add, bound_to, decide, stage, step, the

TABOO = Status(Code.UNSCHEDULABLE, ("node(s) are taboo",))
BATCH = "batch"
CAUSE = 'SchedulerProfile "night" was deleted'


def profile(
    points: Points | None = None, *, name: str = SCHEDULER, weights: dict[str, int] | None = None
) -> Profile:
    """Build a profile of no opinion but that of `points`."""
    plugins: dict[str, Sequence[Plugin]] = {
        "queueSort": [PrioritySort()],
        "bind": [DefaultBinder()],
        **(points or {}),
    }
    return Profile(name, plugins, weights or {})


def refusing(*nodes: str) -> Filtering:
    return named("Taboo", Filtering)(dict.fromkeys(nodes, TABOO))


def batch_pod(name: str = "a", **fields: Any) -> PodInfo:
    return make_pod_info(name, scheduler=BATCH, **fields)


def serving_both(**arguments: Any) -> Scheduler:
    """Build a scheduler to which the profile `batch` has come."""
    scheduler = stage(**arguments)
    scheduler.keep_unserved()
    assert scheduler.set_profile(profile(name=BATCH), at(0)) == []
    return scheduler


def events(effects: Sequence[Effect]) -> list[tuple[str, str]]:
    return [(e.pod.name, e.reason) for e in effects if isinstance(e, RecordEvent)]


def test_the_attempt_after_a_change_is_the_new_profiles() -> None:
    scheduler = stage({"filter": [refusing("n2")]}, nodes=("n1", "n2"))
    assert bound_to(decide(scheduler, make_pod_info("a"))) == "n1"
    scheduler.handle(ProfileSet(profile({"filter": [refusing("n1")]})), at(1))
    assert bound_to(decide(scheduler, make_pod_info("b"), 1)) == "n2"
    assert scheduler.profiles[SCHEDULER].filter[0].name == "Taboo"


def test_weights_that_change_turn_the_choice() -> None:
    here = named("Here", Scoring)({"n1": 10})
    there = named("There", Scoring)({"n2": 9})
    points: Points = {"score": [here, there]}
    scheduler = stage(points, nodes=("n1", "n2"))
    assert bound_to(decide(scheduler, make_pod_info("a"))) == "n1"
    scheduler.set_profile(profile(points, weights={"There": 2}), at(1))
    assert bound_to(decide(scheduler, make_pod_info("b"), 1)) == "n2"


def test_pods_that_the_former_profile_rejected_are_judged_anew() -> None:
    scheduler = stage({"filter": [refusing("n1")]})
    decide(scheduler, make_pod_info("a"))
    assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE
    scheduler.set_profile(profile(), at(0.1))
    assert scheduler.queue.place_of("uid-a") is Place.ACTIVE
    assert bound_to(step(scheduler, 0.1)) == "n1"


def test_gates_are_those_of_the_profile_as_it_is_now() -> None:
    scheduler = stage(nodes=("n1",))
    add(scheduler, make_pod_info("a", gates=["wait"]))
    assert scheduler.queue.place_of("uid-a") is Place.GATED
    scheduler.set_profile(profile(), at(1))
    assert scheduler.queue.place_of("uid-a") is Place.ACTIVE
    scheduler.set_profile(profile({"preEnqueue": [SchedulingGates()]}), at(2))
    assert scheduler.queue.place_of("uid-a") is Place.GATED
    scheduler.validate()


def test_other_profiles_pods_are_left_alone() -> None:
    scheduler = serving_both()
    decide(scheduler, make_pod_info("a", requests={"cpu": 9}))
    scheduler.set_profile(profile(name=BATCH), at(1))
    assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE


def test_a_binding_under_way_ends_with_the_profile_that_began_it() -> None:
    calls: list[str] = []
    holding = named("Hold", Permitting)(calls, Status(Code.WAIT), 60)
    reserving = named("Keep", Reserving)(calls)
    scheduler = stage({"permit": [holding], "reserve": [reserving]})
    decide(scheduler, make_pod_info("a"))
    scheduler.set_profile(profile(), at(1))
    assert scheduler.queue.place_of("uid-a") is Place.IN_FLIGHT
    before = len(calls)
    effects = scheduler.handle(PermitDecided("uid-a", "Hold", "no"), at(2))
    assert [call for call in calls[before:] if "unreserve" in call] != []
    assert the(PatchPodCondition, effects).message == "no"
    # Its next attempt is the new profile's, which nobody holds up at Permit.
    scheduler.set_profile(profile(), at(3))
    assert bound_to(step(scheduler, 3)) == "n1"


def test_what_is_rejected_by_the_former_profile_after_the_change_waits_for_no_event() -> None:
    holding = named("Hold", Permitting)([], Status(Code.WAIT), 60)
    scheduler = stage({"permit": [holding]})
    decide(scheduler, make_pod_info("a"))
    scheduler.set_profile(profile(), at(1))
    scheduler.handle(PermitDecided("uid-a", "Hold", "no"), at(2))
    # The profile that it came back to has nobody called Hold: any event helps.
    scheduler.handle(NodeUpserted(make_node_info("n2")), at(2))
    assert scheduler.queue.place_of("uid-a") in {Place.ACTIVE, Place.BACKOFF}


def test_decision_ids_of_profiles_never_meet() -> None:
    scheduler = serving_both(instance="i")
    ids = []
    for number in range(3):
        pods = (make_pod_info(f"a{number}"), batch_pod(f"b{number}"))
        ids += [the(BindPod, decide(scheduler, pod, number)).decision_id for pod in pods]
        scheduler.set_profile(profile(), at(number))
        scheduler.set_profile(profile(name=BATCH), at(number))
    assert len(set(ids)) == 6
    assert all(id_.startswith("i-") for id_ in ids)


def test_what_plugins_were_asked_is_counted_past_a_change() -> None:
    scheduler = stage()
    decide(scheduler, make_pod_info("a"))
    scheduler.set_profile(profile({"filter": [refusing("n2")]}), at(1))
    decide(scheduler, make_pod_info("b"), 1)
    scheduler.set_profile(profile(), at(2))
    counts = scheduler.drain_plugin_evaluations()
    assert counts["NodeResourcesFit", "Filter", SCHEDULER] == 1
    assert counts["Taboo", "Filter", SCHEDULER] == 1
    assert scheduler.drain_plugin_evaluations() == {}


def test_a_name_that_is_served_from_now_on_finds_the_pods_that_waited() -> None:
    scheduler = stage(nodes=("n1", "n2"))
    scheduler.keep_unserved()
    for pod in (batch_pod("a"), batch_pod("b"), batch_pod("c"), batch_pod("d")):
        add(scheduler, pod)
    add(scheduler, batch_pod("b", node="n1", version="2"))
    scheduler.handle(PodDeleted("uid-c"), at(0))
    assert scheduler.step(at(0)) is None
    scheduler.handle(ProfileSet(profile(name=BATCH)), at(1))
    assert set(scheduler.pending) == {"uid-a", "uid-d"}
    assert [the(BindPod, step(scheduler, 1)).pod.name for _ in range(2)] == ["a", "d"]
    assert scheduler.step(at(1)) is None


def test_pods_of_others_are_not_kept_without_need() -> None:
    scheduler = stage()
    add(scheduler, batch_pod())
    scheduler.set_profile(profile(name=BATCH), at(1))
    assert scheduler.step(at(1)) is None


def test_pods_of_a_profile_that_goes_leave_the_queue_and_are_told() -> None:
    scheduler = serving_both()
    scheduler.set_profile(
        profile({"preEnqueue": [SchedulingGates()], "filter": [refusing("n1")]}, name=BATCH), at(0)
    )
    decide(scheduler, batch_pod("a"))
    add(scheduler, batch_pod("b", gates=["wait"]))
    add(scheduler, batch_pod("c"))
    add(scheduler, batch_pod("d", is_terminating=True))
    add(scheduler, make_pod_info("e", requests={"cpu": 9}))
    effects = scheduler.handle(ProfileRemoved(BATCH, CAUSE), at(1))
    assert sorted(events(effects)) == [(name, "SchedulerProfileDeleted") for name in "abc"]
    note = next(effect.note for effect in effects if isinstance(effect, RecordEvent))
    assert note.startswith(f'{CAUSE}: no profile serves schedulerName "batch" any more.')
    assert note.endswith(f"that is served: {SCHEDULER}")
    assert [scheduler.queue.place_of(f"uid-{name}") for name in "abcd"] == [None] * 4
    assert set(scheduler.pending) == {"uid-e"}
    scheduler.validate()
    assert scheduler.remove_profile(BATCH, at(1), CAUSE) == []


def test_what_waits_for_a_profile_that_is_gone_is_found_once_it_is_back() -> None:
    scheduler = serving_both()
    add(scheduler, batch_pod("a"))
    scheduler.remove_profile(BATCH, at(1), CAUSE)
    add(scheduler, batch_pod("b"), 2)
    assert scheduler.step(at(2)) is None
    scheduler.set_profile(profile(name=BATCH), at(3))
    assert [the(BindPod, step(scheduler, 3)).pod.name for _ in range(2)] == ["a", "b"]


def test_nominations_end_with_the_profile() -> None:
    scheduler = serving_both()
    add(scheduler, batch_pod("a", nominated="n1", priority=5))
    assert len(scheduler.nominator) == 1
    scheduler.remove_profile(BATCH, at(1), CAUSE)
    assert len(scheduler.nominator) == 0


def test_what_is_assumed_is_bound_though_its_profile_is_gone() -> None:
    scheduler = serving_both()
    decide(scheduler, batch_pod("a"))
    assert scheduler.remove_profile(BATCH, at(1), CAUSE) == []
    add(scheduler, batch_pod("a", version="2"), 1)
    effects = scheduler.handle(BindSucceeded("uid-a"), at(2))
    assert events(effects) == [("a", "Scheduled")]
    add(scheduler, batch_pod("a", node="n1", version="3"), 2)
    scheduler.validate()
    assert scheduler.statistics().assumed_pod_count == 0
    assert not scheduler.pending


def test_what_was_assumed_and_fails_is_told_that_nobody_tries_again() -> None:
    scheduler = serving_both()
    decide(scheduler, batch_pod("a"))
    scheduler.remove_profile(BATCH, at(1), CAUSE)
    effects = scheduler.handle(BindFailed("uid-a", BindFailure.REFUSED, "no"), at(2))
    assert events(effects) == [("a", "SchedulerProfileDeleted")]
    assert scheduler.queue.place_of("uid-a") is None
    assert scheduler.step(at(99)) is None
    assert not scheduler.pending
    scheduler.set_profile(profile(name=BATCH), at(100))
    assert bound_to(step(scheduler, 100)) == "n1"


@pytest.mark.parametrize("is_told_before", [False, True])
def test_what_waits_on_permit_is_told_once_it_is_turned_away(*, is_told_before: bool) -> None:
    scheduler = serving_both()
    holding = named("Hold", Permitting)([], Status(Code.WAIT), 60)
    scheduler.set_profile(profile({"permit": [holding]}, name=BATCH), at(0))
    decide(scheduler, batch_pod("a"))
    assert events(scheduler.remove_profile(BATCH, at(1), CAUSE)) == []
    if is_told_before:
        effects = scheduler.handle(
            PodUpserted(batch_pod("a", is_terminating=True, version="2")), at(2)
        )
        assert events(effects) == []
    else:
        effects = scheduler.handle(PermitDecided("uid-a", "Hold", "no"), at(2))
        assert events(effects) == [("a", "SchedulerProfileDeleted")]
        assert not scheduler.pending
    assert scheduler.queue.place_of("uid-a") is None
    assert scheduler.statistics().assumed_pod_count == 0
    scheduler.validate()


def test_a_feed_of_a_profile_that_is_gone_says_nothing() -> None:
    scheduler = serving_both()
    scheduler.remove_profile(BATCH, at(1), CAUSE)
    assert scheduler.handle(FeedUpdated(BATCH, "Fed", 1), at(2)) == []


ASKING = Extenders([Extender(0, filters=True)])


def asked(scheduler: Scheduler, pod: PodInfo) -> AskExtenders:
    return the(AskExtenders, decide(scheduler, pod))


def answered(scheduler: Scheduler, question: AskExtenders, seconds: float) -> list[Effect]:
    answer = ExtendersAnswered(question.pod.uid, question.ticket, passing=question.node_names)
    effects = scheduler.handle(answer, at(seconds))
    scheduler.validate()
    return effects


def test_an_attempt_that_waits_for_extenders_begins_anew() -> None:
    scheduler = stage({"filter": [refusing("n2")]}, nodes=("n1", "n2"), extenders=ASKING)
    former = asked(scheduler, make_pod_info("a"))
    scheduler.set_profile(profile({"filter": [refusing("n1")]}), at(1))
    assert scheduler.queue.place_of("uid-a") is Place.ACTIVE
    assert answered(scheduler, former, 1) == []
    question = the(AskExtenders, step(scheduler, 1))
    assert question.node_names == ("n2",)
    assert answered(scheduler, former, 1) == []
    assert bound_to(answered(scheduler, question, 2)) == "n2"


def test_an_attempt_that_waits_for_extenders_ends_with_its_profile() -> None:
    scheduler = serving_both(extenders=ASKING)
    question = asked(scheduler, batch_pod("a"))
    assert events(scheduler.remove_profile(BATCH, at(1), CAUSE)) == [
        ("a", "SchedulerProfileDeleted")
    ]
    assert answered(scheduler, question, 2) == []
    assert scheduler.statistics().queue.in_flight_count == 0
    assert scheduler.statistics().parked_count == 0


def test_victims_that_a_former_attempt_asked_about_are_left_alone() -> None:
    points: Points = {
        "postFilter": [DefaultPreemption()],
        "preFilter": [NodeResourcesFit()],
        "filter": [NodeResourcesFit()],
    }
    scheduler = stage(points, extenders=Extenders([Extender(0, preempts=True)]))
    add(scheduler, make_pod_info("low", node="n1", priority=1, requests={"cpu": 3}))
    wants = make_pod_info("new", priority=10, requests={"cpu": 3})
    question = the(AskAboutVictims, decide(scheduler, wants, 1))
    scheduler.set_profile(profile({**points, "postFilter": []}), at(2))
    victims = {"n1": VictimUids(("uid-low",), 0)}
    assert scheduler.handle(VictimsAnswered("uid-new", question.ticket, victims), at(2)) == []
    assert the(PatchPodCondition, step(scheduler, 2)).message.startswith("0/1 nodes are available")


def test_a_preemptor_whose_profile_goes_does_not_come_back_from_the_eviction() -> None:
    fit = NodeResourcesFit()
    preempting: Points = {"postFilter": [DefaultPreemption()], "preFilter": [fit], "filter": [fit]}
    scheduler = serving_both()
    scheduler.set_profile(profile(preempting, name=BATCH), at(0))
    add(scheduler, make_pod_info("low", node="n1", priority=1, requests={"cpu": 3}))
    wants = batch_pod("new", priority=10, requests={"cpu": 3})
    eviction = the(EvictPods, decide(scheduler, wants, 1))
    assert scheduler.queue.place_of("uid-new") is Place.IN_FLIGHT
    assert events(scheduler.remove_profile(BATCH, at(2), CAUSE)) == [
        ("new", "SchedulerProfileDeleted")
    ]
    scheduler.handle(EvictionFinished(eviction.eviction_id), at(3))
    scheduler.handle(PodDeleted("uid-low"), at(3))
    assert scheduler.queue.place_of("uid-new") is None
    assert scheduler.statistics().queue.in_flight_count == 0
    scheduler.validate()


def test_a_preemptor_whose_profile_is_back_before_the_eviction_ends_goes_on() -> None:
    fit = NodeResourcesFit()
    preempting: Points = {"postFilter": [DefaultPreemption()], "preFilter": [fit], "filter": [fit]}
    scheduler = serving_both()
    scheduler.set_profile(profile(preempting, name=BATCH), at(0))
    add(scheduler, make_pod_info("low", node="n1", priority=1, requests={"cpu": 3}))
    eviction = the(
        EvictPods, decide(scheduler, batch_pod("new", priority=10, requests={"cpu": 3}), 1)
    )
    scheduler.remove_profile(BATCH, at(2), CAUSE)
    scheduler.set_profile(profile(preempting, name=BATCH), at(2))
    scheduler.validate()
    scheduler.handle(EvictionFinished(eviction.eviction_id), at(3))
    scheduler.handle(PodDeleted("uid-low"), at(3))
    scheduler.expire(at(60))
    assert bound_to(step(scheduler, 60)) == "n1"


def volume_profile(timeout_seconds: float) -> Profile:
    plugin = VolumeBinding(timeout_seconds)
    points = ("preFilter", "filter", "reserve", "preBind")
    return profile({point: [plugin] for point in points})


def with_volumes() -> Scheduler:
    """Build a scheduler with one volume that two claims may have."""
    scheduler = Scheduler([volume_profile(600)])
    scheduler.handle(NodeUpserted(make_node_info("n1", labels={HOSTNAME: "n1"})), at(0))
    for kind, objects in (
        (ObjectKind.STORAGE_CLASS, [make_class()]),
        (ObjectKind.PERSISTENT_VOLUME, [make_volume("pv", on="n1")]),
        (ObjectKind.PERSISTENT_VOLUME_CLAIM, [make_claim("data"), make_claim("other")]),
    ):
        for each in objects:
            scheduler.handle(ObjectUpserted(kind, each), at(0))
    return scheduler


def test_a_pod_in_prebind_gets_its_volumes_though_the_profile_changes() -> None:
    scheduler = with_volumes()
    work = the(RunPreBind, decide(scheduler, pod_claiming("data", name="p")))
    scheduler.set_profile(volume_profile(60), at(1))
    # What is assumed of the volume holds for the new profile.
    rejected = decide(scheduler, pod_claiming("other", name="q"), 1)
    assert "didn't find available persistent volumes" in the(PatchPodCondition, rejected).message
    scheduler.handle(PreBindFinished("uid-p", work.plugin), at(2))
    bound = make_volume("pv", on="n1", claim="data", phase="Bound")
    scheduler.handle(ObjectUpserted(ObjectKind.PERSISTENT_VOLUME, bound), at(2))
    claim = make_claim("data", volume="pv", phase="Bound")
    effects = scheduler.handle(ObjectUpserted(ObjectKind.PERSISTENT_VOLUME_CLAIM, claim), at(2))
    assert bound_to(effects) == "n1"
    scheduler.validate()


def test_what_the_former_profile_gives_back_calls_pods_of_the_new_one() -> None:
    scheduler = with_volumes()
    work = the(RunPreBind, decide(scheduler, pod_claiming("data", name="p")))
    scheduler.set_profile(volume_profile(60), at(1))
    decide(scheduler, pod_claiming("other", name="q"), 1)
    assert scheduler.queue.place_of("uid-q") is Place.UNSCHEDULABLE
    scheduler.handle(PreBindFinished("uid-p", work.plugin, "refused"), at(60))
    assert scheduler.queue.place_of("uid-q") is Place.ACTIVE


def test_devices_set_aside_by_the_former_plugin_are_the_new_ones_too() -> None:
    scheduler = stage()
    plugins = [DynamicResources(), DynamicResources(binding_timeout_seconds=5)]
    for number, plugin in enumerate(plugins):
        scheduler.set_profile(profile({"preFilter": [plugin], "filter": [plugin]}), at(number))
    first, second = (plugin._reservations for plugin in plugins)
    assert first is second
    assert first is scheduler.cluster.devices.kept["DynamicResources"]
