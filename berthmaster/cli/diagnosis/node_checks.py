"""Judges the Nodes: conditions, cordons, taints, room, versions."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from berthmaster.cli.diagnosis.amounts import format_amount
from berthmaster.cli.diagnosis.facts import Facts, NodeState
from berthmaster.cli.diagnosis.finding import OBJECTS_TOLD, Area, Finding, Severity
from berthmaster.cli.diagnosis.room import (
    CONDITION_TAINTS,
    JOINING_SECONDS,
    Room,
    room_left,
    takes_pods,
)
from scheduler_svc.core.resources import CPU, MEMORY, PODS

OLDEST_KUBELET_MINORS: Final = 3
"""So many minor versions may a kubelet be behind the API server, and none ahead."""
CONTROL_PLANE_TAINTS: Final = (
    "node-role.kubernetes.io/control-plane:NoSchedule",
    "node-role.kubernetes.io/master:NoSchedule",
)
"""As every installer sets them: that they are there is no news."""
_LIST: Final = "kubectl get nodes"
_MINOR: Final = re.compile(r"v?(\d+)\.(\d+)")


def check_nodes(facts: Facts) -> Iterator[Finding]:
    """Judge all Nodes."""
    nodes = facts.nodes
    if nodes is None:
        return
    usable = [node for node in nodes if takes_pods(node, facts.now)]
    if not nodes:
        yield _nothing("no-nodes", "There are no Nodes.", "kubectl get nodes")
    elif not usable:
        yield _nothing(
            "no-usable-nodes",
            f"None of {len(nodes)} Nodes takes Pods: each is cordoned, not ready or silent.",
            _LIST,
        )
    yield from _check_ready(nodes, facts.now)
    yield from _check_silence(nodes)
    yield from _check_conditions(nodes)
    yield from _check_cordons(nodes)
    yield from _check_taints(nodes)
    yield from _check_kubelets(nodes, facts.kubernetes_version)
    if usable:
        room = room_left(nodes, facts.now) if facts.usage_is_known else ()
        yield from _check_room(room, len(usable))
        yield Finding(
            check="nodes",
            severity=Severity.OK,
            area=Area.NODES,
            what=f"{len(usable)} of {_nodes(len(nodes))} can take new Pods.",
            count=len(usable),
        )


def _nothing(check: str, what: str, command: str) -> Finding:
    return Finding(
        check=check,
        severity=Severity.PROBLEM,
        area=Area.NODES,
        what=what,
        why="No Pod can be given a Node.",
        next_command=command,
    )


def _names(nodes: Sequence[NodeState]) -> tuple[str, ...]:
    return tuple(node.name for node in nodes[:OBJECTS_TOLD])


def _nodes(count: int) -> str:
    return "1 Node" if count == 1 else f"{count} Nodes"


def _check_ready(nodes: Sequence[NodeState], now: float) -> Iterator[Finding]:
    unready = [
        node for node in nodes if node.ready != "True" and now - node.created >= JOINING_SECONDS
    ]
    if not unready:
        return
    since = [node.ready_since for node in unready if node.ready_since is not None]
    messages = Counter(node.ready_message for node in unready if node.ready_message)
    yield Finding(
        check="nodes-not-ready",
        severity=Severity.PROBLEM,
        area=Area.NODES,
        what=f"{len(unready)} of {_nodes(len(nodes))} "
        f"{'is' if len(unready) == 1 else 'are'} not ready.",
        why="They get no new Pods, and those there are evicted after five minutes by default.",
        next_command=f"kubectl describe node {unready[0].name}",
        count=len(unready),
        objects=_names(unready),
        since_seconds=max(now - min(since), 0.0) if since else None,
        detail=tuple(f"{text} ({count})" for text, count in messages.most_common(3)),
    )


def _check_silence(nodes: Sequence[NodeState]) -> Iterator[Finding]:
    silent = [node for node in nodes if node.silent_seconds is not None]
    if not silent:
        return
    yield Finding(
        check="nodes-silent",
        severity=Severity.WARNING,
        area=Area.NODES,
        what=f"On {len(silent)} of {_nodes(len(nodes))} the kubelet has stopped renewing its "
        "Lease.",
        why="It is down or cut off. The Node still says that it is ready, so schedulers give it "
        "Pods; Kubernetes taints it after 50 s by default.",
        next_command=f"kubectl -n kube-node-lease get lease {silent[0].name} -o yaml",
        count=len(silent),
        objects=_names(silent),
        since_seconds=max(node.silent_seconds or 0.0 for node in silent),
    )


def _check_conditions(nodes: Sequence[NodeState]) -> Iterator[Finding]:
    by_condition: dict[str, list[NodeState]] = defaultdict(list)
    for node in nodes:
        for condition in node.bad_conditions:
            by_condition[condition].append(node)
    for condition, concerned in sorted(by_condition.items()):
        yield Finding(
            check="nodes-under-pressure",
            severity=Severity.WARNING,
            area=Area.NODES,
            what=f"{_nodes(len(concerned))}: {condition} is True.",
            why="The Node is tainted for it: only Pods that tolerate that come, others may be "
            "evicted.",
            next_command=f"kubectl describe node {concerned[0].name}",
            count=len(concerned),
            objects=_names(concerned),
        )


def _check_cordons(nodes: Sequence[NodeState]) -> Iterator[Finding]:
    cordoned = [node for node in nodes if node.is_cordoned]
    if cordoned:
        yield Finding(
            check="nodes-cordoned",
            severity=Severity.NOTE,
            area=Area.NODES,
            what=f"{len(cordoned)} of {_nodes(len(nodes))} "
            f"{'is' if len(cordoned) == 1 else 'are'} cordoned.",
            why="They get no new Pods until they are uncordoned.",
            next_command="kubectl get nodes --field-selector spec.unschedulable=true",
            count=len(cordoned),
            objects=_names(cordoned),
        )


def _check_taints(nodes: Sequence[NodeState]) -> Iterator[Finding]:
    by_taint: dict[str, list[NodeState]] = defaultdict(list)
    for node in nodes:
        for taint in node.taints:
            if not taint.startswith(CONDITION_TAINTS):
                by_taint[taint].append(node)
    if not by_taint:
        return
    most_first = sorted(by_taint.items(), key=lambda item: (-len(item[1]), item[0]))
    concerned = {node.name for each in by_taint.values() for node in each}
    is_usual = all(taint in CONTROL_PLANE_TAINTS for taint in by_taint)
    names = f": {', '.join(sorted(by_taint))}" if is_usual else ""
    yield Finding(
        check="nodes-tainted",
        severity=Severity.OK if is_usual else Severity.NOTE,
        area=Area.NODES,
        what=f"{len(concerned)} of {_nodes(len(nodes))} "
        f"{'has' if len(concerned) == 1 else 'have'} taints{names}.",
        why="Only Pods that tolerate these come there.",
        count=len(concerned),
        objects=tuple(sorted(concerned))[:OBJECTS_TOLD],
        detail=tuple(f"{taint}: {_nodes(len(each))}" for taint, each in most_first[:OBJECTS_TOLD]),
    )


def _check_kubelets(nodes: Sequence[NodeState], server_version: str) -> Iterator[Finding]:
    server = minor_of(server_version)
    if server is None:
        return
    skewed = []
    for node in nodes:
        kubelet = minor_of(node.kubelet_version)
        if kubelet is not None and (
            kubelet[0] != server[0] or not 0 <= server[1] - kubelet[1] <= OLDEST_KUBELET_MINORS
        ):
            skewed.append(node)
    if skewed:
        yield Finding(
            check="kubelet-version-skew",
            severity=Severity.WARNING,
            area=Area.NODES,
            what=f"{_nodes(len(skewed))}: the kubelet's version does not go with the API server's, "
            f"{server_version}.",
            why=f"Kubernetes supports kubelets up to {OLDEST_KUBELET_MINORS} minor versions older "
            "than the API server, and none newer.",
            next_command=_LIST,
            count=len(skewed),
            objects=tuple(f"{node.name} {node.kubelet_version}" for node in skewed[:OBJECTS_TOLD]),
        )


def minor_of(version: str) -> tuple[int, int] | None:
    """Give major and minor of ``v1.36.3`` and the like; None if it is no version."""
    match = _MINOR.match(version)
    return None if match is None else (int(match[1]), int(match[2]))


def _check_room(room: Sequence[Room], node_count: int) -> Iterator[Finding]:
    if not room:
        return
    told = [each for each in room if each.resource in (CPU, MEMORY, PODS)]
    full = [each.resource for each in told if each.allocatable and not each.free]
    parts = [
        f"{each.resource} {format_amount(each.resource, each.free)} free, "
        f"{format_amount(each.resource, each.largest_free)} on one Node"
        for each in told
    ]
    yield Finding(
        check="nodes-full" if full else "room",
        severity=Severity.WARNING if full else Severity.OK,
        area=Area.NODES,
        what=f"There is no {' and no '.join(full)} left on {_nodes(node_count)}."
        if full
        else f"Room left: {'; '.join(parts)}.",
        why="The next Pod that asks for it stays pending, or evicts another." if full else "",
        next_command="kubectl describe nodes | grep -A8 'Allocated resources'" if full else "",
    )
