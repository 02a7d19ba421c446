"""A Pod on the Node chosen for it."""

import pytest

from scheduler_svc.core.failure import Rejectors
from scheduler_svc.core.placement import Refusal
from scheduler_svc.core.queue import QueuedPodInfo
from scheduler_svc.core.status import Code, Status
from tests.builders import make_pod_info

QUEUED = QueuedPodInfo(make_pod_info("a"), 1, 0.0)


@pytest.mark.parametrize(
    ("code", "rejectors"),
    [
        (Code.UNSCHEDULABLE, Rejectors(frozenset({"P"}))),
        (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Rejectors(frozenset({"P"}))),
        (Code.PENDING, Rejectors(frozenset(), frozenset({"P"}))),
    ],
)
def test_who_refused_a_pod_its_node(code: Code, rejectors: Rejectors) -> None:
    refusal = Refusal(QUEUED, 3, Status(code, ("no",), "P"), "Reserve")
    assert refusal.rejectors() == rejectors
    assert refusal.diagnosis().fit_error() == "0/1 nodes are available: 1 no."


def test_what_went_wrong() -> None:
    refusal = Refusal(QUEUED, 3, Status(Code.ERROR, ("broken",), "P"), "Permit")
    assert refusal.error == 'running Permit plugin "P": broken'
