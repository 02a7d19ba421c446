"""Nodes on which evicting some Pods makes room, and the choice among them.

Source: pkg/scheduler/framework/preemption/preemption.go (`pickOneNodeForPreemption`) and
pkg/scheduler/util/utils.go (`MoreImportantPod`, `GetEarliestPodStartTime`), v1.36.3.
"""

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.preemption.go_sort import go_sorted

# A Pod that has not started counts as starting now: later than every time there is.
_NOT_STARTED: Final = "\U0010ffff"
# Makes every priority, an int32, positive: fewer victims are better, whatever their priority.
_PRIORITY_SHIFT: Final = 2**31
# Go sorts that many by insertion, which leaves those that tie as they are.
_STABLE: Final = 12


class Candidate(msgspec.Struct, frozen=True):
    """A Node's row, whom to evict there, and how many of them break a budget.

    There is at least one victim; the most important comes first.
    """

    row: int
    victims: tuple[PodInfo, ...]
    violation_count: int


def by_importance(pod: PodInfo) -> tuple[int, str]:
    """Give a sort key: the Pod of the highest priority first, among equals the oldest."""
    return (-pod.shape.priority, pod.start_time or _NOT_STARTED)


def in_order_of_importance(pods: list[PodInfo]) -> list[PodInfo]:
    """Sort Pods as kube-scheduler does, which is not stable where they tie.

    Each that has not started starts the moment it is looked at: before one that is looked at later.
    """
    is_unique = len(set(map(by_importance, pods))) == len(pods)
    if is_unique or (len(pods) <= _STABLE and all(pod.start_time for pod in pods)):
        return sorted(pods, key=by_importance)
    return go_sorted(pods, _is_more_important)


def _is_more_important(pod: PodInfo, other: PodInfo) -> bool:
    mine, others = by_importance(pod), by_importance(other)
    return mine < others or (mine == others and not pod.start_time)


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """Give the candidate that does the least harm; there is at least one.

    That is, one after the other: fewest broken budgets, lowest priority of the most important
    victim, smallest sum of priorities, fewest victims, and then the one whose oldest victim
    of the highest priority is youngest. Of equals it is the first.
    """
    harms = [_harm(candidate) for candidate in candidates]
    best = min(harms)
    equals = [candidate for candidate, harm in zip(candidates, harms, strict=True) if harm == best]
    return max(equals, key=_oldest_start)


def _harm(candidate: Candidate) -> tuple[int, int, int, int]:
    victims = candidate.victims
    priority_sum = sum(pod.shape.priority + _PRIORITY_SHIFT for pod in victims)
    return (candidate.violation_count, victims[0].priority, priority_sum, len(victims))


def _oldest_start(candidate: Candidate) -> str:
    victims = candidate.victims
    highest = victims[0].priority
    return min(pod.start_time or _NOT_STARTED for pod in victims if pod.priority == highest)


def is_leaving(pod: PodInfo, evicted_uids: Collection[str]) -> bool:
    """Whether a Pod goes since it was preempted, whether or not the watch has told so."""
    return (pod.is_terminating and pod.is_preempted) or pod.uid in evicted_uids
