"""What users read of a group that does not fit."""

import numpy as np
import pytest

from scheduler_svc.core.failure import Rejectors
from scheduler_svc.core.framework.diagnosis import Diagnosis
from scheduler_svc.core.framework.filtering import NodeGroup
from scheduler_svc.core.pod_groups.hindrance import (
    Hindrance,
    enumerated,
    failure,
    hindrance,
    shorten,
    shortfall,
)
from scheduler_svc.core.status import Code, Status


def lacking(reason: str) -> Hindrance:
    return Hindrance("text", reason, Rejectors(frozenset()))


@pytest.mark.parametrize(
    ("reasons", "text"),
    [
        (["Insufficient nvidia.com/gpu"] * 2, "needs 8, 6 fit: 2 lack nvidia.com/gpu"),
        (["Insufficient cpu"], "needs 8, 6 fit: 1 lacks cpu"),
        (
            ["Insufficient cpu", "node(s) had untolerated taint(s)", "Insufficient cpu"],
            "needs 8, 6 fit: 2 lack cpu, 1 without a node: node(s) had untolerated taint(s)",
        ),
        ([], "needs 8, 6 fit"),
    ],
)
def test_the_shortfall(reasons: list[str], text: str) -> None:
    assert shortfall(8, 6, [lacking(reason) for reason in reasons]) == text


def test_the_reason_of_most_nodes_counts() -> None:
    groups = (
        NodeGroup(Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), "Fit"), np.array([0])),
        NodeGroup(Status(Code.UNSCHEDULABLE, ("Too many pods",), "Fit"), np.array([1, 2])),
    )
    found = hindrance(Diagnosis(3, groups, unschedulable_plugins=frozenset({"Fit"})))
    assert found.reason == "Too many pods"
    assert found.message == "0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods."
    assert found.rejectors == Rejectors(frozenset({"Fit"}))


def test_what_turns_the_pod_away_before_any_node_is_the_reason() -> None:
    assert hindrance(Diagnosis(3, pre_filter_message="no such claim")).reason == "no such claim"


def test_without_any_reason_there_are_no_nodes() -> None:
    assert hindrance(Diagnosis(0)).reason == "no nodes available to schedule pods"


def test_a_failure_has_no_rejectors() -> None:
    assert failure("broken") == Hindrance("broken", "broken", None)


def test_what_users_wrote_is_cut() -> None:
    assert shorten("zone") == "zone"
    assert shorten("x" * 101) == "x" * 100 + "…"
    assert enumerated(["a", "b"]) == "a, b"
    assert enumerated(list("abcdefg")) == "a, b, c, d, e and 2 more"
