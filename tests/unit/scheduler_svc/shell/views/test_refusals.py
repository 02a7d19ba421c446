"""Failed Pods as the API server shows them, of which the refused are told."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from kubeio.changes import Deleted, Listed, Upserted
from kubeio.decoding import ObjectDecoder
from scheduler_svc.core.events import Event, PodRefused
from scheduler_svc.shell.views.refusals import FailedPod, refusal_view
from scheduler_svc.shell.views.view import View

WORDS = "Node didn't have enough resource: cpu, requested: 1000, used: 7500, capacity: 8000"
REFUSED: dict[str, Any] = {
    "metadata": {
        "name": "web-1",
        "namespace": "shop",
        "uid": "u1",
        "resourceVersion": "7",
        "annotations": {"berthmaster.dev/decision-id": "1a2b-3"},
    },
    "spec": {"schedulerName": "berthmaster", "nodeName": "n1", "containers": [{"name": "c"}]},
    "status": {
        "phase": "Failed",
        "reason": "OutOfcpu",
        "message": f"Pod was rejected: {WORDS}",
        "startTime": "2026-01-01T00:00:00Z",
    },
}


def tell(view: View[FailedPod], document: Mapping[str, Any]) -> Event | None:
    decoded = ObjectDecoder(view.query).item(msgspec.Raw(json.dumps(document).encode()))
    assert decoded.object is not None, decoded.problem
    return view.to_event(Upserted(decoded.object))


@pytest.fixture
def view() -> View[FailedPod]:
    made = refusal_view()
    assert made.to_event(Listed("5")) is None
    return made


def test_refused_pod_is_told_with_the_kubelets_words(view: View[FailedPod]) -> None:
    assert tell(view, REFUSED) == PodRefused(
        namespace="shop",
        name="web-1",
        uid="u1",
        scheduler_name="berthmaster",
        node_name="n1",
        reason="OutOfcpu",
        message=WORDS,
        decision_id="1a2b-3",
    )


def test_pod_that_somebody_else_bound_has_no_decision(view: View[FailedPod]) -> None:
    metadata = {**REFUSED["metadata"], "annotations": None}
    refused = tell(view, {**REFUSED, "metadata": metadata})
    assert isinstance(refused, PodRefused)
    assert refused.decision_id == ""


def test_refusal_is_told_once_while_the_pod_is_there(view: View[FailedPod]) -> None:
    assert tell(view, REFUSED) is not None
    assert tell(view, REFUSED) is None
    assert view.to_event(Deleted("shop", "web-1", "u1")) is None
    assert tell(view, REFUSED) is not None


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Failed"},
        {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."},
        {"phase": "Failed", "reason": "Error", "message": None},
    ],
)
def test_pods_that_failed_otherwise_are_not_told(
    view: View[FailedPod], status: dict[str, Any]
) -> None:
    assert tell(view, {**REFUSED, "status": {k: v for k, v in status.items() if v}}) is None


def test_refusals_of_before_are_history() -> None:
    view = refusal_view()
    assert tell(view, REFUSED) is None
    assert view.to_event(Listed("5")) is None
    assert tell(view, REFUSED) is None


def test_only_failed_pods_are_asked_for(view: View[FailedPod]) -> None:
    assert view.query.parameters() == {"fieldSelector": "status.phase=Failed"}
