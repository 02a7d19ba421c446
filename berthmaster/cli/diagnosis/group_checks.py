"""Judges groups of Pods that do not start: what they need, and what is missing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from berthmaster.cli.diagnosis.facts import Facts, PendingPod
from berthmaster.cli.diagnosis.finding import (
    OBJECTS_TOLD,
    SETTLING_SECONDS,
    Area,
    Finding,
    Severity,
)
from scheduler_svc.core.group_texts import read_group_message
from scheduler_svc.shell.explain.group_obstacles import is_missing

_WAITING_WHY: Final = (
    "Pods of a group start together or not at all (docs/pod-groups.md); until then none of them "
    "takes room."
)
_MISSING_WHY: Final = (
    "They are not tried before it is there: create it, or correct its name in their template "
    "(docs/pod-groups.md)."
)


def is_held_by_its_group(pod: PendingPod) -> bool:
    """Whether a Pod waits for the others of its group, or they for it."""
    return read_group_message(pod.message) is not None


def check_pod_groups(pods: Iterable[PendingPod], facts: Facts) -> Iterator[Finding]:
    """Judge the groups of Pods for which `is_held_by_its_group`: the largest first."""
    groups: dict[tuple[str, str], dict[str, list[PendingPod]]] = defaultdict(dict)
    for pod in pods:
        told = read_group_message(pod.message)
        if told is not None:
            groups[pod.namespace, told.name].setdefault(told.reason, []).append(pod)
    findings = [_waiting(*key, by_reason, facts.now) for key, by_reason in groups.items()]
    yield from sorted(findings, key=lambda finding: (-finding.count, finding.what))


def _waiting(
    namespace: str, name: str, by_reason: dict[str, list[PendingPod]], now: float
) -> Finding:
    """Tell of one group; where its members say different things, what most of them say."""
    reason, *others = sorted(by_reason, key=lambda each: (-len(by_reason[each]), each))
    members = sorted(
        (pod for pods in by_reason.values() for pod in pods),
        key=lambda pod: (pod.waiting_since, pod.key),
    )
    age = max(now - members[0].waiting_since, 0.0)
    count = len(members)
    detail = by_reason[reason][0].message.split("; ")[1:]
    detail += [f"Of {len(by_reason[other])} of them it is said: {other}." for other in others]
    return Finding(
        check="pod-groups-waiting",
        severity=Severity.PROBLEM if age >= SETTLING_SECONDS else Severity.WARNING,
        area=Area.PENDING,
        what=f"{'1 Pod waits' if count == 1 else f'{count} Pods wait'} for the group "
        f"{namespace}/{name}: {reason}.",
        why=_MISSING_WHY if is_missing(reason) else _WAITING_WHY,
        next_command=f"kubectl -n {namespace} get podgroups"
        if is_missing(reason)
        else f"kubectl -n {namespace} describe podgroup {name}",
        count=count,
        objects=tuple(pod.key for pod in members[:OBJECTS_TOLD]),
        since_seconds=age,
        detail=tuple(detail),
    )
