"""Judges the Pods without a Node: why, how many, since when, and what would help."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from berthmaster.cli.diagnosis.declared import OWN_NAME
from berthmaster.cli.diagnosis.facts import (
    Facts,
    Installation,
    LiveAnswer,
    PendingPod,
)
from berthmaster.cli.diagnosis.finding import (
    OBJECTS_TOLD,
    SETTLING_SECONDS,
    Area,
    Finding,
    Severity,
)
from berthmaster.cli.diagnosis.group_checks import check_pod_groups, is_held_by_its_group
from berthmaster.cli.diagnosis.installations import port_of
from berthmaster.cli.diagnosis.room import room_left, shortages
from berthmaster.cli.diagnosis.scheduler_checks import leads
from scheduler_svc.shell.config.schema import DEFAULT_SCHEDULER_NAME
from scheduler_svc.shell.explain.question import DEFAULT_LEASE, DEFAULT_PORT

NOMINATED_SECONDS: Final = 300.0
"""What keeps a Pod from its Node for longer is worth a look; a victim has 30 s to end unless it
asks for more, and plugins mostly less."""
UNSCHEDULABLE: Final = "Unschedulable"
GATED: Final = "SchedulingGated"

_NODES_OF: Final = re.compile(r"^0/\d+ nodes are available: ")
_PREEMPTION: Final = re.compile(r"\.? (?:no new claims to deallocate, )?preemption: .*", re.DOTALL)
_COUNT: Final = re.compile(r"^\d+ ")


def check_pending(facts: Facts) -> Iterator[Finding]:
    """Judge all Pods without a Node."""
    pods = facts.pending
    if pods is None:
        return
    gated, nominated, grouped, rejected, failed, unseen = [], [], [], [], [], []
    given_up = facts.given_up_names
    for pod in pods:
        if pod.gates or pod.reason == GATED:
            gated.append(pod)
        elif pod.scheduler_name in given_up:
            unseen.append(pod)
        elif pod.nominated_node:
            nominated.append(pod)
        elif is_held_by_its_group(pod):
            grouped.append(pod)
        elif pod.reason == UNSCHEDULABLE:
            rejected.append(pod)
        elif pod.reason:
            failed.append(pod)
        else:
            unseen.append(pod)
    yield from check_pod_groups(grouped, facts)
    yield from _check_rejected(rejected, facts)
    yield from _check_failed(failed, facts)
    yield from _check_unseen(unseen, facts)
    yield from _check_nominated(nominated, facts)
    yield from _check_gated(gated, facts)
    if not pods and not facts.namespace_is_missing:
        yield Finding(
            check="pending", severity=Severity.OK, area=Area.PENDING, what="No Pod is pending."
        )


def reasons_of(message: str) -> str:
    """Give what a FailedScheduling text says of Nodes, without numbers: the key of a group."""
    text = _PREEMPTION.sub("", _NODES_OF.sub("", message)).rstrip(".")
    return ", ".join(sorted(_COUNT.sub("", part) for part in text.split(", ")))


def groups_of(pods: Iterable[PendingPod]) -> list[list[PendingPod]]:
    """Put Pods that wait for the same thing together: the largest group first, oldest Pod first."""
    groups: dict[tuple[str, str, str], list[PendingPod]] = defaultdict(list)
    for pod in pods:
        groups[pod.scheduler_name, pod.reason, reasons_of(pod.message)].append(pod)
    for group in groups.values():
        group.sort(key=lambda pod: (pod.waiting_since, pod.key))
    return sorted(groups.values(), key=lambda group: (-len(group), group[0].key))


def served_names(facts: Facts) -> frozenset[str]:
    """Give the schedulerNames that somebody is known to serve."""
    names = {name for each in facts.installations for name in each.names}
    if facts.kube_scheduler is not None or not facts.kube_scheduler_is_known:
        names.add(DEFAULT_SCHEDULER_NAME)
    return facts.judged_names - facts.given_up_names.keys() | names


def _age(pods: Sequence[PendingPod], now: float) -> float:
    return max(now - min(pod.waiting_since for pod in pods), 0.0)


def _keys(pods: Sequence[PendingPod]) -> tuple[str, ...]:
    return tuple(pod.key for pod in pods[:OBJECTS_TOLD])


def _count(pods: Sequence[PendingPod]) -> str:
    return "1 Pod" if len(pods) == 1 else f"{len(pods)} Pods"


def _is(pods: Sequence[PendingPod], singular: str, plural: str) -> str:
    return singular if len(pods) == 1 else plural


def explain_command(pod: PendingPod, facts: Facts) -> str:
    """Give the command that tells each Node's verdict: by the scheduler, or by the cluster.

    Who may not list Nodes is told what there is without them.
    """
    installation = installation_of(pod.scheduler_name, facts.installations)
    command = f"berthmaster explain pod {pod.name} -n {pod.namespace}"
    if installation is not None and facts.scheduler_url:
        return f"{command} --server {facts.scheduler_url}"
    if installation is None or not installation.replicas:
        if facts.nodes is None:
            return f"kubectl -n {pod.namespace} describe pod {pod.name}"
        return f"{command} --from-cluster"
    if installation.lease_key and installation.lease_key != DEFAULT_LEASE:
        command += f" --lease {installation.lease_key}"
    port = port_of(installation)
    return f"{command} --secure-port {port}" if port not in (0, DEFAULT_PORT) else command


def installation_of(name: str, installations: Sequence[Installation]) -> Installation | None:
    """Give the installation that serves a schedulerName."""
    return next((each for each in installations if name in each.names), None)


def _is_led(name: str, facts: Facts) -> bool:
    """Whether somebody acts for a schedulerName; of others' schedulers it is taken for granted."""
    installation = installation_of(name, facts.installations)
    if installation is None:
        return name != OWN_NAME or bool(facts.scope.lease)
    return leads(installation, facts.now)


def _check_rejected(pods: Sequence[PendingPod], facts: Facts) -> Iterator[Finding]:
    nodes = facts.nodes if facts.usage_is_known else None
    room = room_left(nodes, facts.now) if nodes is not None else ()
    for group in groups_of(pods):
        told = _live_pod(group, facts.live)
        first = told or group[0]
        live = facts.live.get(first.key)
        age = _age(group, facts.now)
        message = first.message
        if live is not None and live.fit_error:
            message = live.fit_error
        detail = [message, *(shortages(first, room) if room else ())]
        if live is not None and live.fits_on:
            detail.append(
                f"{first.key} would fit on {live.fits_on} of {live.node_count} Nodes now."
            )
        yield Finding(
            check="pods-unschedulable",
            severity=Severity.PROBLEM if age >= SETTLING_SECONDS else Severity.WARNING,
            area=Area.PENDING,
            what=f"{_count(group)} of {first.scheduler_name} {_is(group, 'fits', 'fit')} on no "
            f"Node: {reasons_of(message) or 'no reason is given'}.",
            why="They wait until a Node or a Pod changes so that it may help, "
            "and are tried again every 5 minutes."
            if _is_led(first.scheduler_name, facts)
            else "So it was when a scheduler led; now nobody tries them again.",
            next_command=explain_command(first, facts),
            count=len(group),
            objects=_keys(group),
            since_seconds=age,
            detail=tuple(line for line in detail if line),
        )


def _live_pod(group: Sequence[PendingPod], live: Mapping[str, LiveAnswer]) -> PendingPod | None:
    return next((pod for pod in group if pod.key in live), None)


def _check_failed(pods: Sequence[PendingPod], facts: Facts) -> Iterator[Finding]:
    for group in groups_of(pods):
        first = group[0]
        age = _age(group, facts.now)
        yield Finding(
            check="pods-scheduling-fails",
            severity=Severity.PROBLEM if age >= SETTLING_SECONDS else Severity.WARNING,
            area=Area.PENDING,
            what=f"{_count(group)} of {first.scheduler_name} cannot be scheduled: the attempt "
            f"fails with {first.reason}.",
            why="This is no lack of room: a plugin, an extender or a call to the API server fails.",
            next_command=explain_command(first, facts),
            count=len(group),
            objects=_keys(group),
            since_seconds=age,
            detail=(first.message,) if first.message else (),
        )


def _check_unseen(pods: Sequence[PendingPod], facts: Facts) -> Iterator[Finding]:
    served = served_names(facts)
    by_name: dict[str, list[PendingPod]] = defaultdict(list)
    for pod in sorted(pods, key=lambda pod: (pod.created, pod.key)):
        by_name[pod.scheduler_name].append(pod)
    for name, group in sorted(by_name.items()):
        if name not in served:
            yield _nobody_serves(name, group, served, facts)
            continue
        late = [pod for pod in group if facts.now - pod.created >= SETTLING_SECONDS]
        if not _is_led(name, facts):
            yield _waits_for_leader(name, group, facts)
        elif late:
            yield _not_tried(name, late, facts)


def _nobody_serves(
    name: str, group: Sequence[PendingPod], served: frozenset[str], facts: Facts
) -> Finding:
    nearest = difflib.get_close_matches(name, sorted(served), n=1)
    known = ", ".join(sorted(served)) or "none"
    meant = f"; did you mean {nearest[0]!r}?" if nearest else f" (known are: {known})."
    namespaces = {pod.namespace for pod in group}
    where = f"-n {group[0].namespace}" if len(namespaces) == 1 else "-A"
    age = _age(group, facts.now)
    gone = facts.given_up_names.get(name)
    return Finding(
        check="scheduler-name-unknown",
        severity=Severity.PROBLEM if age >= SETTLING_SECONDS else Severity.WARNING,
        area=Area.PENDING,
        what=f"{_count(group)} {_is(group, 'names', 'name')} the scheduler {name!r}, which nobody "
        f"is known to serve{meant}",
        why="A Pod's schedulerName cannot be changed."
        if gone
        else "No scheduler looks at such a Pod, ever; a Pod's schedulerName cannot be changed, so "
        "correct its template and make it anew.",
        next_command=f"kubectl get pods {where} --field-selector spec.schedulerName={name}",
        count=len(group),
        objects=_keys(group),
        since_seconds=age,
        detail=(gone,) if gone else (),
    )


def _waits_for_leader(name: str, group: Sequence[PendingPod], facts: Facts) -> Finding:
    installation = installation_of(name, facts.installations)
    namespace, _, lease = (installation.lease_key if installation else "").partition("/")
    command = f"kubectl -n {namespace} get lease {lease}" if lease else ""
    return Finding(
        check="pods-without-scheduler",
        severity=Severity.PROBLEM,
        area=Area.PENDING,
        what=f"{_count(group)} {_is(group, 'waits', 'wait')} for the scheduler {name!r}, which "
        "has no leader.",
        why="They are scheduled as soon as one leads.",
        next_command=command,
        count=len(group),
        objects=_keys(group),
        since_seconds=_age(group, facts.now),
    )


def _not_tried(name: str, group: Sequence[PendingPod], facts: Facts) -> Finding:
    first = _live_pod(group, facts.live) or group[0]
    live = facts.live.get(first.key)
    detail = []
    if live is not None and live.gate:
        detail.append(f"{first.key} is not tried: {live.gate}")
    elif live is not None and live.fits_on:
        detail.append(f"{first.key} would fit on {live.fits_on} of {live.node_count} Nodes now.")
    elif live is not None:
        detail.append(f"{first.key}: {live.fit_error or live.error}")
    return Finding(
        check="pods-not-tried",
        severity=Severity.WARNING,
        area=Area.PENDING,
        what=f"{_count(group)} {_is(group, 'is', 'are')} older than {SETTLING_SECONDS:.0f} s, and "
        f"the scheduler {name!r} has said nothing of {_is(group, 'it', 'them')}.",
        why="It is behind, waits for something of theirs (a claim, a plugin's PreEnqueue), or may "
        "not write their status.",
        next_command=explain_command(first, facts),
        count=len(group),
        objects=_keys(group),
        since_seconds=_age(group, facts.now),
        detail=tuple(detail),
    )


def _check_nominated(pods: Sequence[PendingPod], facts: Facts) -> Iterator[Finding]:
    """Tell those for which Pods are ending from those whose Node is theirs already."""
    oldest_first = sorted(pods, key=lambda pod: (pod.waiting_since, pod.key))
    waiting = [pod for pod in oldest_first if pod.nominated_node in facts.evicting_nodes]
    if waiting:
        yield _nominated(
            waiting,
            facts.now,
            check="pods-waiting-for-victims",
            what=f"{_count(waiting)} {_is(waiting, 'waits', 'wait')} for room that preemption "
            "makes.",
            why="Pods of lower priority on the nominated Nodes are ending; their grace period is "
            "waited for.",
            next_command="kubectl get pods -A --field-selector "
            f"spec.nodeName={waiting[0].nominated_node}",
        )
    held = [pod for pod in oldest_first if pod.nominated_node not in facts.evicting_nodes]
    if held:
        unseen = "" if facts.usage_is_known else " Or Pods that you may not see are ending there."
        yield _nominated(
            held,
            facts.now,
            check="pods-held",
            what=f"For {_count(held)} a Node is chosen, and {_is(held, 'it is', 'they are')} not "
            "bound yet.",
            why="A plugin holds them (Permit), volumes or devices are being made ready (PreBind), "
            f"or preemption has made room and their next attempt is due.{unseen}",
            next_command=f"kubectl -n {held[0].namespace} describe pod {held[0].name}",
        )


def _nominated(
    group: Sequence[PendingPod],
    now: float,
    *,
    check: str,
    what: str,
    why: str,
    next_command: str,
) -> Finding:
    age = _age(group, now)
    return Finding(
        check=check,
        severity=Severity.WARNING if age >= NOMINATED_SECONDS else Severity.NOTE,
        area=Area.PENDING,
        what=what,
        why=why,
        next_command=next_command,
        count=len(group),
        objects=tuple(f"{pod.key} on {pod.nominated_node}" for pod in group[:OBJECTS_TOLD]),
        since_seconds=age,
    )


def _check_gated(pods: Sequence[PendingPod], facts: Facts) -> Iterator[Finding]:
    by_gates: dict[tuple[str, ...], list[PendingPod]] = defaultdict(list)
    for pod in sorted(pods, key=lambda pod: (pod.created, pod.key)):
        by_gates[tuple(sorted(pod.gates))].append(pod)
    for gates, group in sorted(by_gates.items()):
        first = group[0]
        names = ", ".join(gates) or "a plugin's"
        yield Finding(
            check="pods-gated",
            severity=Severity.NOTE,
            area=Area.PENDING,
            what=f"{_count(group)} {_is(group, 'is', 'are')} held back by gates: {names}.",
            why="They are not tried until whoever set the gates takes them away.",
            next_command=f"kubectl -n {first.namespace} get pod {first.name} "
            "-o jsonpath='{.spec.schedulingGates}'",
            count=len(group),
            objects=_keys(group),
            since_seconds=max(facts.now - first.created, 0.0),
        )
