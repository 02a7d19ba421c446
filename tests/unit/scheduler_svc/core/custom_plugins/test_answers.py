"""Answers of users' plugins: what they may be, and what is said of those that are none."""

from collections.abc import AsyncIterator, Callable
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from scheduler_svc.core.custom_plugins.answers import (
    is_duration,
    mask_array,
    names_or_status,
    node_score,
    normalized,
    nothing,
    queueing_hint,
    registrations,
    score_array,
    sort_key,
    status_of,
    wait_or_status,
)
from scheduler_svc.core.custom_plugins.base import Normalize, Reject, Wait
from scheduler_svc.core.custom_plugins.guard import PluginFailedError
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    QueueingHint,
)
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


@pytest.mark.parametrize("answer", [True, False, 7, "", Reject(""), ["full"], Wait(3)])
def test_what_is_no_reason(answer: Any) -> None:
    with pytest.raises(PluginFailedError, match=r'plugin "P" failed in filter: gave .*, not None'):
        status_of("P", "filter", answer)


def test_a_long_reason_is_cut() -> None:
    [reason] = status_of("P", "filter", "x" * 100_000).reasons
    assert reason == "x" * 496 + " ..."


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Reject(5), "gave Reject(reason=5, resolvable=True), not None, a reason"),  # type: ignore[arg-type]
        (
            Reject("full", resolvable="no"),  # type: ignore[arg-type]
            "gave 'no', not resolvable=True or resolvable=False",
        ),
    ],
)
def test_a_rejection_of_wrong_types(answer: Any, said: str) -> None:
    with pytest.raises(PluginFailedError) as caught:
        status_of("P", "filter", answer)
    assert said in str(caught.value)


Read = Callable[[str, str, Any], Any]
READS: list[Read] = [
    status_of,
    names_or_status,
    wait_or_status,
    nothing,
    sort_key,
    node_score,
    registrations,
    queueing_hint,
    lambda plugin, point, answer: mask_array(plugin, answer, 2),
    lambda plugin, point, answer: score_array(plugin, answer, NAMES, Normalize.NONE),
]


@pytest.mark.parametrize("read", READS)
def test_coroutines_are_told_as_such(read: Read) -> None:
    async def answer() -> None:
        """Never run."""

    async def answers() -> AsyncIterator[int]:
        yield 1

    for given in (answer(), answers()):
        with pytest.raises(PluginFailedError, match="gave a coroutine; plugins' methods are plain"):
            read("P", "filter", given)


def test_what_is_given_where_nothing_is_wanted() -> None:
    assert nothing("P", "post_bind", 7) is SUCCESS


def test_names_of_nodes() -> None:
    assert names_or_status("P", "pre_filter", {"a"}) == frozenset({"a"})
    assert names_or_status("P", "pre_filter", frozenset()) == frozenset()
    assert names_or_status("P", "pre_filter", None) is SUCCESS


@pytest.mark.parametrize("answer", [{1}, {"a", None}, ["a"], ("a",), 3])
def test_what_are_no_names_of_nodes(answer: Any) -> None:
    with pytest.raises(PluginFailedError, match=r"gave .*, not None, a reason, .* a set of Nodes'"):
        names_or_status("P", "pre_filter", answer)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Wait(5), 5.0),
        (Wait(0.5), 0.5),
        (Wait(np.float32(2)), 2.0),  # type: ignore[arg-type]
        (Wait(np.int64(3)), 3.0),  # type: ignore[arg-type]
        (Wait(inf), inf),
        (None, SUCCESS),
        ("no", Status(Code.UNSCHEDULABLE, ("no",))),
    ],
)
def test_waits(answer: Any, expected: Any) -> None:
    assert wait_or_status("P", "permit", answer) == expected


@pytest.mark.parametrize("seconds", ["5", None, nan, -1, 0, -inf, True, [5], np.array([5]), 1j])
def test_what_is_no_wait(seconds: Any) -> None:
    with pytest.raises(
        PluginFailedError, match=r"gave Wait\(.*, not a Wait of a number of seconds"
    ):
        wait_or_status("P", "permit", Wait(seconds))


@pytest.mark.parametrize("answer", [5, True, {"a"}])
def test_what_permit_cannot_answer(answer: Any) -> None:
    with pytest.raises(PluginFailedError, match="not None, a reason, a Reject with one or a Wait"):
        wait_or_status("P", "permit", answer)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [((1, 2.5), (1, 2.5)), ((np.int64(3), -inf), (3, -inf)), ((), ()), ((10**400,), (10**400,))],
)
def test_sort_keys(answer: Any, expected: tuple[float, ...]) -> None:
    assert sort_key("P", "sort_key", answer) == expected


@pytest.mark.parametrize(
    "answer", ["first", 5, None, [1], ("a",), (None,), (nan,), (1, np.float64(nan)), ((1,),)]
)
def test_what_is_no_sort_key(answer: Any) -> None:
    with pytest.raises(PluginFailedError, match=r"gave .*, not a tuple of numbers"):
        sort_key("P", "sort_key", answer)


@pytest.mark.parametrize("answer", [1, 2.5, True, np.float32(7), np.int8(3)])
def test_scores_of_a_node(answer: Any) -> None:
    assert node_score("P", "score of Node a", answer) == answer


@pytest.mark.parametrize("answer", [None, "high", [1], 1j, np.array([1])])
def test_what_is_no_score_of_a_node(answer: Any) -> None:
    with pytest.raises(
        PluginFailedError, match=r"failed in score of Node a: gave .*, not a number"
    ):
        node_score("P", "score of Node a", answer)


ADDED = ClusterEvent(EventResource.NODE, ActionType.ADD)


def test_registrations() -> None:
    given = [EventRegistration(ADDED), EventRegistration(ADDED, lambda *_: QueueingHint.SKIP)]
    assert registrations("P", "events_to_register", given) == tuple(given)
    assert registrations("P", "events_to_register", iter(given)) == tuple(given)
    assert registrations("P", "events_to_register", []) == ()


@pytest.mark.parametrize(
    "answer",
    [
        None,
        5,
        [1],
        "Node",
        [ADDED],
        [EventRegistration("Node")],  # type: ignore[arg-type]
        [EventRegistration(ADDED, "hint")],  # type: ignore[arg-type]
        [EventRegistration(ClusterEvent(5, ActionType.ADD, "label"))],  # type: ignore[arg-type]
        [EventRegistration(ClusterEvent("Node", "ADD", "label"))],  # type: ignore[arg-type]
    ],
)
def test_what_are_no_registrations(answer: Any) -> None:
    with pytest.raises(PluginFailedError, match=r"gave .*, not a list of EventRegistration"):
        registrations("P", "events_to_register", answer)


def test_hints() -> None:
    assert queueing_hint("P", "queueing hint", QueueingHint.SKIP) is QueueingHint.SKIP
    with pytest.raises(PluginFailedError, match=r"gave True, not QueueingHint.QUEUE or"):
        queueing_hint("P", "queueing hint", True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, True), (0.5, True), (0, False), (-1, False), (inf, False), (nan, False), ("5", False)],
)
def test_limits_of_time(value: Any, expected: bool) -> None:
    assert is_duration(value) is expected


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
        ([1j, 2j], "not 2 numbers, one a Node"),
        ([10**400, 0], "not 2 numbers, one a Node"),
        ([None, 1], "not 2 numbers, one a Node"),
        (np.zeros((2, 1)), "not 2 numbers, one a Node"),
        (np.ma.masked_array([200, 1]), "score of Node a: gave 200, not 0 to 100"),
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


def test_a_mask_is_not_the_plugins_own_array() -> None:
    own = np.array([True, False])
    mask_array("P", own, 2)[0] = False
    assert own.tolist() == [True, False]


def test_masks() -> None:
    assert mask_array("P", np.array([True, False]), 2).tolist() == [True, False]
    assert mask_array("P", [True, False], 2).tolist() == [True, False]


@pytest.mark.parametrize("answer", [[True], [1, 0], True, None])
def test_what_is_no_mask(answer: Any) -> None:
    with pytest.raises(PluginFailedError, match=r"failed in filter: gave .*, not bool \(2,\)"):
        mask_array("P", answer, 2)
