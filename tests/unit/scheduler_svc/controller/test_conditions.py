"""Conditions, beside those of others."""

from scheduler_svc.controller.conditions import (
    MESSAGE_LIMIT_CHARACTERS,
    Verdict,
    merge_conditions,
    read_verdict,
)

BEFORE, NOW = "2026-11-29T12:00:00Z", "2026-11-30T12:00:00Z"
OTHER = {"type": "Other", "status": "True", "reason": "X", "extra": 1}
MINE = {
    "type": "Ready",
    "status": "False",
    "reason": "Waiting",
    "message": "for it",
    "lastTransitionTime": BEFORE,
    "observedGeneration": 3,
}
WAITING = Verdict(False, "Waiting", "for it")


def merge(conditions: object, verdict: Verdict, generation: int = 3) -> object:
    return merge_conditions(conditions, {"Ready": verdict}, generation=generation, now=NOW)


def test_a_first_condition_is_added_beside_others() -> None:
    expected = [OTHER, {**MINE, "lastTransitionTime": NOW}]
    assert merge([OTHER], WAITING) == expected
    assert merge(None, WAITING) == expected[1:]
    assert merge("no list", WAITING) == expected[1:]


def test_what_is_said_already_is_not_said_again() -> None:
    assert merge([MINE, OTHER], WAITING) is None


def test_the_time_of_a_transition_is_that_of_the_status() -> None:
    message = merge([OTHER, MINE], Verdict(False, "Waiting", "for another"))
    assert message == [OTHER, {**MINE, "message": "for another"}]
    status = merge([MINE, OTHER], Verdict(True, "Done", ""))
    changed = {"status": "True", "reason": "Done", "message": "", "lastTransitionTime": NOW}
    assert status == [{**MINE, **changed}, OTHER]


def test_a_newer_generation_is_observed() -> None:
    assert merge([MINE], WAITING, generation=4) == [{**MINE, "observedGeneration": 4}]


def test_a_message_is_no_longer_than_the_api_takes() -> None:
    merged = merge([], Verdict(None, "Odd", "x" * 40_000))
    assert isinstance(merged, list)
    assert merged[0]["status"] == "Unknown"
    assert len(merged[0]["message"]) == MESSAGE_LIMIT_CHARACTERS


def test_a_condition_is_read() -> None:
    assert read_verdict([OTHER, MINE], "Ready") == WAITING
    assert read_verdict([OTHER], "Ready") is None
    assert read_verdict(None, "Ready") is None
    unknown = read_verdict([{"type": "Ready", "status": "Unknown"}], "Ready")
    assert unknown == Verdict(None, "", "")
