"""Facts in, findings out: nothing is read, asked or waited for here."""

from collections.abc import Iterable, Sequence

from berthmaster.cli.diagnosis.facts import Facts
from berthmaster.cli.diagnosis.finding import Area, Finding, Severity
from berthmaster.cli.diagnosis.node_checks import check_nodes
from berthmaster.cli.diagnosis.other_checks import (
    check_agents,
    check_events,
    check_namespace,
    check_rights,
)
from berthmaster.cli.diagnosis.pending_checks import check_pending
from berthmaster.cli.diagnosis.profile_checks import check_profiles
from berthmaster.cli.diagnosis.running_checks import check_running
from berthmaster.cli.diagnosis.scheduler_checks import check_schedulers

_CHECKS = (
    check_schedulers,
    check_profiles,
    check_namespace,
    check_pending,
    check_running,
    check_nodes,
    check_agents,
    check_events,
    check_rights,
)
_AREAS = tuple(Area)


def judge(facts: Facts) -> list[Finding]:
    """Give everything that is to be said, the worst first.

    The same facts give the same findings in the same order. Cost: O(Pods + Nodes x resources).
    """
    found = [finding for check in _CHECKS for finding in check(facts)]
    return sorted(found, key=lambda f: (f.severity.rank, _AREAS.index(f.area)))


def verdict(findings: Iterable[Finding]) -> Severity:
    """Give the worst severity; `OK` where nothing was found."""
    return min((f.severity for f in findings), key=lambda s: s.rank, default=Severity.OK)


def is_wrong(findings: Sequence[Finding]) -> bool:
    """Whether there is a warning or a problem."""
    return verdict(findings).rank <= Severity.WARNING.rank
