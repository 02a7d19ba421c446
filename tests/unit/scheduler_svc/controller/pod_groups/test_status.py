"""What of a group's status is written."""

from typing import Any

from scheduler_svc.controller.conditions import Verdict
from scheduler_svc.controller.custom_resources import BUILT_IN_POD_GROUPS, POD_GROUPS
from scheduler_svc.controller.pod_groups.group import Group, GroupStatus, read_group
from scheduler_svc.controller.pod_groups.judgement import Judgement
from scheduler_svc.controller.pod_groups.status import dropped_fields, status_changes

NOW = "2026-11-30T12:00:00Z"
WAITING = Verdict(False, "Waiting", "needs 2, 1 exist")
CONDITION = {
    "type": "PodGroupScheduled",
    "status": "False",
    "reason": "Waiting",
    "message": "needs 2, 1 exist",
    "lastTransitionTime": NOW,
    "observedGeneration": 1,
}


def changes(
    before: GroupStatus,
    after: GroupStatus,
    conditions: object = (),
    *,
    verdict: Verdict | None = None,
    lacking: frozenset[str] = frozenset(),
    is_built_in: bool = False,
) -> dict[str, Any]:
    return status_changes(
        Group(2, before, is_built_in=is_built_in),
        Judgement(after, verdict),
        conditions,
        generation=1,
        lacking=lacking,
        now=NOW,
    )


def test_only_what_differs_is_written() -> None:
    before = GroupStatus("Pending", "", 1, 0, 0, 0, NOW)
    assert changes(before, before) == {}
    after = before._replace(phase="Scheduled", scheduled=0, occupied_by="default/job")
    assert changes(before, after) == {
        "phase": "Scheduled",
        "scheduled": 0,
        "occupiedBy": "default/job",
    }
    assert changes(GroupStatus(), before) == {
        "phase": "Pending",
        "scheduled": 1,
        "scheduleStartTime": NOW,
    }


def test_a_condition_is_written_once() -> None:
    same = GroupStatus("Pending")
    assert changes(same, same, None, verdict=WAITING) == {"conditions": [CONDITION]}
    assert changes(same, same, [CONDITION], verdict=WAITING) == {}
    assert changes(same, same, [CONDITION], verdict=None) == {}


def test_what_the_definition_lacks_is_not_written() -> None:
    lacking = frozenset({"conditions", "scheduled"})
    before, after = GroupStatus("Pending"), GroupStatus("Scheduled", scheduled=2)
    written = changes(before, after, verdict=WAITING, lacking=lacking)
    assert written == {"phase": "Scheduled"}


def test_a_built_in_group_has_a_condition_only() -> None:
    written = changes(GroupStatus(), GroupStatus("Pending"), verdict=WAITING, is_built_in=True)
    assert written == {"conditions": [CONDITION]}


def test_fields_that_did_not_stay_are_found() -> None:
    written = {"phase": "Pending", "scheduled": 0, "conditions": []}
    assert dropped_fields(written, {"phase": "Pending"}) == {"scheduled", "conditions"}
    assert dropped_fields(written, written) == set()


def test_a_group_is_read() -> None:
    status = {
        "phase": "Running",
        "occupiedBy": "default/job",
        "scheduled": 4,
        "running": 3,
        "succeeded": 1,
        "failed": 2,
        "scheduleStartTime": NOW,
        "conditions": [CONDITION],
    }
    assert read_group(POD_GROUPS, {"minMember": 4}, status) == Group(
        4, GroupStatus("Running", "default/job", 4, 3, 1, 2, NOW), WAITING
    )
    assert read_group(POD_GROUPS, {}, {"phase": None, "running": "x"}) == Group(1)
    assert read_group(POD_GROUPS, {"minMember": 0}, {}) == Group(1)


def test_a_built_in_group_is_read() -> None:
    gang = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    status = {"conditions": [CONDITION], "phase": "not its field"}
    expected = Group(3, told=WAITING, is_built_in=True)
    assert read_group(BUILT_IN_POD_GROUPS, gang, status) == expected
    basic: dict[str, Any] = {"schedulingPolicy": {"basic": {}}}
    assert read_group(BUILT_IN_POD_GROUPS, basic, {}) == Group(1, is_built_in=True)
