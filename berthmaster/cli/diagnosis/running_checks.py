"""Judges the Pods that have a Node and do not run there: what they wait for, and for how long."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from berthmaster.cli.diagnosis.facts import Divergence, Facts, StoppedPod
from berthmaster.cli.diagnosis.finding import (
    OBJECTS_TOLD,
    SETTLING_SECONDS,
    Area,
    Finding,
    Severity,
)
from node_agent.core.divergence.causes import Cause

DETAILS_TOLD: Final = 5
HISTORY_SECONDS: Final = 3600.0
"""A refused Pod stays as it is until somebody deletes it; its controller has long made another."""
_DESCRIBE: Final = "kubectl -n {namespace} describe pod {name}"
_LOGS: Final = "kubectl -n {namespace} logs {name} --all-containers --tail=50"
_PREVIOUS: Final = "kubectl -n {namespace} logs {name} --all-containers --previous --tail=50"
_NODE: Final = "kubectl describe node {node}"
_TIMELINE: Final = "berthmaster timeline {name} -n {namespace}"


class _Meaning(NamedTuple):
    """What a cause means, once it has lasted for `grace_seconds`."""

    grace_seconds: float
    severity: Severity
    waits_for: str
    why: str
    next_command: str


_MEANINGS: Final = {
    Cause.REFUSED: _Meaning(
        0,
        Severity.PROBLEM,
        "were refused by their kubelet",
        "Its books differ from the scheduler's: a lost race with another scheduler, a static Pod, "
        "labels that changed. A controller makes another Pod.",
        _DESCRIBE,
    ),
    Cause.KUBELET_UNREACHABLE: _Meaning(
        30,
        Severity.PROBLEM,
        "are on a Node whose kubelet does not answer",
        "Nothing starts there, and what is said of Pods there may be old.",
        _NODE,
    ),
    Cause.KUBELET_SILENT: _Meaning(
        60,
        Severity.PROBLEM,
        "are bound, and their kubelet has reported nothing of them",
        "The kubelet has not seen them, or cannot write: look at it, not at the scheduler.",
        _NODE,
    ),
    Cause.NOT_SEEN: _Meaning(
        30,
        Severity.PROBLEM,
        "are bound, and their kubelet has not seen them",
        "Its watch of Pods is stuck or refused.",
        _NODE,
    ),
    Cause.SYNC_NOT_STARTED: _Meaning(
        60,
        Severity.PROBLEM,
        "were seen by their kubelet, which has not begun with them",
        "The kubelet is busy, or waits for an older Pod of that name to end.",
        _TIMELINE,
    ),
    Cause.VOLUMES: _Meaning(
        120,
        Severity.PROBLEM,
        "wait for their volumes",
        "A volume cannot be attached or mounted; its Events say which.",
        _DESCRIBE,
    ),
    Cause.SANDBOX: _Meaning(
        120,
        Severity.PROBLEM,
        "wait for their sandbox or network",
        "The container runtime or the network plugin fails on that Node.",
        _DESCRIBE,
    ),
    Cause.VOLUMES_OR_SANDBOX: _Meaning(
        120,
        Severity.PROBLEM,
        "wait for their volumes, sandbox or network",
        "A volume, the container runtime or the network plugin fails on that Node.",
        _DESCRIBE,
    ),
    Cause.INIT_CONTAINER: _Meaning(
        300,
        Severity.WARNING,
        "wait for an init container",
        "It runs long, or fails again and again.",
        _LOGS,
    ),
    Cause.IMAGE_PULL: _Meaning(
        30,
        Severity.PROBLEM,
        "wait for an image that cannot be pulled",
        "Its name, the registry or the credentials are wrong, or it is large and slow.",
        _DESCRIBE,
    ),
    Cause.CONTAINER_CREATION: _Meaning(
        30,
        Severity.PROBLEM,
        "wait for a container that cannot be created",
        "Mostly a ConfigMap, a Secret or a command that is not there.",
        _DESCRIBE,
    ),
    Cause.IMAGE_PULL_OR_CREATION: _Meaning(
        300,
        Severity.WARNING,
        "wait for an image or for their container",
        "A large image or a slow registry; nothing has failed so far.",
        _TIMELINE,
    ),
    Cause.CRASH_LOOP: _Meaning(
        10,
        Severity.PROBLEM,
        "end again and again",
        "The application fails; scheduling is over and was right.",
        _PREVIOUS,
    ),
    Cause.STARTUP_PROBE: _Meaning(
        600,
        Severity.WARNING,
        "do not pass their startup probe",
        "The application starts slowly, or not at all.",
        _LOGS,
    ),
    Cause.READINESS_PROBE: _Meaning(
        60,
        Severity.WARNING,
        "run, and are not ready",
        "Their readiness probe fails, so Services leave them out.",
        _LOGS,
    ),
    Cause.READINESS_GATE: _Meaning(
        60,
        Severity.WARNING,
        "run, and wait for a readiness gate",
        "Whoever is to set that condition has not done so.",
        _DESCRIBE,
    ),
    Cause.UNKNOWN: _Meaning(
        300,
        Severity.WARNING,
        "are not running, for a reason that nothing tells",
        "Their Events may say more.",
        _DESCRIBE,
    ),
}
_SINGULAR: Final = {
    "are": "is",
    "were": "was",
    "wait": "waits",
    "end": "ends",
    "do": "does",
    "run,": "runs,",
    "their": "its",
    "them": "it",
}


def check_running(facts: Facts) -> Iterator[Finding]:
    """Judge the Pods that have a Node and are not running and ready."""
    silent = {
        node.name
        for node in facts.nodes or ()
        if node.ready != "True" or node.silent_seconds is not None
    }
    by_cause: dict[Cause, list[StoppedPod]] = defaultdict(list)
    for pod in facts.stopped:
        cause = _cause_of(pod, silent)
        if _age(pod, facts.now) >= _MEANINGS[cause].grace_seconds:
            by_cause[cause].append(pod)
    for cause, pods in by_cause.items():
        yield _stopped(cause, pods, facts.now)
    yield from _check_divergences(facts)
    yield from _check_manifests(facts)
    if facts.bound_count and not by_cause:
        yield Finding(
            check="running",
            severity=Severity.OK,
            area=Area.RUNNING,
            what=f"Of {facts.bound_count} Pods with a Node, none is late to run."
            if facts.bound_count > 1
            else "The only Pod with a Node is not late to run.",
            count=facts.bound_count,
        )


def _cause_of(pod: StoppedPod, silent: set[str]) -> Cause:
    cause = Cause(pod.cause) if pod.cause in Cause._value2member_map_ else Cause.UNKNOWN
    if cause is not Cause.REFUSED and pod.node_name in silent:
        return Cause.KUBELET_UNREACHABLE
    return cause


def _age(pod: StoppedPod, now: float) -> float:
    return max(now - pod.since, 0.0) if pod.since is not None else 0.0


def _stopped(cause: Cause, pods: Sequence[StoppedPod], now: float) -> Finding:
    meaning = _MEANINGS[cause]
    oldest_first = sorted(pods, key=lambda pod: (-_age(pod, now), pod.key))
    first = oldest_first[0]
    details = [f"{pod.key} on {pod.node_name}: {pod.detail}" for pod in oldest_first if pod.detail]
    youngest = min(_age(pod, now) for pod in pods)
    is_history = cause is Cause.REFUSED and youngest >= HISTORY_SECONDS
    return Finding(
        check=f"pods-{cause.value.replace('_', '-')}",
        severity=Severity.NOTE if is_history else meaning.severity,
        area=Area.RUNNING,
        what=f"{_what(len(pods), meaning.waits_for)}{_where(pods)}.",
        why=meaning.why,
        next_command=meaning.next_command.format(
            namespace=first.namespace, name=first.name, node=first.node_name
        ),
        count=len(pods),
        objects=tuple(f"{pod.key} on {pod.node_name}" for pod in oldest_first[:OBJECTS_TOLD]),
        since_seconds=_age(first, now),
        detail=tuple(details[:DETAILS_TOLD]),
    )


def _what(count: int, waits_for: str) -> str:
    if count > 1:
        return f"{count} Pods {waits_for}"
    return f"1 Pod {' '.join(_SINGULAR.get(word, word) for word in waits_for.split())}"


def _where(pods: Sequence[StoppedPod]) -> str:
    names = sorted({pod.node_name for pod in pods})
    return f" (Node {names[0]})" if len(names) == 1 else f", on {len(names)} Nodes"


def _check_divergences(facts: Facts) -> Iterator[Finding]:
    by_kind: dict[str, list[Divergence]] = defaultdict(list)
    for each in facts.divergences:
        by_kind[each.kind].append(each)
    for kind, group in sorted(by_kind.items()):
        group.sort(key=lambda each: (-each.age_seconds, each.node_name, each.pod))
        pods = "1 Pod" if len(group) == 1 else f"{len(group)} Pods"
        lasts = group[0].age_seconds >= SETTLING_SECONDS
        yield Finding(
            check="kubelet-diverges",
            severity=Severity.WARNING if lasts else Severity.NOTE,
            area=Area.RUNNING,
            what=f"For {pods}, the kubelet differs from the API server: {kind.replace('_', ' ')}.",
            why="The kubelet works on something else than what was asked of it."
            if lasts
            else "The kubelet may still be at it: a busy one takes a while to start and end Pods.",
            next_command=f"kubectl get --raw /api/v1/nodes/{group[0].node_name}/proxy/pods"
            "   # what it has",
            count=len(group),
            objects=tuple(f"{each.pod} on {each.node_name}" for each in group[:OBJECTS_TOLD]),
            since_seconds=group[0].age_seconds,
            detail=tuple(
                f"{each.pod} on {each.node_name}: {each.detail}" for each in group[:DETAILS_TOLD]
            ),
        )


def _check_manifests(facts: Facts) -> Iterator[Finding]:
    refused = facts.refused_manifests
    if refused:
        places = tuple(f"{each.place} on {each.node_name}" for each in refused)
        manifests = "1 manifest" if len(refused) == 1 else f"{len(refused)} manifests"
        yield Finding(
            check="manifests-refused",
            severity=Severity.WARNING,
            area=Area.RUNNING,
            what=f"Of {manifests} no static Pod is made.",
            why="The kubelet leaves such a file out; what it was made from before goes on running.",
            next_command=f"journalctl -u kubelet --grep manifest   # on {refused[0].node_name}",
            count=len(refused),
            objects=places[:OBJECTS_TOLD],
            detail=tuple(
                f"{place}: {each.message}"
                for place, each in zip(places[:DETAILS_TOLD], refused, strict=False)
            ),
        )
