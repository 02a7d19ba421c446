from typing import Any

import pytest

from scheduler_svc.core.effects import AttemptResult, BindPod, PodReference, ReportAttempt
from scheduler_svc.core.events import NodeUpserted, PodUpserted
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.explain.memory import MAX_TIME_SHARE, DecisionMemory, RankedNode
from tests.builders import at, make_node_info, make_pod_info
from tests.scripted_plugins import Scoring, named
from tests.unit.scheduler_svc.core.staging import stage


class Clock:
    """Monotonic seconds, which pass only as they are told to, or by `step` at each reading."""

    def __init__(self) -> None:
        self.now = 100.0
        self.step = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def remembering(clock: Clock | None = None, **arguments: Any) -> DecisionMemory:
    return DecisionMemory(clock=clock or Clock(), wall_clock=lambda: 1_767_225_600.25, **arguments)


def scheduler(memory: DecisionMemory, **scores: int) -> Scheduler:
    first, second = named("A", Scoring)(scores), named("B", Scoring)(dict.fromkeys(scores, 1))
    return stage({"score": [first, second]}, nodes=tuple(scores), witness=memory.witness)


def decide(memory: DecisionMemory, core: Scheduler, name: str) -> BindPod:
    core.handle(PodUpserted(make_pod_info(name)), at(0))
    effects = core.step(at(0))
    assert effects is not None
    [effect] = effects
    assert isinstance(effect, BindPod)
    memory.decided(effect)
    return effect


def failure(name: str, message: str) -> ReportAttempt:
    pod = PodReference("default", name, f"uid-{name}")
    return ReportAttempt(pod, "berthmaster", AttemptResult.UNSCHEDULABLE, 3, message)


def test_a_decision_is_found_with_what_was_so_when_it_was_made() -> None:
    memory = remembering()
    core = scheduler(memory, a=7, b=90, c=60, d=80)
    effect = decide(memory, core, "web")
    decision = memory.find(effect.decision_id)
    assert decision is not None
    assert (decision.pod, decision.uid, decision.node_name) == ("default/web", "uid-web", "b")
    assert (decision.result, decision.attempt) == ("scheduled", 1)
    assert decision.best == (
        RankedNode("b", 91, {"A": 90, "B": 1}),
        RankedNode("d", 81, {"A": 80, "B": 1}),
        RankedNode("c", 61, {"A": 60, "B": 1}),
    )


def test_nodes_on_which_the_pod_cannot_run_are_not_among_the_best() -> None:
    memory = remembering()
    core = scheduler(memory, a=7)
    core.handle(NodeUpserted(make_node_info("full", pods=0)), at(0))
    decision = memory.find(decide(memory, core, "web").decision_id)
    assert decision is not None
    assert [node.name for node in decision.best] == ["a"]


def test_the_chosen_node_comes_first_among_equals() -> None:
    memory = remembering()
    core = scheduler(memory, a=5, b=5, c=5, d=5, e=5)
    for name in "pqrstuvw":
        effect = decide(memory, core, name)
        decision = memory.find(effect.decision_id)
        assert decision is not None
        names = [node.name for node in decision.best]
        assert names[0] == effect.node_name
        assert len(set(names)) == 3


def test_attempts_that_came_to_nothing_are_found_by_the_pods_name() -> None:
    memory = remembering()
    core = scheduler(memory, a=7)
    memory.failed(failure("web", "0/1 nodes are available: 1 Too many pods."))
    memory.failed(failure("other", "no"))
    decide(memory, core, "web")
    last, first = memory.of_pod("default/web")
    assert (last.result, last.node_name) == ("scheduled", "a")
    assert (first.result, first.id, first.attempt) == ("unschedulable", "", 3)
    assert first.message == "0/1 nodes are available: 1 Too many pods."
    assert first.time == "2026-01-01T00:00:00.250000Z"
    assert memory.find("") is None
    assert list(memory.of_pod("default/nobody")) == []


def test_the_oldest_decisions_are_forgotten() -> None:
    memory = remembering(capacity=3)
    core = scheduler(memory, a=7)
    ids = [decide(memory, core, name).decision_id for name in "abcde"]
    assert len(memory) == 3
    assert [memory.find(id_) is not None for id_ in ids] == [False, False, True, True, True]


def test_pods_that_are_held_up_are_not_remembered_for_ever() -> None:
    memory = remembering(capacity=3)
    core = scheduler(memory, a=7)
    effects = []
    for name in "abcd":
        core.handle(PodUpserted(make_pod_info(name)), at(0))
        stepped = core.step(at(0))
        assert stepped is not None
        effects += stepped
    for effect in effects:
        assert isinstance(effect, BindPod)
        memory.decided(effect)
    best = [len(next(memory.of_pod(f"default/{name}")).best) for name in "bcd"]
    assert best == [1, 1, 1]


@pytest.mark.parametrize(("pause", "asks"), [(0.9, False), (1.1, True)])
def test_the_plugins_are_asked_only_for_a_share_of_the_time(pause: float, asks: bool) -> None:
    clock = Clock()
    memory = remembering(clock)
    core = scheduler(memory, a=7, b=3)
    clock.step = 0.001
    decide(memory, core, "first")
    clock.step = 0.0
    clock.now += pause * 0.001 / MAX_TIME_SHARE
    decision = memory.find(decide(memory, core, "second").decision_id)
    assert decision is not None
    assert [node.total for node in decision.best] == [8, 4]
    assert [bool(node.scores) for node in decision.best] == [asks, asks]
