"""The answer about one Pod: what is added to the verdicts of Nodes."""

import pytest

from scheduler_svc.core.objects import PodCondition
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status
from scheduler_svc.shell.explain.answer import Answer, with_gate
from tests.builders import make_pod_info
from tests.gangs import make_member


def unscheduled(message: str) -> PodCondition:
    return PodCondition("PodScheduled", "False", "Unschedulable", message)


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        (make_pod_info("a"), ""),
        (make_member("a"), ""),
        (
            make_member("a", conditions=[unscheduled("pod group gang: needs 2, 1 fit; 0/1 nodes")]),
            "needs 2, 1 fit",
        ),
        (make_member("a", conditions=[unscheduled("0/1 nodes are available")]), ""),
        (make_member("a", conditions=[unscheduled("pod group other: needs 2, 1 fit")]), ""),
    ],
)
def test_why_the_group_was_not_placed(pod: PodInfo, message: str) -> None:
    assert with_gate(Answer(pod="default/a"), None, pod).pod_group_message == message


def test_what_keeps_a_pod_out_of_the_queue_comes_first() -> None:
    gate = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("too few",), "GangScheduling")
    answer = with_gate(Answer(pod="default/a"), gate, make_member("a"))
    assert (answer.pre_enqueue_plugin, answer.pre_enqueue_message) == ("GangScheduling", "too few")


@pytest.mark.parametrize(
    ("best", "condition", "message"),
    [
        (("n",), unscheduled("0/1 nodes: not of the tier"), "0/1 nodes: not of the tier"),
        ((), unscheduled("0/1 nodes: not of the tier"), ""),
        (("n",), PodCondition("PodScheduled", "False", "SchedulerError", "no answer"), "no answer"),
        (("n",), PodCondition("PodScheduled", "False", "SchedulingGated", "gates"), ""),
        (("n",), None, ""),
    ],
)
def test_what_contradicts_that_a_pod_fits_is_told(
    best: tuple[str, ...], condition: PodCondition | None, message: str
) -> None:
    pod = make_pod_info("a", conditions=[condition] if condition else [])
    assert with_gate(Answer(pod="default/a", best=best), None, pod).last_message == message
