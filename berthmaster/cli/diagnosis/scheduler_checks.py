"""Judges the schedulers: who leads, whether the replicas are well, whether versions agree."""

from collections.abc import Iterator, Sequence
from typing import Final

from berthmaster.cli.diagnosis.amounts import format_age
from berthmaster.cli.diagnosis.facts import DaemonPod, Facts, Installation, LeaseState
from berthmaster.cli.diagnosis.finding import OBJECTS_TOLD, Area, Finding, Severity
from berthmaster.cli.diagnosis.installations import expected_lease

LEASE_GRACE_SECONDS: Final = 5.0
"""Beyond its duration: a renewal on its way, clocks that differ, times in whole seconds."""
STARTING_SECONDS: Final = 60.0
"""A replica that young may still be starting."""
RECENT_SECONDS: Final = 3600.0
_NOBODY_BINDS: Final = "Without a leader no Pod of these schedulers gets a Node."
_UNSEEN: Final = " One that runs outside the cluster, without leader election, cannot be seen here."


def check_schedulers(facts: Facts) -> Iterator[Finding]:
    """Judge every installation."""
    if not facts.installations:
        yield _no_scheduler(facts)
    for installation in facts.installations:
        yield from _check_lease(installation, facts)
        yield from _check_replicas(installation, facts)
        yield from _check_versions(installation, facts)


def leads(installation: Installation, now: float) -> bool:
    """Whether somebody acts as the leader now, as far as can be known; in doubt, yes."""
    if not installation.lease_key or not installation.lease_is_known:
        return True
    lease = installation.lease
    return lease is not None and bool(lease.holder) and not _is_stale(lease, now)


def title(installation: Installation) -> str:
    """Name an installation by the schedulerNames that it serves."""
    return f"The scheduler of {', '.join(installation.names)}"


def _no_scheduler(facts: Facts) -> Finding:
    name = facts.scope.scheduler_name
    serves = f" that serves {name!r}" if name else ""
    return Finding(
        check="no-scheduler",
        severity=Severity.PROBLEM,
        area=Area.SCHEDULER,
        what=f"No Berthmaster scheduler{serves} was found: no Pod of one, and no Lease "
        f"{expected_lease(facts.scope)}.",
        why=f"Pods that name it as their schedulerName stay pending.{_UNSEEN}",
        next_command="kubectl get deployments -A -l app.kubernetes.io/name=berthmaster",
    )


def _check_lease(installation: Installation, facts: Facts) -> Iterator[Finding]:
    if not installation.lease_key or not installation.lease_is_known:
        return
    lease = installation.lease
    if lease is None:
        yield _without_leader(
            installation, facts, "lease-missing", f"{installation.lease_key} does not exist"
        )
    elif not lease.holder:
        yield _without_leader(
            installation, facts, "lease-free", f"{installation.lease_key} is held by nobody"
        )
    elif _is_stale(lease, facts.now):
        age = "never" if lease.renewed is None else f"{format_age(facts.now - lease.renewed)} ago"
        yield _without_leader(
            installation,
            facts,
            "lease-stale",
            f"{installation.lease_key} was renewed last {age} by {lease.holder}, "
            f"and is to be every {lease.duration_seconds} s at the latest",
        )
    else:
        yield _leader(installation, lease, facts.now)
        if _is_expired(lease, facts.now):
            yield _clock_skew(lease, facts.now)


def _without_leader(installation: Installation, facts: Facts, check: str, problem: str) -> Finding:
    lease = installation.lease
    since = None if lease is None else lease.renewed
    passing = _is_starting(installation, facts.now)
    if check == "lease-free" and since is not None:
        passing = passing or facts.now - since < LEASE_GRACE_SECONDS + 15
    namespace, _, name = installation.lease_key.partition("/")
    return Finding(
        check=check,
        severity=Severity.NOTE if passing else Severity.PROBLEM,
        area=Area.SCHEDULER,
        what=f"{title(installation)} has no leader: the Lease {problem}.",
        why=_NOBODY_BINDS
        + (" It may be starting, or changing over." if passing else "")
        + ("" if installation.replicas else _UNSEEN),
        next_command=_logs(installation)
        if installation.replicas
        else f"kubectl -n {namespace} get lease {name} -o yaml",
        objects=(installation.lease_key,),
        count=1,
        since_seconds=None if since is None else max(facts.now - since, 0.0),
    )


def _leader(installation: Installation, lease: LeaseState, now: float) -> Finding:
    """Say who leads, and whether it is one of the replicas, and ready."""
    age = format_age(now - lease.renewed) if lease.renewed is not None else "some time"
    who = f"{title(installation)} is led by {lease.holder} (Lease {lease.key}, renewed {age} ago)"
    leader = leader_of(installation)
    if not installation.replicas:
        return Finding(
            check="leader-elsewhere",
            severity=Severity.NOTE,
            area=Area.SCHEDULER,
            what=f"{who}, which is no Pod that was found here.",
            why="It runs outside the cluster, or without our labels: its health is not known.",
            objects=(lease.key,),
            count=1,
        )
    if leader is None:
        return Finding(
            check="leader-is-no-replica",
            severity=Severity.WARNING,
            area=Area.SCHEDULER,
            what=f"{who}, which is none of its {len(installation.replicas)} replicas.",
            why="Another scheduler has their Lease: what it decides by is not what you installed.",
            next_command=f"kubectl -n {lease.namespace} get lease {lease.name} -o yaml",
            objects=(lease.key,),
            count=1,
        )
    if not leader.is_ready:
        trouble = f": {leader.trouble}" if leader.trouble else ""
        return Finding(
            check="leader-not-ready",
            severity=Severity.PROBLEM,
            area=Area.SCHEDULER,
            what=f"{who}, which is not ready{trouble}.",
            why="A view of the cluster is stale or missing, so decisions are late or wrong.",
            next_command=f"kubectl -n {leader.namespace} logs {leader.name} --tail=50",
            objects=(leader.key,),
            count=1,
        )
    return Finding(
        check="leader", severity=Severity.OK, area=Area.SCHEDULER, what=f"{who}.", count=1
    )


def leader_of(installation: Installation) -> DaemonPod | None:
    """Give the replica that holds the Lease, if one does."""
    if installation.lease is None:
        return None
    host = installation.lease.holder_host
    return next((r for r in installation.replicas if r.host_name == host), None)


def _clock_skew(lease: LeaseState, now: float) -> Finding:
    behind = format_age(now - (lease.renewed or now))
    return Finding(
        check="clock-skew",
        severity=Severity.WARNING,
        area=Area.SCHEDULER,
        what=f"The Lease {lease.key} is renewed, with times that are {behind} in the past.",
        why="The leader's clock is behind the API server's: times in Events and metrics are wrong.",
        next_command="timedatectl   # on the leader's Node",
        count=1,
        objects=(lease.key,),
    )


def _check_replicas(installation: Installation, facts: Facts) -> Iterator[Finding]:
    replicas = [r for r in installation.replicas if not r.is_ending]
    if not replicas:
        return
    leader = leader_of(installation)
    unready = [r for r in replicas if not r.is_ready and r is not leader]
    settled = [r for r in unready if facts.now - r.created >= STARTING_SECONDS]
    if unready:
        trouble = tuple(f"{r.key}: {r.trouble}" for r in unready if r.trouble)
        is_all = len(unready) == len(replicas)
        yield Finding(
            check="replicas-not-ready",
            severity=(Severity.PROBLEM if is_all else Severity.WARNING)
            if settled
            else Severity.NOTE,
            area=Area.SCHEDULER,
            what=f"{title(installation)}: {len(unready)} of {len(replicas)} replicas "
            f"{'is' if len(unready) == 1 else 'are'} not ready.",
            why="Nobody schedules." if is_all else "Fewer replicas can take over from the leader.",
            next_command=f"kubectl -n {unready[0].namespace} describe pod {unready[0].name}",
            objects=_keys(unready),
            count=len(unready),
            detail=trouble[:OBJECTS_TOLD],
        )
    else:
        yield Finding(
            check="replicas",
            severity=Severity.OK if len(replicas) > 1 else Severity.NOTE,
            area=Area.SCHEDULER,
            what=f"{title(installation)}: {_are_ready(len(replicas))}",
            why="" if len(replicas) > 1 else "Nobody takes over at once if its Node fails.",
            count=len(replicas),
            objects=_keys(replicas),
        )
    yield from _check_restarts(installation, replicas, facts.now)


def _are_ready(count: int) -> str:
    return f"all {count} replicas are ready." if count > 1 else "its only replica is ready."


def _check_restarts(
    installation: Installation, replicas: Sequence[DaemonPod], now: float
) -> Iterator[Finding]:
    restarted = [
        r for r in replicas if r.last_restart is not None and now - r.last_restart < RECENT_SECONDS
    ]
    if restarted:
        first = restarted[0]
        yield Finding(
            check="replicas-restarted",
            severity=Severity.NOTE,
            area=Area.SCHEDULER,
            what=f"{title(installation)}: {len(restarted)} of {len(replicas)} replicas "
            f"{'was' if len(restarted) == 1 else 'were'} restarted within the hour.",
            why="A leader that cannot renew its Lease ends itself; a crash would be a fault.",
            next_command=f"kubectl -n {first.namespace} logs {first.name} --previous --tail=50",
            objects=_keys(restarted),
            count=len(restarted),
        )


def _check_versions(installation: Installation, facts: Facts) -> Iterator[Finding]:
    versions = sorted({r.version for r in installation.replicas if r.version})
    if len(versions) > 1:
        first = installation.replicas[0]
        yield Finding(
            check="scheduler-version-skew",
            severity=Severity.WARNING,
            area=Area.SCHEDULER,
            what=f"{title(installation)}: its replicas have versions {', '.join(versions)}.",
            why="An upgrade is under way or stuck; they may decide differently.",
            next_command=f"kubectl -n {first.namespace} get pods "
            "-l app.kubernetes.io/component=scheduler -o wide",
            count=len(installation.replicas),
            objects=tuple(f"{r.key} {r.version}" for r in installation.replicas[:OBJECTS_TOLD]),
        )
    elif versions and versions[0][:1].isdigit() and versions[0] != facts.own_version:
        yield Finding(
            check="client-version-skew",
            severity=Severity.NOTE,
            area=Area.SCHEDULER,
            what=f"{title(installation)} is version {versions[0]}, this command "
            f"{facts.own_version}.",
            why="What is said of it here may not be what holds for that version.",
            count=1,
        )


def _logs(installation: Installation) -> str:
    first = installation.replicas[0]
    return f"kubectl -n {first.namespace} logs {first.name} --tail=50"


def _keys(pods: Sequence[DaemonPod]) -> tuple[str, ...]:
    return tuple(pod.key for pod in pods[:OBJECTS_TOLD])


def _is_starting(installation: Installation, now: float) -> bool:
    created = [r.created for r in installation.replicas if not r.is_ending]
    return bool(created) and all(now - at < STARTING_SECONDS for at in created)


def _is_expired(lease: LeaseState, now: float) -> bool:
    return (
        lease.renewed is None or now - lease.renewed > lease.duration_seconds + LEASE_GRACE_SECONDS
    )


def _is_stale(lease: LeaseState, now: float) -> bool:
    return _is_expired(lease, now) and not lease.was_renewed
