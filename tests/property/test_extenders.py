"""Attempts that wait for extenders, whatever happens meanwhile, and in whatever order they answer.

A Pod is in one place; none is bound twice or to a Node that extenders have left out; no Node
takes more than it holds; and once all questions are answered nobody waits for extenders.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scheduler_svc.core.effects import (
    AskAboutVictims,
    AskExtenders,
    BindPod,
    Effect,
    EvictPods,
)
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    Event,
    EvictionFinished,
    ExtendersAnswered,
    NodeDeleted,
    NodeUpserted,
    PodDeleted,
    PodUpserted,
    VictimsAnswered,
    VictimUids,
)
from scheduler_svc.core.extenders import Extender, Extenders
from scheduler_svc.core.plugins.default_preemption import DefaultPreemption
from tests.builders import GPU, at, make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.staging import stage

NODES = ("n0", "n1", "n2", "n3")
EXTENDERS = (
    Extender(0, filters=True, prioritizes=True, managed_resources=frozenset({GPU})),
    Extender(1, preempts=True, is_ignorable=True),
)


class ExtenderMachine(RuleBasedStateMachine):
    """Drives a scheduler, and answers for its extenders, API server and users."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = stage(
            {"postFilter": [DefaultPreemption()]}, nodes=(), extenders=Extenders(EXTENDERS)
        )
        self.seconds = 0.0
        self.version = 0
        self.pods: dict[str, dict[str, Any]] = {}
        self.questions: list[AskExtenders | AskAboutVictims] = []
        self.bindings: list[BindPod] = []
        self.allowed: dict[str, set[str]] = {}

    def tell(self, event: Event) -> None:
        self.carry_out(self.scheduler.handle(event, at(self.seconds)))

    def carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case AskExtenders() | AskAboutVictims():
                    self.questions.append(effect)
                case BindPod(pod=pod, node_name=node_name):
                    assert all(b.pod.uid != pod.uid for b in self.bindings)
                    if pod.uid in self.allowed:
                        assert node_name in self.allowed.pop(pod.uid)
                    self.bindings.append(effect)
                case EvictPods():
                    self.tell(EvictionFinished(effect.eviction_id))

    def tell_pod(self, name: str, **changed: Any) -> None:
        self.version += 1
        self.pods[name] = {**self.pods.get(name, {}), **changed, "version": str(self.version)}
        self.tell(PodUpserted(make_pod_info(name, uid=name, **self.pods[name])))

    @rule(name=st.sampled_from(NODES))
    def node_comes(self, name: str) -> None:
        self.tell(NodeUpserted(make_node_info(name, cpu=2, offers={GPU: 2})))

    @rule(name=st.sampled_from(NODES))
    def node_goes(self, name: str) -> None:
        self.tell(NodeDeleted(name))

    @rule(wants_gpu=st.booleans(), priority=st.integers(0, 2))
    def pod_comes(self, wants_gpu: bool, priority: int) -> None:
        requests = {"cpu": 1, **({GPU: 1} if wants_gpu else {})}
        self.tell_pod(f"p{self.version}", requests=requests, priority=priority)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def pod_goes(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.pods)))
        del self.pods[name]
        self.tell(PodDeleted(name))

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), is_terminating=st.booleans())
    def pod_changes(self, data: st.DataObject, is_terminating: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.pods)))
        if is_terminating:
            self.tell_pod(name, is_terminating=True)
        else:
            self.tell_pod(name, labels={"version": str(self.version)})

    @precondition(lambda self: self.questions)
    @rule(data=st.data())
    def somebody_else_binds(self, data: st.DataObject) -> None:
        """A Pod that waits for an extender is bound by another scheduler."""
        uid = data.draw(st.sampled_from(self.questions)).pod.uid
        if uid in self.pods and not self.pods[uid].get("node"):
            self.tell_pod(uid, node=data.draw(st.sampled_from(NODES)))

    @rule(count=st.integers(1, 4))
    def attempt(self, count: int) -> None:
        self.seconds += 20
        for _ in range(count):
            self.carry_out(self.scheduler.step(at(self.seconds)) or [])

    @precondition(lambda self: self.questions)
    @rule(data=st.data())
    def extender_answers(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.questions) - 1))
        question = self.questions.pop(place)
        error = data.draw(st.sampled_from(["", "", "", "broken"]))
        uid, ticket = question.pod.uid, question.ticket
        if isinstance(question, AskAboutVictims):
            names = data.draw(st.lists(st.sampled_from(sorted(question.victims)), unique=True))
            victims = {
                name: VictimUids(tuple(pod.uid for pod in question.victims[name].pods), 0)
                for name in names
            }
            self.tell(VictimsAnswered(uid, ticket, victims, error=error))
            return
        passing = data.draw(st.lists(st.sampled_from(question.node_names), unique=True))
        scores = {name: data.draw(st.integers(-50, 50)) for name in passing}
        self.allowed[uid] = set() if error else set(passing)
        self.tell(
            ExtendersAnswered(uid, ticket, passing=tuple(passing), scores=scores, error=error)
        )
        self.allowed.pop(uid, None)

    @precondition(lambda self: self.bindings)
    @rule(succeeds=st.booleans())
    def binding_ends(self, succeeds: bool) -> None:
        binding = self.bindings.pop(0)
        uid = binding.pod.uid
        if not succeeds:
            self.tell(BindFailed(uid, BindFailure.REFUSED, "no"))
            return
        self.tell(BindSucceeded(uid))
        if uid in self.pods:
            self.tell_pod(uid, node=binding.node_name)

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        self.scheduler.validate()
        assert self.scheduler.statistics().parked_count == len(self.questions)

    def teardown(self) -> None:
        for question in self.questions:
            uid, ticket = question.pod.uid, question.ticket
            kind = VictimsAnswered if isinstance(question, AskAboutVictims) else ExtendersAnswered
            self.tell(kind(uid, ticket, error="the end"))
        assert self.scheduler.statistics().parked_count == 0
        assert self.scheduler.queue.statistics().in_flight_count == 0
        for uid, fields in self.pods.items():
            if not fields.get("node") and not fields.get("is_terminating"):
                is_waiting = self.scheduler.queue.place_of(uid) is not None
                assert (uid in self.scheduler.cache) != is_waiting


ExtenderMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestExtenders = ExtenderMachine.TestCase
