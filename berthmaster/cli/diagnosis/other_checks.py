"""Judges the agents and our Events, and tells what could not be read, or is not there."""

from collections.abc import Iterator
from typing import Final

from berthmaster.cli.diagnosis.amounts import format_age
from berthmaster.cli.diagnosis.facts import DaemonPod, EventGroup, Facts, Unread
from berthmaster.cli.diagnosis.finding import OBJECTS_TOLD, Area, Finding, Severity

STARTING_SECONDS: Final = 60.0
_ESSENTIAL: Final = ("pods", "nodes")


def check_namespace(facts: Facts) -> Iterator[Finding]:
    """Tell of a namespace that there is none of: else nothing would be wrong in it."""
    if facts.namespace_is_missing:
        yield Finding(
            check="namespace-unknown",
            severity=Severity.PROBLEM,
            area=Area.PENDING,
            what=f"There is no namespace {facts.scope.namespace!r}.",
            why="Not one Pod was judged.",
            next_command="kubectl get namespaces",
        )


def check_agents(facts: Facts) -> Iterator[Finding]:
    """Judge the agents by Node; a cluster may have none at all."""
    agents = [agent for agent in facts.agents if not agent.is_ending]
    if not agents:
        return
    nodes = facts.nodes or ()
    there = {agent.node_name for agent in agents}
    missing = [
        node.name
        for node in nodes
        if node.name not in there and facts.now - node.created >= STARTING_SECONDS
    ]
    is_wanted = facts.wanted_agents is None or len(agents) < facts.wanted_agents
    if missing and is_wanted:
        yield Finding(
            check="agents-missing",
            severity=Severity.WARNING,
            area=Area.AGENTS,
            what=f"{len(missing)} of {len(nodes)} Nodes {'has' if len(missing) == 1 else 'have'} "
            "no agent.",
            why="Where the time of Pods goes there, and what their kubelet has, is not known.",
            next_command=f"kubectl -n {agents[0].namespace} describe daemonsets",
            count=len(missing),
            objects=tuple(missing[:OBJECTS_TOLD]),
        )
    unready = [agent for agent in agents if not agent.is_ready and _is_old(agent, facts.now)]
    if unready:
        yield Finding(
            check="agents-not-ready",
            severity=Severity.WARNING,
            area=Area.AGENTS,
            what=f"{len(unready)} of {len(agents)} agents "
            f"{'is' if len(unready) == 1 else 'are'} not ready.",
            why="What they tell of their Nodes is old or missing.",
            next_command=f"kubectl -n {unready[0].namespace} describe pod {unready[0].name}",
            count=len(unready),
            objects=tuple(f"{a.key} on {a.node_name}" for a in unready[:OBJECTS_TOLD]),
            detail=tuple(dict.fromkeys(a.trouble for a in unready if a.trouble))[:OBJECTS_TOLD],
        )
    if not (missing and is_wanted) and not unready:
        yield Finding(
            check="agents",
            severity=Severity.OK,
            area=Area.AGENTS,
            what=f"{len(agents)} agents are there." if len(agents) > 1 else "1 agent is there.",
            count=len(agents),
        )
    yield from _check_versions(agents, facts)


def _is_old(pod: DaemonPod, now: float) -> bool:
    return now - pod.created >= STARTING_SECONDS


def _check_versions(agents: list[DaemonPod], facts: Facts) -> Iterator[Finding]:
    ours = {r.version for each in facts.installations for r in each.replicas if r.version}
    versions = {agent.version for agent in agents if agent.version}
    if len(versions) > 1 or (ours and versions - ours):
        of_schedulers = f"; schedulers have {', '.join(sorted(ours))}" if ours else ""
        yield Finding(
            check="agent-version-skew",
            severity=Severity.WARNING,
            area=Area.AGENTS,
            what=f"Agents have versions {', '.join(sorted(versions))}{of_schedulers}.",
            why="An upgrade is under way or stuck.",
            next_command=f"kubectl -n {agents[0].namespace} get daemonsets -o wide",
            count=len(agents),
        )


def check_events(facts: Facts) -> Iterator[Finding]:
    """Tell of the Warning Events of ours; what they say is judged elsewhere."""
    groups = sorted(facts.events, key=lambda each: (-each.count, each.reason, each.controller))
    if not groups:
        return
    count = sum(each.count for each in groups)
    about = tuple(dict.fromkeys(key for each in groups for key in each.about))
    controllers = sorted({each.controller for each in groups})
    of_whom = f",reportingComponent={controllers[0]}" if len(controllers) == 1 else ""
    where = f"-n {facts.scope.namespace}" if facts.scope.namespace else "-A"
    yield Finding(
        check="warning-events",
        severity=Severity.NOTE,
        area=Area.EVENTS,
        what=f"Berthmaster has written {count} Warning {'Event' if count == 1 else 'Events'} that "
        f"{'is' if count == 1 else 'are'} still kept.",
        why="They tell what has been, also of Pods that run by now.",
        next_command=f"kubectl get events {where} --field-selector type=Warning{of_whom}",
        count=len(about),
        objects=about[:OBJECTS_TOLD],
        detail=tuple(_told(each, facts.now) for each in groups[:OBJECTS_TOLD]),
    )


def _told(group: EventGroup, now: float) -> str:
    last = "" if group.last is None else f", {format_age(now - group.last)} ago"
    times = "once" if group.count == 1 else f"{group.count} times"
    about = f" of {group.about[0]}" if group.about else ""
    return f"{group.controller}: {group.reason}{about} ({times}{last}): {group.message}"


def check_rights(facts: Facts) -> Iterator[Finding]:
    """Name what could not be read, and what is therefore not known."""
    for each in facts.unread:
        yield _unread(each)
    if facts.live_problem:
        yield Finding(
            check="scheduler-not-asked",
            severity=Severity.NOTE,
            area=Area.RIGHTS,
            what=f"The running scheduler was not asked about pending Pods: {facts.live_problem}",
            why="Reasons are those of its last attempt, not of this moment.",
            next_command=f"curl -k '{facts.scheduler_url}/readyz?verbose'"
            if facts.scheduler_url
            else "berthmaster diagnose --server https://HOST:10259   # or rights: docs/explain.md",
        )
    if facts.agents_problem and facts.stopped:
        yield Finding(
            check="agents-not-asked",
            severity=Severity.NOTE,
            area=Area.RIGHTS,
            what=f"Not all agents were asked ({facts.asked_agents} were): {facts.agents_problem}",
            why="Why Pods do not run is told from their own status, which knows less.",
            next_command=f"berthmaster timeline {facts.stopped[0].name} "
            f"-n {facts.stopped[0].namespace} --agent URL",
        )


def _unread(each: Unread) -> Finding:
    where = f"in namespace {each.namespace}" if each.namespace else "in all namespaces"
    where = "" if each.resource.startswith("nodes") else f" {where}"
    scope = f"-n {each.namespace}" if each.namespace else "-A"
    is_essential = each.resource in _ESSENTIAL
    return Finding(
        check="right-missing" if each.is_refused else "not-read",
        severity=Severity.WARNING if is_essential or not each.is_refused else Severity.NOTE,
        area=Area.RIGHTS,
        what=f"You may not {each.verb} {each.resource}{where}: what they tell is left out."
        if each.is_refused
        else f"{each.resource}{where} could not be read: what they tell is left out.",
        why=each.reason,
        next_command=f"kubectl auth can-i {each.verb} {each.resource} {scope}"
        if each.is_refused
        else f"kubectl get {each.resource} {scope}",
        objects=(each.resource,),
        count=1,
    )
