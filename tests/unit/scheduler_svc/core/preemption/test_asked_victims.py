"""Extenders and victims: which Nodes are left, and when an answer makes no sense."""

from collections.abc import Mapping

import pytest

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.effects import (
    AskAboutVictims,
    NodeVictims,
    PodReference,
    ReportPreemption,
)
from scheduler_svc.core.events import VictimsAnswered, VictimUids
from scheduler_svc.core.extenders import Extender
from scheduler_svc.core.framework.post_filter import PostFilterResult, Preemption
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.preemption import AskedVictims
from scheduler_svc.core.status import SUCCESS, Code, Status
from tests.builders import make_cache, make_node_info, make_pod_info

NOT_FOUND = "but the pod is not found on that node"
URL = "http://extender"
STRICT = Extender(0, preempts=True)
IGNORABLE = Extender(1, preempts=True, is_ignorable=True)
POD = make_pod_info("new", priority=9)


def on(name: str, node: str, priority: int = 1) -> PodInfo:
    return make_pod_info(name, node=node, priority=priority)


A, B, C = on("a", "n1"), on("b", "n1", 2), on("c", "n2")


def cluster() -> Cache:
    return make_cache([make_node_info(name) for name in ("n1", "n2", "n3")], [A, B, C])


def asked(*extenders: Extender) -> AskedVictims:
    candidates = [Preemption("n1", (B, A), 1), Preemption("n2", (C,))]
    return AskedVictims(candidates, extenders or (STRICT,))


def answered(victims: Mapping[str, tuple[str, ...]], error: str = "") -> VictimsAnswered:
    named = {node: VictimUids(uids, 0) for node, uids in victims.items()}
    return VictimsAnswered("uid-new", 1, named, URL, error)


def told(victim_count: int) -> ReportPreemption:
    return ReportPreemption(PodReference("default", "new", "uid-new"), "berthmaster", victim_count)


def reference(name: str) -> PodReference:
    return PodReference("default", name, f"uid-{name}")


def test_an_extender_is_asked_about_all_candidates() -> None:
    assert asked().question(POD, 7) == AskAboutVictims(
        pod=reference("new"),
        scheduler_name="berthmaster",
        ticket=7,
        extender=0,
        victims={
            "n1": NodeVictims((reference("b"), reference("a")), 1),
            "n2": NodeVictims((reference("c"),), 0),
        },
    )


def test_the_least_harmful_of_what_is_left_is_chosen() -> None:
    cache, victims = cluster(), asked()
    assert not victims.is_settled()
    assert victims.take(answered({"n1": ("uid-a",), "n2": ("uid-c",)}), cache) == ""
    assert victims.is_settled()
    # Equally harmful: the first.
    assert victims.result(POD, cache, "") == PostFilterResult(
        SUCCESS, "n1", Preemption("n1", (A,), 0), (told(1),)
    )


def test_the_next_extender_is_asked_about_what_the_first_has_left() -> None:
    cache, victims = cluster(), asked(STRICT, IGNORABLE)
    assert victims.take(answered({"n1": ("uid-a",)}), cache) == ""
    assert not victims.is_settled()
    question = victims.question(POD, 8)
    assert question.extender == 1
    assert question.victims == {"n1": NodeVictims((reference("a"),), 0)}


def test_without_a_node_left_nobody_else_is_asked_and_nothing_is_done() -> None:
    cache, victims = cluster(), asked(STRICT, IGNORABLE)
    assert victims.take(answered({}), cache) == ""
    assert victims.is_settled()
    text = "preemption: no candidate node for preemption"
    assert victims.result(POD, cache, "") == PostFilterResult(
        Status(Code.UNSCHEDULABLE, (text,)), effects=(told(0),)
    )


@pytest.mark.parametrize(
    ("victims", "error"),
    [
        ({"n1": ()}, 'expected at least one victim pod on node "n1"'),
        ({"n9": ("uid-a",)}, 'nodeinfo not found for node name "n9"'),
        (
            {"n1": ("uid-c",)},
            f"extender: {URL} claims to preempt pod (UID: uid-c) on node: n1, {NOT_FOUND}",
        ),
    ],
)
def test_what_makes_no_sense_is_an_error(victims: dict[str, tuple[str, ...]], error: str) -> None:
    cache, talk = cluster(), asked()
    assert talk.take(answered(victims), cache) == error
    assert talk.result(POD, cache, error) == PostFilterResult(
        Status(Code.ERROR, (f"preemption: {error}",)), effects=(told(0),)
    )


@pytest.mark.parametrize(
    "answer", [answered({}, "no answer"), answered({"n9": ("uid-a",)}), answered({"n1": ("x",)})]
)
def test_errors_of_an_extender_that_may_be_ignored_change_nothing(answer: VictimsAnswered) -> None:
    cache, talk = cluster(), asked(IGNORABLE, STRICT)
    before = talk.question(POD, 1).victims
    assert talk.take(answer, cache) == ""
    assert talk.question(POD, 2).victims == before


def test_an_extender_that_may_be_ignored_strikes_off_nodes_without_victims() -> None:
    cache, talk = cluster(), asked(IGNORABLE, STRICT)
    assert talk.take(answered({"n1": (), "n2": ("uid-c",)}), cache) == ""
    assert talk.question(POD, 2).victims.keys() == {"n2"}


def test_an_extender_may_name_other_nodes_and_pods() -> None:
    cache = cluster()
    other = on("other", "n3")
    cache.upsert(other)
    talk = asked()
    assert talk.take(answered({"n3": ("uid-other",)}), cache) == ""
    result = talk.result(POD, cache, "")
    assert result.preemption == Preemption("n3", (other,), 0)


def test_what_has_gone_meanwhile_is_left_out() -> None:
    cache, talk = cluster(), asked()
    cache.remove("uid-b")
    cache.remove("uid-c")
    assert talk.take(answered({"n1": ("uid-a", "uid-b"), "n2": ("uid-c",)}), cache) == ""
    assert talk.result(POD, cache, "").preemption == Preemption("n1", (A,), 0)


def test_a_candidate_whose_node_has_gone_is_left_out() -> None:
    cache, talk = cluster(), asked()
    cache.remove("uid-c")
    cache.remove_node("n2")
    assert talk.take(answered({"n2": ("uid-c",)}), cache) == ""
    assert talk.result(POD, cache, "").preemption is None
