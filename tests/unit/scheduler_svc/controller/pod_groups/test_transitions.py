"""Events of a group: one for each transition."""

import pytest

from scheduler_svc.controller.conditions import Verdict
from scheduler_svc.controller.pod_groups.group import GroupStatus
from scheduler_svc.controller.pod_groups.judgement import Judgement
from scheduler_svc.controller.pod_groups.transitions import transitions

SCHEDULED = Verdict(True, "Scheduled", "yes")
STUCK = Verdict(False, "Unschedulable", "needs 8, 6 fit")
OTHERWISE_STUCK = Verdict(False, "Unschedulable", "needs 8, 5 fit")
WAITING = Verdict(False, "Waiting", "needs 8, 0 exist")
SHORT = Verdict(False, "Short", "needs 8, 6 run")
ERROR = Verdict(False, "SchedulerError", "boom")


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [
        (None, WAITING, []),
        (WAITING, STUCK, [("Warning", "Unschedulable", "needs 8, 6 fit")]),
        (STUCK, OTHERWISE_STUCK, []),
        (STUCK, SCHEDULED, [("Normal", "Scheduled", "yes")]),
        (SCHEDULED, SCHEDULED, []),
        (SCHEDULED, None, []),
        (SCHEDULED, SHORT, [("Warning", "Short", "needs 8, 6 run")]),
        (SHORT, STUCK, [("Warning", "Unschedulable", "needs 8, 6 fit")]),
        (None, ERROR, [("Warning", "SchedulerError", "boom")]),
        (STUCK, WAITING, []),
    ],
)
def test_the_condition_tells(
    before: Verdict | None, after: Verdict | None, events: list[tuple[str, str, str]]
) -> None:
    texts = transitions(before, "Pending", Judgement(GroupStatus("Pending"), after))
    assert [(text.type, text.reason, text.note) for text in texts] == events


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [
        ("Running", "Finished", [("Normal", "Finished")]),
        ("Running", "Failed", [("Warning", "Failed")]),
        ("Finished", "Finished", []),
        ("Scheduled", "Running", []),
        ("", "Pending", []),
    ],
)
def test_the_end_is_told(before: str, after: str, events: list[tuple[str, str]]) -> None:
    judgement = Judgement(GroupStatus(after, succeeded=3, failed=1), SCHEDULED)
    texts = list(transitions(SCHEDULED, before, judgement))
    assert [(text.type, text.reason) for text in texts] == events
    assert {text.note for text in texts} <= {"3 members have succeeded, 1 have failed"}


INVALID = Verdict(False, "Invalid", "no such mode")
VALID = Verdict(True, "Valid", "yes")


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [
        (None, INVALID, [("Warning", "Invalid", "no such mode")]),
        (VALID, INVALID, [("Warning", "Invalid", "no such mode")]),
        (INVALID._replace(message="another"), INVALID, [("Warning", "Invalid", "no such mode")]),
        (INVALID, INVALID, []),
        (INVALID, VALID, []),
        (None, None, []),
    ],
)
def test_annotations_that_cannot_be_followed_are_told(
    before: Verdict | None, after: Verdict | None, events: list[tuple[str, str, str]]
) -> None:
    judgement = Judgement(GroupStatus("Pending"), WAITING, after)
    texts = transitions(WAITING, "Pending", judgement, before)
    assert [(text.type, text.reason, text.note) for text in texts] == events
