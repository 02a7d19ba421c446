"""What users' plugins may answer, checked and made into the framework's terms."""

import math
from collections.abc import Iterable, Sequence
from types import AsyncGeneratorType, CoroutineType
from typing import Any, Final

import numpy as np

from scheduler_svc.core.columns import Int64Array
from scheduler_svc.core.custom_plugins.base import Normalize, Reject, Wait
from scheduler_svc.core.custom_plugins.guard import PluginFailedError, cut, shown
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    QueueingHint,
)
from scheduler_svc.core.framework.interface import MAX_NODE_SCORE
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.status import SUCCESS, Code, Status

_LARGEST_RAW: Final = 2.0**53


def nothing(plugin: str, point: str, answer: Any) -> Status:
    """Read the answer of a method that gives nothing: whatever it is, it is not used."""
    _refuse_coroutine(plugin, point, answer)
    return SUCCESS


def status_of(
    plugin: str, point: str, answer: Any, wanted: str = "None, a reason or a Reject with one"
) -> Status:
    """Read an answer that is None, a reason or a `Reject`; `wanted` says what it may be."""
    if answer is None:
        return SUCCESS
    if isinstance(answer, str):
        answer = Reject(answer)
    if not isinstance(answer, Reject) or not _is_text(answer.reason):
        raise nonsense(plugin, point, answer, wanted)
    if not isinstance(answer.resolvable, bool | np.bool_):
        raise nonsense(plugin, point, answer.resolvable, "resolvable=True or resolvable=False")
    code = Code.UNSCHEDULABLE if answer.resolvable else Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    return Status(code, (cut(str(answer.reason)),))


def names_or_status(plugin: str, point: str, answer: Any) -> Status | frozenset[str]:
    """Read PreFilter's answer, which may be the names of the only Nodes possible."""
    wanted = "None, a reason, a Reject with one or a set of Nodes' names"
    if not isinstance(answer, frozenset | set):
        return status_of(plugin, point, answer, wanted)
    if not all(isinstance(name, str) for name in answer):
        raise nonsense(plugin, point, answer, wanted)
    return frozenset(answer)


def wait_or_status(plugin: str, point: str, answer: Any) -> Status | float:
    """Read Permit's answer; a wait is given in seconds."""
    if not isinstance(answer, Wait):
        return status_of(plugin, point, answer, "None, a reason, a Reject with one or a Wait")
    if not _is_above_0(answer.seconds):
        raise nonsense(plugin, point, answer, "a Wait of a number of seconds above 0")
    return float(answer.seconds)


def sort_key(plugin: str, point: str, answer: Any) -> tuple[float, ...]:
    """Read a key of QueueSort; keys are compared with each other, so no NaN."""
    if not isinstance(answer, tuple) or not all(is_number(part) for part in answer):
        raise nonsense(plugin, point, answer, "a tuple of numbers")
    if any(math.isnan(part) for part in answer if not isinstance(part, int)):
        raise nonsense(plugin, point, answer, "a tuple of numbers that can be compared")
    return tuple(part.item() if isinstance(part, np.generic) else part for part in answer)


def node_score(plugin: str, point: str, answer: Any) -> float:
    """Read the score of one Node."""
    if not is_number(answer):
        raise nonsense(plugin, point, answer, "a number")
    score: float = answer
    return score


def registrations(plugin: str, point: str, answer: Any) -> tuple[EventRegistration, ...]:
    """Read the events that may undo rejections."""
    wanted = "a list of EventRegistration(ClusterEvent(resource, ActionType), hint)"
    if not isinstance(answer, Iterable):
        raise nonsense(plugin, point, answer, wanted)
    given = tuple(answer)
    for registration in given:
        if not _is_registration(registration):
            raise nonsense(plugin, point, registration, wanted)
    return given


def queueing_hint(plugin: str, point: str, answer: Any) -> QueueingHint:
    """Read what a hint says."""
    if not isinstance(answer, QueueingHint):
        raise nonsense(plugin, point, answer, "QueueingHint.QUEUE or QueueingHint.SKIP")
    return answer


def is_number(value: Any) -> bool:
    """Whether it is a number of Python's or of numpy's."""
    return isinstance(value, int | float | np.integer | np.floating)


def is_duration(value: Any) -> bool:
    """Whether it is a number of seconds that end."""
    return _is_above_0(value) and math.isfinite(value)


def _is_above_0(value: Any) -> bool:
    return is_number(value) and not isinstance(value, bool) and bool(value > 0)


def _is_registration(value: Any) -> bool:
    event: Any = getattr(value, "event", None)
    return (
        isinstance(value, EventRegistration)
        and isinstance(event, ClusterEvent)
        and all(map(isinstance, (event.resource, event.action), (str, ActionType)))
        and (value.hint is None or callable(value.hint))
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def score_array(
    plugin: str, answers: Any, names: Sequence[str], normalize: Normalize
) -> Int64Array:
    """Read scores, a number a Node, as int64 `(K,)`; fractions are cut off."""
    _refuse_coroutine(plugin, "score", answers)
    array = np.asarray(answers)
    if array.shape != (len(names),) or array.dtype.kind not in "iufb":
        wanted = f"{len(names)} numbers, one a Node"
        raise _gave(plugin, "score", f"an array {array.dtype} {array.shape}", wanted)
    lowest, highest = -_LARGEST_RAW, _LARGEST_RAW
    if normalize is Normalize.NONE:
        lowest, highest = 0, MAX_NODE_SCORE
    # Written so that NaN is out of range, too.
    wrong = np.flatnonzero(~((array >= lowest) & (array <= highest)))
    if len(wrong):
        first = int(wrong[0])
        wanted = f"{lowest:g} to {highest:g}"
        raise nonsense(plugin, f"score of Node {names[first]}", array[first].item(), wanted)
    scores: Int64Array = array.astype(np.int64)
    return scores


def mask_array(plugin: str, answer: Any, count: int) -> BoolArray:
    """Read a mask over K Nodes, bool `(K,)`; a copy, since the plugin may keep its own."""
    _refuse_coroutine(plugin, "filter", answer)
    array = np.array(answer)
    if array.shape != (count,) or array.dtype != np.bool_:
        what = f"an array {array.dtype} {array.shape}"
        raise _gave(plugin, "filter", what, f"bool ({count},), one a Node")
    return array


def normalized(scores: Int64Array, normalize: Normalize, lowest: int, highest: int) -> Int64Array:
    """Scale from the lowest to the highest, 0 for all where these are equal; or leave as it is."""
    if normalize is Normalize.NONE:
        return scores
    if highest == lowest:
        return np.zeros(len(scores), dtype=np.int64)
    distance = scores - lowest
    if normalize is Normalize.LOWER_IS_BETTER:
        distance = highest - scores
    # Raw scores are at most 2^53, so the product is an int64.
    result: Int64Array = MAX_NODE_SCORE * distance // (highest - lowest)
    return result


def nonsense(plugin: str, point: str, answer: Any, wanted: str) -> PluginFailedError:
    """Say what a plugin answered and what it may."""
    _refuse_coroutine(plugin, point, answer)
    return _gave(plugin, point, shown(answer), wanted)


def _gave(plugin: str, point: str, what: str, wanted: str) -> PluginFailedError:
    return PluginFailedError(f'plugin "{plugin}" failed in {point}: gave {what}, not {wanted}')


def _refuse_coroutine(plugin: str, point: str, answer: Any) -> None:
    if isinstance(answer, CoroutineType):
        answer.close()
    elif not isinstance(answer, AsyncGeneratorType):
        return
    raise PluginFailedError(
        f'plugin "{plugin}" failed in {point}: gave a coroutine; plugins\' methods are plain '
        "functions, without async"
    )
