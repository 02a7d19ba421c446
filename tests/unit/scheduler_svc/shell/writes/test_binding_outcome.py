"""What answers mean, and what a Pod shows."""

from typing import Any

import msgspec
import pytest

from kubeio.errors import (
    ConnectionFailedError,
    ConnectionLostError,
    KubeError,
    MalformedResponseError,
    RequestTimeoutError,
)
from scheduler_svc.core.events import BindFailed, BindFailure, BindSucceeded
from scheduler_svc.shell.writes.binding_outcome import (
    PodState,
    Verdict,
    judge_error,
    judge_pod,
    judge_response,
)
from tests.unit.scheduler_svc.shell.effects import bind_pod
from tests.unit.scheduler_svc.shell.scripted_api import CREATED, status


def test_created_is_bound() -> None:
    assert judge_response(CREATED).verdict is Verdict.BOUND


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (400, Verdict.REFUSED),
        (401, Verdict.REFUSED),
        (403, Verdict.REFUSED),
        (404, Verdict.GONE),
        (409, Verdict.LOOK),
        (422, Verdict.REFUSED),
        (429, Verdict.RETRY),
        (500, Verdict.LOOK),
        (503, Verdict.LOOK),
        (504, Verdict.LOOK),
    ],
)
def test_refusals(code: int, verdict: Verdict) -> None:
    judgement = judge_response(status(code, "because"))
    assert (judgement.verdict, judgement.message) == (verdict, "because")


def test_retry_after() -> None:
    judgement = judge_response(status(429, "busy", {"Retry-After": "7"}))
    assert judgement.retry_after_seconds == 7


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ConnectionFailedError("refused"), Verdict.RETRY),
        (ConnectionLostError("lost", sent=False), Verdict.RETRY),
        (ConnectionLostError("lost"), Verdict.LOOK),
        (RequestTimeoutError("late"), Verdict.LOOK),
        (MalformedResponseError("no HTTP"), Verdict.LOOK),
    ],
)
def test_no_answer(error: KubeError, verdict: Verdict) -> None:
    judgement = judge_error(error)
    assert (judgement.verdict, judgement.message) == (verdict, str(error))


def pod(metadata: dict[str, Any] | None = None, **spec: Any) -> PodState:
    document = {"metadata": {"uid": "uid-1", **(metadata or {})}, "spec": spec}
    return msgspec.json.decode(msgspec.json.encode(document), type=PodState)


GONE, ELSEWHERE, REFUSED = (
    BindFailure.GONE,
    BindFailure.BOUND_ELSEWHERE,
    BindFailure.REFUSED,
)


@pytest.mark.parametrize(
    ("seen", "failure"),
    [
        (pod({"uid": "uid-2"}, nodeName="n1"), GONE),
        (pod(nodeName="n2"), ELSEWHERE),
        (pod({"deletionTimestamp": "2026-11-29T12:00:00Z"}), GONE),
        (pod({"deletionTimestamp": "2026-11-29T12:00:00Z"}, nodeName="n2"), ELSEWHERE),
        (pod(schedulingGates=[{"name": "a"}]), REFUSED),
    ],
)
def test_pod_that_is_not_ours(seen: PodState, failure: BindFailure) -> None:
    outcome = judge_pod(seen, bind_pod(), "because")
    assert isinstance(outcome, BindFailed)
    assert outcome.failure is failure
    assert "because" in outcome.message


def test_pod_that_is_bound_as_asked_counts_even_if_it_is_being_deleted() -> None:
    bound = BindSucceeded("uid-1")
    assert judge_pod(pod(nodeName="n1"), bind_pod(), "") == bound
    dying = pod({"deletionTimestamp": "2026-11-29T12:00:00Z"}, nodeName="n1")
    assert judge_pod(dying, bind_pod(), "") == bound


def test_pod_that_may_still_be_bound() -> None:
    assert judge_pod(pod(), bind_pod(), "") is None
    assert judge_pod(pod(schedulingGates=[]), bind_pod(), "") is None
