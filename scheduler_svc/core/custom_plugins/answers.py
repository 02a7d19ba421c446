"""What users' plugins may answer, checked and made into the framework's terms."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from scheduler_svc.core.columns import Int64Array
from scheduler_svc.core.custom_plugins.base import Normalize, Reject
from scheduler_svc.core.custom_plugins.guard import PluginFailedError
from scheduler_svc.core.framework.interface import MAX_NODE_SCORE
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.status import SUCCESS, Code, Status

_LARGEST_RAW: Final = 2.0**53


def status_of(plugin: str, point: str, answer: Any) -> Status:
    """Read an answer that is None, a reason or a `Reject`."""
    if answer is None:
        return SUCCESS
    if isinstance(answer, str):
        answer = Reject(answer)
    if not isinstance(answer, Reject) or not answer.reason:
        raise nonsense(plugin, point, repr(answer), "None, a reason or a Reject with one")
    code = Code.UNSCHEDULABLE if answer.resolvable else Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    return Status(code, (answer.reason,))


def score_array(
    plugin: str, answers: Any, names: Sequence[str], normalize: Normalize
) -> Int64Array:
    """Read scores, a number a Node, as int64 `(K,)`; fractions are cut off."""
    array = np.asarray(answers)
    if array.shape != (len(names),) or array.dtype.kind not in "iufb":
        wanted = f"{len(names)} numbers, one a Node"
        raise nonsense(plugin, "score", f"an array {array.dtype} {array.shape}", wanted)
    lowest, highest = -_LARGEST_RAW, _LARGEST_RAW
    if normalize is Normalize.NONE:
        lowest, highest = 0, MAX_NODE_SCORE
    # Written so that NaN is out of range, too.
    wrong = np.flatnonzero(~((array >= lowest) & (array <= highest)))
    if len(wrong):
        first = int(wrong[0])
        wanted = f"{lowest:g} to {highest:g}"
        raise nonsense(plugin, f"score of Node {names[first]}", repr(array[first].item()), wanted)
    scores: Int64Array = array.astype(np.int64)
    return scores


def mask_array(plugin: str, answer: Any, count: int) -> BoolArray:
    """Read a mask over K Nodes, bool `(K,)`."""
    array = np.asarray(answer)
    if array.shape != (count,) or array.dtype != np.bool_:
        what = f"an array {array.dtype} {array.shape}"
        raise nonsense(plugin, "filter", what, f"bool ({count},), one a Node")
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


def nonsense(plugin: str, point: str, shown: str, wanted: str) -> PluginFailedError:
    """Say what a plugin answered and what it may."""
    return PluginFailedError(f'plugin "{plugin}" failed in {point}: gave {shown}, not {wanted}')
