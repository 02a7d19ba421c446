"""Extenders and Nodes: what they are asked, and what becomes of the Pod by what they say."""

from collections.abc import Mapping

import pytest

from scheduler_svc.core.effects import (
    AskExtenders,
    AttemptResult,
    BindPod,
    Effect,
    PatchPodCondition,
    PodReference,
    ReportAttempt,
)
from scheduler_svc.core.events import (
    ExtendersAnswered,
    NodeDeleted,
    NodeUpserted,
    PodDeleted,
    PodUpserted,
    VictimsAnswered,
)
from scheduler_svc.core.extenders import Extender, Extenders
from scheduler_svc.core.framework.interface import PreFilterResult
from scheduler_svc.core.queue import Place
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.core.status import Code, Status
from tests.builders import GPU, at, make_node_info, make_pod_info
from tests.scripted_plugins import PreFiltering, Scoring, named
from tests.unit.scheduler_svc.core.staging import Points, add, bound_to, decide, stage, step, the

FILTER = Extender(0, filters=True)
PRIORITIZE = Extender(1, prioritizes=True)
NODES = ("n1", "n2", "n3")


def extended(
    *extenders: Extender,
    nodes: tuple[str, ...] = NODES,
    points: Points | None = None,
    percentage: int = 0,
) -> Scheduler:
    percentages = {"berthmaster": percentage}
    return stage(
        points, nodes=nodes, extenders=Extenders(extenders or (FILTER, PRIORITIZE), percentages)
    )


def answer(
    scheduler: Scheduler,
    question: AskExtenders,
    passing: tuple[str, ...] = (),
    *,
    failed: Mapping[str, str] | None = None,
    scores: Mapping[str, int] | None = None,
    error: str = "",
    seconds: float = 1,
) -> list[Effect]:
    event = ExtendersAnswered(
        question.pod.uid,
        question.ticket,
        passing=passing,
        failed=failed or {},
        scores=scores or {},
        error=error,
    )
    effects = scheduler.handle(event, at(seconds))
    scheduler.validate()
    return effects


def message(effects: list[Effect]) -> str:
    return the(PatchPodCondition, effects).message


def test_a_feasible_pod_waits_for_extenders() -> None:
    scheduler = extended()
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    assert question == AskExtenders(
        pod=PodReference("default", "a", "uid-a"),
        scheduler_name="berthmaster",
        ticket=1,
        node_names=NODES,
        filters=(0,),
        prioritizes=(1,),
        pod_version="1",
    )
    assert scheduler.queue.place_of("uid-a") is Place.IN_FLIGHT
    assert scheduler.statistics().parked_count == 1
    assert bound_to(answer(scheduler, question, ("n2",))) == "n2"
    assert scheduler.statistics().parked_count == 0


def test_others_are_decided_meanwhile_and_their_room_is_taken() -> None:
    gpu = Extender(0, filters=True, managed_resources=frozenset({GPU}))
    scheduler = extended(gpu, nodes=())
    for name in ("n1", "n2"):
        node = make_node_info(name, offers={GPU: 8}, cpu=2)
        scheduler.handle(NodeUpserted(node), at(0))
    asking = make_pod_info("a", requests={GPU: 1, "cpu": 2})
    question = the(AskExtenders, decide(scheduler, asking))
    taken = bound_to(decide(scheduler, make_pod_info("b", requests={"cpu": 2})))
    [free] = {"n1", "n2"} - {taken}
    assert bound_to(answer(scheduler, question, ("n1", "n2"))) == free


def test_without_a_feasible_node_nobody_is_asked() -> None:
    effects = decide(extended(), make_pod_info(requests={"cpu": 9}))
    assert message(effects) == "0/3 nodes are available: 3 Insufficient cpu."


def test_a_pod_that_prefilter_turns_away_is_nobody_elses_matter() -> None:
    no = named("P", PreFiltering)(PreFilterResult(Status(Code.UNSCHEDULABLE, ("no",))))
    effects = decide(extended(points={"preFilter": [no], "filter": []}), make_pod_info())
    assert message(effects) == "0/3 nodes are available: no."


def test_scores_are_added_to_those_of_plugins() -> None:
    points: Points = {"score": [named("S", Scoring)({"n1": 30, "n2": 20, "n3": 10})]}
    scheduler = extended(points=points)
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    scores = {"n2": 20, "n1": 5, "gone": 1000}
    assert bound_to(answer(scheduler, question, NODES, scores=scores)) == "n2"


def test_among_equals_seed_and_uid_decide() -> None:
    chosen = set()
    for number in range(20):
        scheduler = extended()
        pod = make_pod_info(uid=f"u{number}")
        question = the(AskExtenders, decide(scheduler, pod))
        chosen.add(bound_to(answer(scheduler, question, NODES)))
    assert chosen == set(NODES)


def test_a_single_node_needs_no_scores() -> None:
    assert bound_to(decide(extended(PRIORITIZE, nodes=("n1",)), make_pod_info())) == "n1"


def test_a_pod_no_extender_is_interested_in_is_decided_at_once() -> None:
    extender = Extender(0, filters=True, managed_resources=frozenset({GPU}))
    decided = decide(extended(extender, nodes=("n1",)), make_pod_info())
    assert bound_to(decided) == "n1"


def test_rejected_nodes_are_told_with_the_extenders_reasons() -> None:
    scheduler = extended(nodes=("n1", "n2", "n3", "n4"))
    scheduler.handle(NodeUpserted(make_node_info("n4", cpu=1)), at(0))
    pod = make_pod_info(requests={"cpu": 2})
    question = the(AskExtenders, decide(scheduler, pod))
    effects = answer(scheduler, question, failed={"n1": "no licence", "n2": "no licence"})
    assert message(effects) == ("0/4 nodes are available: 1 Insufficient cpu, 2 no licence.")
    assert the(ReportAttempt, effects).result is AttemptResult.UNSCHEDULABLE
    queued = scheduler.queue.get("uid-a")
    assert queued is not None
    assert queued.unschedulable_plugins == {"NodeResourcesFit", "Extender"}


def test_what_extenders_said_counts_for_a_pod_that_is_turned_away_meanwhile() -> None:
    plugin = named("P", PreFiltering)()
    scheduler = extended(points={"preFilter": [plugin], "filter": []})
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    plugin.result = PreFilterResult(Status(Code.UNSCHEDULABLE, ("no",)))
    add(scheduler, make_pod_info(version="2", requests={"cpu": 1}), 1)
    effects = answer(scheduler, question, ("n3",), failed={"n1": "full"})
    assert message(effects) == "0/3 nodes are available: no."
    queued = scheduler.queue.get("uid-a")
    assert queued is not None
    assert queued.unschedulable_plugins == {"P", "Extender"}


def test_any_event_brings_back_a_pod_that_extenders_rejected() -> None:
    scheduler = extended(nodes=("n1",))
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    answer(scheduler, question)
    assert scheduler.queue.place_of("uid-a") is Place.UNSCHEDULABLE
    scheduler.handle(PodDeleted("unknown"), at(2))
    add(scheduler, make_pod_info("b", node="n1"), 2)
    assert scheduler.queue.place_of("uid-a") in {Place.ACTIVE, Place.BACKOFF}


def test_an_event_while_the_pod_waits_is_not_missed() -> None:
    scheduler = extended(nodes=("n1",))
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    add(scheduler, make_pod_info("b", node="n1"), 1)
    answer(scheduler, question)
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF


def test_an_error_of_an_extender_is_an_error_of_the_attempt() -> None:
    scheduler = extended()
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    effects = answer(scheduler, question, error="no answer within 5 s")
    assert the(PatchPodCondition, effects).reason == "SchedulerError"
    assert message(effects) == "no answer within 5 s"
    assert scheduler.queue.place_of("uid-a") is Place.BACKOFF


def test_extenders_are_asked_about_other_nodes_when_all_of_some_are_rejected() -> None:
    names = tuple(f"n{i:03}" for i in range(250))
    scheduler = extended(nodes=names, percentage=10)
    first = the(AskExtenders, decide(scheduler, make_pod_info()))
    assert first.node_names == names[:100]
    second = the(AskExtenders, answer(scheduler, first))
    assert second.node_names == names[100:200]
    third = the(AskExtenders, answer(scheduler, second))
    assert third.node_names == names[200:]
    assert message(answer(scheduler, third, failed={"n200": "full"})) == (
        "0/250 nodes are available: 1 full."
    )
    # The next Pod's question begins where the last full one ended.
    fourth = the(AskExtenders, decide(scheduler, make_pod_info("b"), 2))
    assert fourth.node_names == (*names[200:], *names[:50])


def test_the_next_question_goes_round_and_leaves_out_what_was_rejected() -> None:
    names = tuple(f"n{i:03}" for i in range(250))
    scheduler = extended(nodes=names, percentage=40)
    first = the(AskExtenders, decide(scheduler, make_pod_info("a")))
    assert bound_to(answer(scheduler, first, names[:1])) == names[0]
    expected = (names[100:200], (*names[200:], *names[:50]), names[50:100])
    effects: list[Effect] = []
    asked = the(AskExtenders, decide(scheduler, make_pod_info("b")))
    for some in expected:
        assert asked.node_names == some
        effects = answer(scheduler, asked, ("n060",) if "n060" in some else ())
        asked = next((e for e in effects if isinstance(e, AskExtenders)), asked)
    assert bound_to(effects) == "n060"


def test_the_nominated_node_is_asked_about_first_and_alone() -> None:
    scheduler = extended()
    question = the(AskExtenders, decide(scheduler, make_pod_info(nominated="n2")))
    assert question.node_names == ("n2",)
    rest = the(AskExtenders, answer(scheduler, question, failed={"n2": "no"}))
    assert rest.node_names == ("n1", "n3")
    assert bound_to(answer(scheduler, rest, ("n3",))) == "n3"


def test_a_node_that_passes_but_is_gone_is_not_chosen() -> None:
    scheduler = extended()
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    scheduler.handle(NodeDeleted("n1"), at(1))
    scheduler.handle(NodeUpserted(make_node_info("n4")), at(1))
    # The others have been rejected: only a new one is left.
    rest = the(AskExtenders, answer(scheduler, question, ("n1",)))
    assert rest.node_names == ("n4",)


def test_without_any_node_left_there_are_none() -> None:
    scheduler = extended(nodes=("n1",))
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    scheduler.handle(NodeDeleted("n1"), at(1))
    assert message(answer(scheduler, question, ("n1",))) == "no nodes available to schedule pods"


@pytest.mark.parametrize("is_terminating", [False, True])
def test_a_pod_that_is_gone_or_going_makes_no_further_attempt(is_terminating: bool) -> None:
    scheduler = extended()
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    if is_terminating:
        add(scheduler, make_pod_info(version="2", is_terminating=True), 1)
    else:
        scheduler.handle(PodDeleted("uid-a"), at(1))
    assert answer(scheduler, question, NODES) == []
    assert scheduler.queue.place_of("uid-a") is None


def test_a_pod_that_somebody_else_has_bound_is_left_alone() -> None:
    scheduler = extended()
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    scheduler.handle(PodUpserted(make_pod_info(node="n3", version="2")), at(1))
    assert answer(scheduler, question, NODES) == []
    assert scheduler.queue.place_of("uid-a") is None


def test_a_pod_that_has_changed_is_decided_as_it_is_now() -> None:
    scheduler = extended()
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    add(scheduler, make_pod_info(version="2", labels={"new": "label"}), 1)
    [binding] = answer(scheduler, question, ("n1",))
    assert isinstance(binding, BindPod)
    [cached] = list(scheduler.cache.pods())
    assert cached.pod.labels == (("new", "label"),)


def test_an_answer_nobody_waits_for_changes_nothing() -> None:
    scheduler = extended()
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    assert scheduler.handle(ExtendersAnswered("uid-a", 99, passing=NODES), at(1)) == []
    assert len(answer(scheduler, question, ("n1",))) == 1
    assert answer(scheduler, question, ("n1",)) == []


def test_an_answer_about_victims_to_a_question_about_nodes_is_an_error() -> None:
    scheduler = extended()
    question = the(AskExtenders, decide(scheduler, make_pod_info()))
    effects = scheduler.handle(VictimsAnswered("uid-a", question.ticket), at(1))
    assert message(effects) == "an extender was asked about Nodes"


def test_the_time_in_the_queue_ends_when_the_attempt_begins() -> None:
    scheduler = extended()
    add(scheduler, make_pod_info(), 1)
    question = the(AskExtenders, step(scheduler, 3))
    [binding] = answer(scheduler, question, ("n1",), seconds=8)
    assert isinstance(binding, BindPod)
    assert binding.queue_wait_seconds == 2
    assert binding.decided_at_seconds == at(8).wall_seconds
