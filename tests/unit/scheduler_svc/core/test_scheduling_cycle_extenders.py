"""Preemption and Bindings that extenders have a say in, through the whole scheduler."""

import pytest

from scheduler_svc.core.effects import (
    AskAboutVictims,
    AskExtenders,
    BindPod,
    Effect,
    EvictPods,
    PatchPodCondition,
    ReportAttempt,
    ReportPreemption,
)
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    ExtendersAnswered,
    PodDeleted,
    VictimsAnswered,
    VictimUids,
)
from scheduler_svc.core.extenders import Extender, Extenders
from scheduler_svc.core.plugins.default_preemption import DefaultPreemption
from scheduler_svc.core.queue import Place
from scheduler_svc.core.scheduler import Scheduler
from tests.builders import at, make_pod_info
from tests.unit.scheduler_svc.core.staging import add, decide, stage, the

STRICT = Extender(0, preempts=True)
IGNORABLE = Extender(1, preempts=True, is_ignorable=True)
IN_THE_WAY = {"n1": "uid-a", "n2": "uid-b"}


def preempting(*extenders: Extender) -> Scheduler:
    scheduler = stage(
        {"postFilter": [DefaultPreemption()]},
        nodes=("n1", "n2"),
        extenders=Extenders(extenders or (STRICT,)),
    )
    for node, uid in IN_THE_WAY.items():
        name = uid.removeprefix("uid-")
        add(scheduler, make_pod_info(name, node=node, priority=1, requests={"cpu": 3}))
    return scheduler


def ask(scheduler: Scheduler) -> AskAboutVictims:
    wants = make_pod_info("new", priority=10, requests={"cpu": 3})
    [question] = decide(scheduler, wants, 1)
    assert isinstance(question, AskAboutVictims)
    return question


def answer(
    scheduler: Scheduler, question: AskAboutVictims, *nodes: str, error: str = ""
) -> list[Effect]:
    victims = {node: VictimUids((IN_THE_WAY[node],), 0) for node in nodes}
    event = VictimsAnswered("uid-new", question.ticket, victims, error=error)
    effects = scheduler.handle(event, at(2))
    scheduler.validate()
    return effects


def test_only_victims_that_the_extender_allows_are_evicted() -> None:
    scheduler = preempting()
    question = ask(scheduler)
    assert question.victims.keys() == {"n1", "n2"}
    assert scheduler.queue.place_of("uid-new") is Place.IN_FLIGHT
    effects = answer(scheduler, question, "n2")
    assert [victim.pod.name for victim in the(EvictPods, effects).victims] == ["b"]
    assert the(PatchPodCondition, effects).nominated_node_name == "n2"
    assert the(PatchPodCondition, effects).message == (
        "0/2 nodes are available: 2 Insufficient cpu."
    )
    assert the(ReportPreemption, effects).victim_count == 1
    assert scheduler.queue.place_of("uid-new") is Place.IN_FLIGHT


def test_extenders_are_asked_one_after_the_other() -> None:
    scheduler = preempting(STRICT, IGNORABLE)
    [second] = answer(scheduler, ask(scheduler), "n1")
    assert isinstance(second, AskAboutVictims)
    assert second.extender == 1
    assert list(second.victims) == ["n1"]
    effects = answer(scheduler, second, error="no answer")
    assert [victim.pod.name for victim in the(EvictPods, effects).victims] == ["a"]


def test_nothing_is_evicted_where_the_extender_allows_nothing() -> None:
    scheduler = preempting()
    effects = answer(scheduler, ask(scheduler))
    assert the(PatchPodCondition, effects).message == (
        "0/2 nodes are available: 2 Insufficient cpu. preemption: no candidate node for preemption"
    )
    assert the(ReportPreemption, effects).victim_count == 0
    assert scheduler.queue.place_of("uid-new") is Place.UNSCHEDULABLE


def test_an_error_of_the_extender_is_told() -> None:
    scheduler = preempting()
    effects = answer(scheduler, ask(scheduler), error="no answer within 5 s")
    assert the(PatchPodCondition, effects).message == (
        "0/2 nodes are available: 2 Insufficient cpu. preemption: no answer within 5 s"
    )


def test_nothing_is_evicted_for_a_pod_that_is_gone() -> None:
    scheduler = preempting()
    question = ask(scheduler)
    scheduler.handle(PodDeleted("uid-new"), at(1))
    assert answer(scheduler, question, "n1") == []
    assert scheduler.queue.place_of("uid-new") is None


def test_a_node_that_an_extender_filtered_out_may_be_a_candidate() -> None:
    both = Extender(0, filters=True, preempts=True)
    scheduler = stage(
        {"postFilter": [DefaultPreemption()]}, nodes=("n1",), extenders=Extenders([both])
    )
    [question] = decide(scheduler, make_pod_info("new", priority=10), 1)
    assert isinstance(question, AskExtenders)
    event = ExtendersAnswered("uid-new", question.ticket, failed={"n1": "full"})
    effects = scheduler.handle(event, at(2))
    assert the(PatchPodCondition, effects).message == (
        "0/1 nodes are available: 1 full. preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )


def binding(scheduler: Scheduler) -> BindPod:
    [effect] = decide(scheduler, make_pod_info(), 1)
    assert isinstance(effect, BindPod)
    return effect


def test_an_extender_binds_instead_of_us() -> None:
    scheduler = stage(extenders=Extenders([Extender(0), Extender(1, binds=True)]))
    assert binding(scheduler).extender == 1
    assert len(scheduler.handle(BindSucceeded("uid-a"), at(2))) == 2


@pytest.mark.parametrize(
    ("by_extender", "text"),
    [(True, "refused"), (False, 'running Bind plugin "DefaultBinder": refused')],
)
def test_a_failure_is_told_as_that_of_who_was_to_bind(by_extender: bool, text: str) -> None:
    scheduler = stage(extenders=Extenders([Extender(0, binds=True)]))
    binding(scheduler)
    event = BindFailed("uid-a", BindFailure.REFUSED, "refused", by_extender)
    assert the(ReportAttempt, scheduler.handle(event, at(2))).message == text
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF
