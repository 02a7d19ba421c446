"""Puts replicas and Leases together: who stands in for whom, and for which schedulerNames."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from berthmaster.cli.diagnosis.declared import LEASE_NAMESPACE, OWN_NAME, Declared
from berthmaster.cli.diagnosis.facts import DaemonPod, Installation, LeaseState, Scope
from scheduler_svc.shell.startup import lease_name

KUBE_SCHEDULER_LEASE: Final = "kube-system/kube-scheduler"


def expected_lease(scope: Scope) -> str:
    """Give the Lease to look at where no replica says which: as the user said, or the default."""
    name = scope.scheduler_name or OWN_NAME
    return scope.lease or f"{LEASE_NAMESPACE}/{lease_name(name)}"


def installations_of(
    replicas: Sequence[tuple[DaemonPod, Declared]],
    leases: Mapping[str, LeaseState],
    unknown_leases: Iterable[str],
    scope: Scope,
) -> tuple[Installation, ...]:
    """Give all installations in `scope`.

    Parameters
    ----------
    replicas
        With what they were told to do.
    leases
        By key, those that exist.
    unknown_leases
        Keys of those that could not be read.
    """
    unknown = frozenset(unknown_leases)
    groups: dict[str, list[tuple[DaemonPod, Declared]]] = defaultdict(list)
    for replica, declared in replicas:
        key = _lease_of(replica, declared, leases)
        groups[key or f"{replica.namespace}:{replica.instance}"].append((replica, declared))
    found = []
    for key, members in groups.items():
        lease_key = key if "/" in key else ""
        names = sorted({name for _, declared in members for name in declared.names})
        found.append(
            Installation(
                names=tuple(names),
                lease_key=lease_key,
                lease=leases.get(lease_key),
                lease_is_known=lease_key not in unknown,
                replicas=tuple(sorted((r for r, _ in members), key=lambda r: r.key)),
            )
        )
    found = [each for each in found if _is_in_scope(each, scope)]
    expected = expected_lease(scope)
    if not found and (expected in leases or expected in unknown):
        found.append(
            Installation(
                names=(scope.scheduler_name or _name_of_lease(expected),),
                lease_key=expected,
                lease=leases.get(expected),
                lease_is_known=expected not in unknown,
            )
        )
    return tuple(sorted(found, key=lambda each: (each.lease_key, each.names)))


def port_of(installation: Installation) -> int:
    """Give where replicas serve, 0 for their default; all are told the same."""
    return next((replica.port for replica in installation.replicas if replica.port), 0)


def _lease_of(replica: DaemonPod, declared: Declared, leases: Mapping[str, LeaseState]) -> str:
    """Give the Lease a replica was told, or, where that is not there, one that it holds."""
    if not declared.lease_key or declared.lease_key in leases:
        return declared.lease_key
    for key, lease in leases.items():
        if lease.holder and lease.holder_host == replica.host_name:
            return key
    return declared.lease_key


def _is_in_scope(installation: Installation, scope: Scope) -> bool:
    if scope.lease:
        return installation.lease_key == scope.lease
    return not scope.scheduler_name or scope.scheduler_name in installation.names


def _name_of_lease(key: str) -> str:
    """Give the schedulerName that a Lease is called for, as `lease_name` calls it."""
    name = key.rpartition("/")[2]
    return name.removeprefix(f"{OWN_NAME}-") or OWN_NAME
