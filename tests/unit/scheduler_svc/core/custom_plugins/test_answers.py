"""Answers of users' plugins: what they may be, and what is said of those that are none."""

from typing import Any

import numpy as np
import pytest

from scheduler_svc.core.custom_plugins.answers import (
    mask_array,
    normalized,
    score_array,
    status_of,
)
from scheduler_svc.core.custom_plugins.base import Normalize, Reject
from scheduler_svc.core.custom_plugins.guard import PluginFailedError
from scheduler_svc.core.status import SUCCESS, Code, Status

NAMES = ["a", "b"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, SUCCESS),
        ("full", Status(Code.UNSCHEDULABLE, ("full",))),
        (Reject("full"), Status(Code.UNSCHEDULABLE, ("full",))),
        (
            Reject("never", resolvable=False),
            Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never",)),
        ),
    ],
)
def test_reasons(answer: Any, expected: Status) -> None:
    assert status_of("P", "filter", answer) == expected


@pytest.mark.parametrize("answer", [True, False, 7, "", Reject(""), ["full"]])
def test_what_is_no_reason(answer: Any) -> None:
    with pytest.raises(PluginFailedError, match=r'plugin "P" failed in filter: gave .*, not None'):
        status_of("P", "filter", answer)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([0, 100], [0, 100]),
        ([99.9, 0.5], [99, 0]),
        (np.array([1, 2], dtype=np.int16), [1, 2]),
        ([True, False], [1, 0]),
    ],
)
def test_scores(answers: Any, expected: list[int]) -> None:
    scores = score_array("P", answers, NAMES, Normalize.NONE)
    assert scores.dtype == np.int64
    assert scores.tolist() == expected


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([0, 101], "score of Node b: gave 101, not 0 to 100"),
        ([-1, 0], "score of Node a: gave -1, not 0 to 100"),
        ([0, float("nan")], "score of Node b: gave nan, not 0 to 100"),
        ([0], r"score: gave an array int64 \(1,\), not 2 numbers, one a Node"),
        (["x", "y"], "not 2 numbers, one a Node"),
        (7, "not 2 numbers, one a Node"),
    ],
)
def test_what_is_no_score(answers: Any, said: str) -> None:
    with pytest.raises(PluginFailedError, match=f'^plugin "P" failed in .*{said}$'):
        score_array("P", answers, NAMES, Normalize.NONE)


def test_raw_scores_may_be_anything_finite() -> None:
    raw = score_array("P", [-5, 10**9], NAMES, Normalize.HIGHER_IS_BETTER)
    assert raw.tolist() == [-5, 10**9]
    with pytest.raises(PluginFailedError, match="score of Node b: gave inf"):
        score_array("P", [0, float("inf")], NAMES, Normalize.LOWER_IS_BETTER)


@pytest.mark.parametrize(
    ("normalize", "expected"),
    [
        (Normalize.HIGHER_IS_BETTER, [0, 50, 100]),
        (Normalize.LOWER_IS_BETTER, [100, 50, 0]),
        (Normalize.NONE, [-10, 0, 10]),
    ],
)
def test_normalization(normalize: Normalize, expected: list[int]) -> None:
    assert normalized(np.array([-10, 0, 10]), normalize, -10, 10).tolist() == expected


def test_equal_scores_tell_no_node_apart() -> None:
    raw = np.array([7, 7])
    assert normalized(raw, Normalize.HIGHER_IS_BETTER, 7, 7).tolist() == [0, 0]


def test_the_largest_range_is_exact() -> None:
    raw = np.array([-(2**53), 0, 2**53])
    scaled = normalized(raw, Normalize.HIGHER_IS_BETTER, -(2**53), 2**53)
    assert scaled.tolist() == [0, 50, 100]


def test_masks() -> None:
    assert mask_array("P", np.array([True, False]), 2).tolist() == [True, False]
    assert mask_array("P", [True, False], 2).tolist() == [True, False]


@pytest.mark.parametrize("answer", [[True], [1, 0], True, None])
def test_what_is_no_mask(answer: Any) -> None:
    with pytest.raises(PluginFailedError, match=r"failed in filter: gave .*, not bool \(2,\)"):
        mask_array("P", answer, 2)
