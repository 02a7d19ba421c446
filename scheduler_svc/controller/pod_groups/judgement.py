"""What is to be said of a group: a pure function of the group and its members.

Judging again what was just judged changes nothing, and the order of members does not
matter, so a restart of the controller writes nothing.

The phases are upstream's words, with one meaning each::

    Pending        too few members are there, or they do not fit
    PreScheduling  minMember are there, none was tried yet
    Scheduling     some have a Node, the others are on their way
    Scheduled      minMember have a Node
    Running        minMember run, or have succeeded
    Unknown        some have a Node, the others do not fit
    Finished       minMember have succeeded
    Failed         some have failed, and fewer than minMember are left

Source: sigs.k8s.io/scheduler-plugins apis/scheduling/v1alpha1/types.go and
pkg/controllers/podgroup_controller.go, v0.34.7. Differences: a failed member that was
replaced does not make the group Failed for ever; a group is Finished or Failed for as long as
no live member is there, also when its Pods have been removed, and judged anew after that.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from scheduler_svc.controller.conditions import Verdict
from scheduler_svc.controller.pod_groups.annotations import judge_annotations
from scheduler_svc.controller.pod_groups.group import Group, GroupStatus
from scheduler_svc.controller.pod_groups.members import Member
from scheduler_svc.controller.pod_groups.reasons import group_reason


class Phase(StrEnum):
    """Of a PodGroup."""

    PENDING = "Pending"
    PRE_SCHEDULING = "PreScheduling"
    SCHEDULING = "Scheduling"
    SCHEDULED = "Scheduled"
    RUNNING = "Running"
    UNKNOWN = "Unknown"
    FINISHED = "Finished"
    FAILED = "Failed"


class Reason(StrEnum):
    """Of the condition PodGroupScheduled."""

    SCHEDULED = "Scheduled"
    UNSCHEDULABLE = "Unschedulable"
    SCHEDULER_ERROR = "SchedulerError"
    WAITING = "Waiting"
    SHORT = "Short"


FINAL_PHASES: Final = frozenset((Phase.FINISHED, Phase.FAILED))
_BUILT_IN_REASONS: Final = frozenset(
    (Reason.SCHEDULED, Reason.UNSCHEDULABLE, Reason.SCHEDULER_ERROR)
)
_REACHED: Final = frozenset((Phase.SCHEDULED, Phase.RUNNING))
"""Phases which tell that the group was scheduled, where no condition can be written."""


class Judgement(NamedTuple):
    """What to say; of `verdict` and `validity` None: the condition stays as it is."""

    status: GroupStatus
    verdict: Verdict | None
    validity: Verdict | None = None


class _Tally(NamedTuple):
    """Members by what matters; `placed` are live ones with a Node, `stopped` those that do not fit.

    `running` counts all that run, also those that are being ended.
    """

    live: int
    placed: int
    placed_running: int
    scheduled: int
    running: int
    succeeded: int
    failed: int
    stopped: tuple[Member, ...]

    @property
    def available(self) -> int:
        """Members that count towards minMember: there, or done."""
        return self.live + self.succeeded


def judge(group: Group, members: Iterable[Member], *, now: str) -> Judgement:
    """Say what a group's status ought to be.

    Parameters
    ----------
    now
        ``metav1.Time``: when the group's scheduling starts, if it starts now.

    Notes
    -----
    O(members).
    """
    members = tuple(members)
    tally = _tally(members)
    phase = _phase(group, tally)
    validity = judge_annotations(group.annotations, group.told_valid)
    if group.status.phase in FINAL_PHASES and not tally.live and phase not in FINAL_PHASES:
        # The Pods of a group that is done are being removed.
        return Judgement(group.status, None, validity)
    status = GroupStatus(
        phase=phase,
        occupied_by=group.status.occupied_by,
        scheduled=tally.scheduled,
        running=tally.running,
        succeeded=tally.succeeded,
        failed=tally.failed,
        schedule_start_time=group.status.schedule_start_time,
    )
    if tally.available >= group.min_member:
        status = status._replace(
            occupied_by=status.occupied_by or _owners(members),
            schedule_start_time=status.schedule_start_time or now,
        )
    return Judgement(status, _verdict(group, tally), validity)


def _tally(members: tuple[Member, ...]) -> _Tally:
    live = [member for member in members if member.is_live]
    placed = [member for member in live if member.has_node]
    phases = [member.phase for member in members]
    return _Tally(
        live=len(live),
        placed=len(placed),
        placed_running=sum(member.phase == "Running" for member in placed),
        scheduled=sum(member.has_node for member in members),
        running=phases.count("Running"),
        succeeded=phases.count("Succeeded"),
        failed=phases.count("Failed"),
        stopped=tuple(member for member in live if _does_not_fit(member)),
    )


def _does_not_fit(member: Member) -> bool:
    return member.obstacle in (Reason.UNSCHEDULABLE, Reason.SCHEDULER_ERROR)


def _phase(group: Group, tally: _Tally) -> Phase:
    needed, done = group.min_member, tally.succeeded
    if done >= needed:
        return Phase.FINISHED
    if tally.available < needed:
        return Phase.FAILED if tally.failed else Phase.PENDING
    if tally.placed_running + done >= needed:
        return Phase.RUNNING
    if tally.placed + done >= needed:
        return Phase.SCHEDULED
    if tally.stopped:
        return Phase.UNKNOWN if tally.placed else Phase.PENDING
    return Phase.SCHEDULING if tally.placed else Phase.PRE_SCHEDULING


def _verdict(group: Group, tally: _Tally) -> Verdict | None:
    """Say what the condition is to say."""
    if not group.is_built_in:
        return _full_verdict(group, tally)
    if group.told is not None and group.told.is_true:
        return None
    verdict = _full_verdict(group, tally)
    return verdict if verdict.reason in _BUILT_IN_REASONS else None


def _full_verdict(group: Group, tally: _Tally) -> Verdict:
    needed = group.min_member
    if tally.placed + tally.succeeded >= needed:
        whom = "1 member has a Node" if needed == 1 else f"at least {needed} members have a Node"
        return Verdict(True, Reason.SCHEDULED, whom)
    was_scheduled = _was_scheduled(group)
    if tally.available < needed:
        lost = f", {tally.failed} failed" if tally.failed else ""
        if was_scheduled:
            return Verdict(False, Reason.SHORT, f"needs {needed}, {_present(tally)}{lost}")
        return Verdict(False, Reason.WAITING, f"needs {needed}, {tally.available} exist{lost}")
    if tally.stopped:
        reasons = {member.obstacle for member in tally.stopped}
        is_error = Reason.UNSCHEDULABLE not in reasons
        reason = Reason.SCHEDULER_ERROR if is_error else Reason.UNSCHEDULABLE
        messages = (member.message for member in tally.stopped if member.obstacle == reason)
        return Verdict(False, reason, group_reason(messages))
    if was_scheduled:
        placed = tally.placed + tally.succeeded
        have = "1 has" if placed == 1 else f"{placed} have"
        return Verdict(False, Reason.SHORT, f"needs {needed}, {have} a Node")
    if tally.placed:
        return Verdict(False, Reason.WAITING, f"needs {needed}, some have no Node yet")
    return Verdict(False, Reason.WAITING, f"needs {needed}, not tried yet")


def _present(tally: _Tally) -> str:
    """Say what there is of a group that has too little.

    Not that the others are lost: minMember may have been raised.
    """
    running, ending = tally.placed_running, tally.running - tally.placed_running
    parts = [f"{tally.available} exist"] if running < tally.available or not running else []
    if running:
        parts.append("1 runs" if running == 1 else f"{running} run")
    if ending:
        parts.append("1 is ending" if ending == 1 else f"{ending} are ending")
    return ", ".join(parts)


def _was_scheduled(group: Group) -> bool:
    if group.told is None:
        return group.status.phase in _REACHED
    return bool(group.told.is_true) or group.told.reason == Reason.SHORT


def _owners(members: tuple[Member, ...]) -> str:
    """Give the owners of one of the members, always of the same one."""
    return min((member.owners for member in members if member.owners), default="")
