"""What is said of a group: a table of situations, and what holds in all of them.

Phases are upstream's words (scheduler-plugins apis/scheduling/v1alpha1/types.go, v0.34.7), the
conditions of the built-in API those of staging/src/k8s.io/api/scheduling/v1alpha2/types.go,
v1.36.3; what each means here is in docs/pod-groups.md.
"""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_svc.controller.conditions import Verdict
from scheduler_svc.controller.pod_groups.group import Group, GroupStatus
from scheduler_svc.controller.pod_groups.judgement import FINAL_PHASES, Judgement, Phase, judge
from scheduler_svc.controller.pod_groups.members import Member
from tests.unit.scheduler_svc.controller.members import (
    erring,
    evicted,
    failed,
    gated,
    pending,
    placed,
    running,
    stuck,
    succeeded,
)

NOW = "2026-11-30T12:00:00Z"
BEFORE = "2026-11-29T12:00:00Z"
SCHEDULED = Verdict(True, "Scheduled", "at least 4 members have a Node")
SHORT = Verdict(False, "Short", "needs 4, 2 run")
ON_ITS_WAY = Group(4, GroupStatus("Scheduling"), Verdict(False, "Waiting", ""))
WAS_SCHEDULED = Group(4, GroupStatus("Running"), SCHEDULED)


@pytest.mark.parametrize(
    ("members", "phase", "reason", "message"),
    [
        ([], "Pending", "Waiting", "needs 4, 0 exist"),
        (pending(3), "Pending", "Waiting", "needs 4, 3 exist"),
        (pending(4), "PreScheduling", "Waiting", "needs 4, not tried yet"),
        (gated(4), "PreScheduling", "Waiting", "needs 4, not tried yet"),
        (stuck(4), "Pending", "Unschedulable", "needs 8, 6 fit"),
        (pending(3) + stuck(1), "Pending", "Unschedulable", "needs 8, 6 fit"),
        (stuck(3), "Pending", "Waiting", "needs 4, 3 exist"),
        (erring(4), "Pending", "SchedulerError", "4 members do not fit: boom"),
        (erring(3) + stuck(1), "Pending", "Unschedulable", "needs 8, 6 fit"),
        (placed(2) + pending(2), "Scheduling", "Waiting", "needs 4, some have no Node yet"),
        (placed(3) + stuck(1), "Unknown", "Unschedulable", "needs 8, 6 fit"),
        (placed(4), "Scheduled", "Scheduled", "at least 4 members have a Node"),
        (placed(1) + running(3), "Scheduled", "Scheduled", "at least 4 members have a Node"),
        (placed(4) + stuck(2), "Scheduled", "Scheduled", "at least 4 members have a Node"),
        (running(4), "Running", "Scheduled", "at least 4 members have a Node"),
        (running(4) + stuck(9), "Running", "Scheduled", "at least 4 members have a Node"),
        (running(3) + succeeded(1), "Running", "Scheduled", "at least 4 members have a Node"),
        (running(4) + failed(1), "Running", "Scheduled", "at least 4 members have a Node"),
        (succeeded(4), "Finished", "Scheduled", "at least 4 members have a Node"),
        (succeeded(4) + failed(2), "Finished", "Scheduled", "at least 4 members have a Node"),
        (running(3) + failed(1), "Failed", "Waiting", "needs 4, 3 exist, 1 failed"),
        (failed(4), "Failed", "Waiting", "needs 4, 0 exist, 4 failed"),
        (failed(4) + pending(4), "PreScheduling", "Waiting", "needs 4, not tried yet"),
        (running(3) + evicted(1), "Pending", "Waiting", "needs 4, 3 exist"),
    ],
)
def test_a_group_that_was_not_scheduled_before(
    members: list[Member], phase: str, reason: str, message: str
) -> None:
    status, verdict, _ = judge(ON_ITS_WAY, members, now=NOW)
    assert status.phase == phase
    assert verdict == Verdict(reason == "Scheduled", reason, message)


@pytest.mark.parametrize(
    ("members", "phase", "reason", "message"),
    [
        (running(3), "Pending", "Short", "needs 4, 3 run"),
        (running(1), "Pending", "Short", "needs 4, 1 runs"),
        (running(3) + evicted(1), "Pending", "Short", "needs 4, 3 run, 1 is ending"),
        (evicted(4), "Pending", "Short", "needs 4, 0 exist, 4 are ending"),
        (running(3) + failed(1), "Failed", "Short", "needs 4, 3 run, 1 failed"),
        (running(1) + placed(2), "Pending", "Short", "needs 4, 3 exist, 1 runs"),
        (running(2) + succeeded(1), "Pending", "Short", "needs 4, 3 exist, 2 run"),
        (placed(2), "Pending", "Short", "needs 4, 2 exist"),
        ([], "Pending", "Short", "needs 4, 0 exist"),
        (running(3) + pending(1), "Scheduling", "Short", "needs 4, 3 have a Node"),
        (placed(1) + pending(3), "Scheduling", "Short", "needs 4, 1 has a Node"),
        (running(3) + stuck(1), "Unknown", "Unschedulable", "needs 8, 6 fit"),
        (running(3) + placed(1), "Scheduled", "Scheduled", "at least 4 members have a Node"),
    ],
)
@pytest.mark.parametrize("told", [SCHEDULED, SHORT])
def test_a_group_that_was_scheduled_tells_that_it_is_short(
    told: Verdict, members: list[Member], phase: str, reason: str, message: str
) -> None:
    status, verdict, _ = judge(WAS_SCHEDULED._replace(told=told), members, now=NOW)
    assert status.phase == phase
    assert verdict == Verdict(reason == "Scheduled", reason, message)


def test_its_phase_tells_that_it_was_scheduled_where_there_is_no_condition() -> None:
    group = Group(4, GroupStatus("Running"))
    assert judge(group, running(3), now=NOW).verdict == Verdict(False, "Short", "needs 4, 3 run")


def test_the_counts_are_of_what_members_are() -> None:
    members = pending(1) + placed(2) + running(3) + evicted(1) + succeeded(5) + failed(6)
    status = judge(ON_ITS_WAY, members, now=NOW).status
    assert status.scheduled == 2 + 3 + 1 + 5 + 6
    assert (status.running, status.succeeded, status.failed) == (4, 5, 6)


@pytest.mark.parametrize("phase", sorted(FINAL_PHASES))
@pytest.mark.parametrize("left", [[], succeeded(2), failed(0), evicted(1)])
def test_a_group_that_is_done_stays_done_while_its_pods_are_removed(
    phase: str, left: list[Member]
) -> None:
    done = Group(4, GroupStatus(phase, "default/job", 4, 0, 4, 0, BEFORE), SCHEDULED)
    assert judge(done, left, now=NOW) == Judgement(done.status, None)


def test_a_group_that_is_done_begins_anew_with_new_members() -> None:
    done = Group(4, GroupStatus("Failed"), SHORT)
    assert judge(done, failed(4) + pending(4), now=NOW).status.phase == "PreScheduling"
    assert judge(done, running(4), now=NOW).status.phase == "Running"


def test_a_lower_minimum_is_enough_at_once_and_a_higher_one_is_not() -> None:
    members = running(4) + stuck(4)
    assert judge(Group(4, told=SCHEDULED), members, now=NOW).status.phase == "Running"
    assert judge(Group(8, told=SCHEDULED), members, now=NOW).status.phase == "Unknown"


@pytest.mark.parametrize(
    ("others", "phase", "message"),
    [
        ([], "Pending", "needs 8, 5 run"),
        (pending(2), "Pending", "needs 8, 7 exist, 5 run"),
        (pending(3), "Scheduling", "needs 8, 5 have a Node"),
        (running(3), "Running", "at least 8 members have a Node"),
    ],
)
def test_a_minimum_that_was_raised_is_not_told_of_as_a_loss(
    others: list[Member], phase: str, message: str
) -> None:
    five = running(5)
    told = Verdict(True, "Scheduled", "at least 5 members have a Node")
    group = Group(5, GroupStatus("Running"), told)
    assert judge(group, five, now=NOW).verdict == told
    status, verdict, _ = judge(group._replace(min_member=8), five + others, now=NOW)
    assert (status.phase, status.running) == (phase, 5 + len(others) * (phase == "Running"))
    assert verdict is not None
    assert verdict.message == message


def test_scheduling_starts_when_enough_members_are_there_and_only_once() -> None:
    assert judge(Group(4), pending(3), now=NOW).status.schedule_start_time == ""
    first = judge(Group(4), pending(4), now=BEFORE).status
    assert first.schedule_start_time == BEFORE
    assert judge(Group(4, first), running(4), now=NOW).status.schedule_start_time == BEFORE


def test_the_owners_of_the_members_occupy_the_group_for_good() -> None:
    def owned(owners: str) -> Member:
        return Member(uid=owners, owners=owners)

    assert judge(Group(2), [owned("default/a")], now=NOW).status.occupied_by == ""
    status = judge(Group(2), [owned("default/b"), owned("default/a")], now=NOW).status
    assert status.occupied_by == "default/a"
    later = judge(Group(2, status), [owned("default/c"), owned("default/d")], now=NOW).status
    assert later.occupied_by == "default/a"


@pytest.mark.parametrize(
    ("members", "told", "verdict"),
    [
        (pending(3), None, None),
        (pending(4), None, None),
        (placed(3) + pending(1), None, None),
        (stuck(4), None, Verdict(False, "Unschedulable", "needs 8, 6 fit")),
        (erring(4), None, Verdict(False, "SchedulerError", "4 members do not fit: boom")),
        (placed(4), None, Verdict(True, "Scheduled", "at least 4 members have a Node")),
        (running(3), SCHEDULED, None),
        (stuck(4), SCHEDULED, None),
        (failed(4), SCHEDULED, None),
    ],
)
def test_a_built_in_group_says_what_its_api_knows_and_stays_scheduled(
    members: list[Member], told: Verdict | None, verdict: Verdict | None
) -> None:
    group = Group(4, told=told, is_built_in=True)
    assert judge(group, members, now=NOW).verdict == verdict


def test_a_group_of_one_is_told_of_in_the_singular() -> None:
    verdict = judge(Group(1), placed(1), now=NOW).verdict
    assert verdict == Verdict(True, "Scheduled", "1 member has a Node")


MEMBERS = st.lists(
    st.sampled_from(
        [pending, gated, stuck, erring, placed, running, evicted, succeeded, failed]
    ).map(lambda make: make(1)[0]),
    max_size=10,
)
PHASES = st.sampled_from(["", "Odd", *map(str, Phase)])
VERDICTS = st.sampled_from([None, SCHEDULED, SHORT, Verdict(False, "Unschedulable", "x")])
GROUPS = st.builds(
    Group,
    min_member=st.integers(1, 8),
    status=st.builds(GroupStatus, phase=PHASES, schedule_start_time=st.sampled_from(["", BEFORE])),
    told=VERDICTS,
    is_built_in=st.booleans(),
)


@given(group=GROUPS, members=MEMBERS, random=st.randoms(use_true_random=False))
def test_judging_again_changes_nothing_and_order_does_not_matter(
    group: Group, members: list[Member], random: Random
) -> None:
    first = judge(group, members, now=BEFORE)
    shuffled = random.sample(members, len(members))
    assert judge(group, shuffled, now=BEFORE) == first
    after = group._replace(status=first.status, told=first.verdict or group.told)
    again = judge(after, shuffled, now=NOW)
    assert again.status == first.status
    assert (again.verdict or after.told) == after.told


@given(group=GROUPS, members=MEMBERS)
def test_what_is_said_agrees_with_the_members(group: Group, members: list[Member]) -> None:
    status, verdict, _ = judge(group, members, now=NOW)
    if status == group.status:
        return
    enough = sum((m.has_node and m.is_live) or m.phase == "Succeeded" for m in members)
    assert (status.phase in ("Scheduled", "Running", "Finished")) == (enough >= group.min_member)
    assert status.running + status.succeeded + status.failed <= status.scheduled <= len(members)
    if verdict is not None:
        assert verdict.is_true == (verdict.reason == "Scheduled")
        assert verdict.is_true == (enough >= group.min_member)
    if group.is_built_in and group.told is not None and group.told.is_true:
        assert verdict is None
