"""What an answer to a Binding means, and what a look at the Pod shows.

A write has three endings, not two: done, not done, and nobody knows. A lost connection, a
time-out and a 5xx are of the third kind: the Pod may be bound. So is a 409, in a way:
the API server answers so to whatever fails inside of its transaction, from a Pod that is
bound already to a time-out of etcd. For these the Pod itself is read.

Source: pkg/registry/core/pod/storage/storage.go (`assignPod`), v1.36.3.
"""

from enum import Enum, auto

import msgspec

from kubeio.errors import ApiError, KubeError, NotFoundError, TooManyRequestsError, from_response
from kubeio.response import Response
from scheduler_svc.core.effects import BindPod
from scheduler_svc.core.events import BindFailed, BindFailure, BindSucceeded

Outcome = BindSucceeded | BindFailed


class Verdict(Enum):
    """What to do after an answer, or after none.

    `RETRY`: it was certainly not carried out, and may be later. `LOOK`: read the Pod.
    """

    BOUND = auto()
    GONE = auto()
    REFUSED = auto()
    RETRY = auto()
    LOOK = auto()


class Judgement(msgspec.Struct, frozen=True):
    """A verdict and what the server said; `retry_after_seconds` if it asked us to wait."""

    verdict: Verdict
    message: str = ""
    retry_after_seconds: float | None = None


_BOUND = Judgement(Verdict.BOUND)


def judge_response(response: Response) -> Judgement:
    """Judge an answer to the POST."""
    if response.ok:
        return _BOUND
    return judge_error(from_response(response.status, response.headers, response.body))


def judge_error(error: KubeError) -> Judgement:
    """Judge an answer that says no, or the absence of one."""
    text = (error.message if isinstance(error, ApiError) else "") or str(error)
    if error.request_may_have_happened:
        return Judgement(Verdict.LOOK, text)
    match error:
        case NotFoundError():
            return Judgement(Verdict.GONE, text)
        case ApiError(status=409):
            return Judgement(Verdict.LOOK, text)
        case TooManyRequestsError():
            return Judgement(Verdict.RETRY, text, error.retry_after_seconds)
        case ApiError():
            return Judgement(Verdict.REFUSED, text)
        case _:
            return Judgement(Verdict.RETRY, text)


class _Metadata(msgspec.Struct, rename="camel", frozen=True):
    uid: str = ""
    deletion_timestamp: str | None = None


class _Spec(msgspec.Struct, rename="camel", frozen=True):
    node_name: str = ""
    scheduling_gates: tuple[msgspec.Raw, ...] | None = None


class PodState(msgspec.Struct, frozen=True):
    """As much of a Pod as tells what became of a Binding."""

    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


def judge_pod(pod: PodState, effect: BindPod, message: str) -> Outcome | None:
    """Say what became of a Binding; None: the Pod is not bound, and may be.

    Parameters
    ----------
    message
        Why we looked, for whoever reads the outcome.
    """
    uid = effect.pod.uid
    node_name = pod.spec.node_name
    if pod.metadata.uid != uid:
        return BindFailed(uid, BindFailure.GONE, f"another Pod has its name by now; {message}")
    if node_name == effect.node_name:
        return BindSucceeded(uid)
    if node_name:
        return BindFailed(uid, BindFailure.BOUND_ELSEWHERE, message)
    if pod.metadata.deletion_timestamp is not None:
        return BindFailed(uid, BindFailure.GONE, message)
    if pod.spec.scheduling_gates:
        return BindFailed(uid, BindFailure.REFUSED, message)
    return None
