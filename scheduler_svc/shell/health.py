"""The checks behind ``/healthz`` and ``/readyz``, named as kube-scheduler names them."""

from collections.abc import Callable
from functools import partial
from typing import Final

from kubeio.health import Remark
from kubeio.serving import HttpsServer
from scheduler_svc.shell.views.reflectors import MAX_SILENCE_SECONDS, Reflectors

LEASE_TOLERANCE_SECONDS: Final = 20.0
"""How much longer than its duration a leader's Lease may be without a renewal."""
UNSERVED: Final = "not served by the API server, counts as empty, looked for every 20 s"


def add_watch_checks(
    server: HttpsServer, reflectors: Reflectors, *, is_watching: Callable[[], bool]
) -> None:
    """Have ``/readyz`` fail while a view of the cluster is missing or too old.

    With `is_watching` False the views are not meant to be there yet. A view of what the API
    server does not serve is complete and empty; the check says so.
    """

    def check_synced() -> str | None:
        if not is_watching() or reflectors.is_listed:
            return None
        return "not all resources have been listed"

    def check_view(resource: str) -> str | Remark | None:
        if not is_watching():
            return None
        reflector = reflectors.by_resource[resource]
        problem = reflector.problem(max_silence_seconds=MAX_SILENCE_SECONDS)
        if problem is None and reflector.statistics.is_unserved:
            return Remark(UNSERVED)
        return problem

    server.add_check("sched-handler-sync", check_synced)
    for name in reflectors.by_resource:
        server.add_check(f"watch-{name}", partial(check_view, name))


def add_election_check(
    server: HttpsServer,
    *,
    lease_name: str,
    lease_duration_seconds: float,
    renewal_age_seconds: Callable[[], float | None],
) -> None:
    """Have ``/healthz`` fail for a leader that does not renew and does not end either."""
    limit = lease_duration_seconds + LEASE_TOLERANCE_SECONDS

    def check() -> str | None:
        age = renewal_age_seconds()
        if age is None or age <= limit:
            return None
        return f"failed election renewal on lease {lease_name}: the last was {age:.0f} s ago"

    server.add_check("leaderElection", check, healthz=True)


def add_lease_check(
    server: HttpsServer,
    *,
    lease_name: str,
    lease_duration_seconds: float,
    silence_seconds: Callable[[], float | None],
) -> None:
    """Have ``/readyz`` fail where the Lease can be neither read nor written for its duration.

    No other call is as frequent, so this is what tells first that the API server is away.
    """

    def check() -> str | None:
        silence = silence_seconds()
        if silence is None or silence <= lease_duration_seconds:
            return None
        return f"nothing heard of lease {lease_name} for {silence:.0f} s"

    server.add_check("watch-lease", check)


def add_shutdown_check(server: HttpsServer, is_stopping: Callable[[], bool]) -> None:
    """Have ``/readyz`` fail as soon as the process is asked to end."""
    server.add_check("shutdown", lambda: "process is shutting down" if is_stopping() else None)
