"""Findings for people, and as JSON."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from berthmaster.cli.diagnosis.amounts import format_age
from berthmaster.cli.diagnosis.facts import Facts, Unread
from berthmaster.cli.diagnosis.finding import Finding, Severity
from berthmaster.cli.diagnosis.judgement import verdict
from berthmaster.cli.diagnosis.room import Room, room_left
from berthmaster.cli.printing import printable

NAMES_SHOWN: Final = 4
_STYLES: Final = {
    Severity.PROBLEM: "bold red",
    Severity.WARNING: "yellow",
    Severity.NOTE: "cyan",
    Severity.OK: "green",
}


class ScopeReport(msgspec.Struct, frozen=True, rename="camel"):
    """What was judged; null where it was not narrowed."""

    namespace: str | None
    scheduler_name: str | None
    lease: str | None


class UnreadReport(msgspec.Struct, frozen=True, rename="camel"):
    """What could not be read."""

    resource: str
    verb: str
    namespace: str | None
    reason: str
    is_refused: bool = msgspec.field(name="refused")


class Report(msgspec.Struct, frozen=True, rename="camel"):
    """The JSON of ``--output json``."""

    verdict: Severity
    counts: dict[str, int]
    time: str
    server: str
    kubernetes_version: str
    berthmaster_version: str
    scope: ScopeReport
    findings: list[Finding]
    room: list[Room] | None
    unread: list[UnreadReport]


def report_of(facts: Facts, findings: Sequence[Finding]) -> Report:
    """Put together what the JSON says; `room` is null where it is not known."""
    scope = facts.scope
    is_known = facts.nodes is not None and facts.usage_is_known
    return Report(
        verdict=verdict(findings),
        counts=_counts(findings),
        time=_written_time(facts.now),
        server=facts.server,
        kubernetes_version=facts.kubernetes_version,
        berthmaster_version=facts.own_version,
        scope=ScopeReport(scope.namespace, scope.scheduler_name or None, scope.lease or None),
        findings=list(findings),
        room=list(room_left(facts.nodes or (), facts.now)) if is_known else None,
        unread=[_unread(each) for each in facts.unread],
    )


def render(facts: Facts, findings: Sequence[Finding]) -> RenderableType:
    """Draw the findings, the worst first."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for number, finding in enumerate(findings):
        is_short = Severity.OK in (finding.severity, findings[number - 1].severity)
        if number and not (is_short and finding.severity == findings[number - 1].severity):
            table.add_row()
        table.add_row(Text(finding.severity.value, style=_STYLES[finding.severity]), _body(finding))
    return Group(_head(facts, findings), Text(), table)


def _head(facts: Facts, findings: Sequence[Finding]) -> Text:
    counts = _counts(findings)
    said = [
        f"{counts[severity.value]} {severity.value}{'' if counts[severity.value] == 1 else 's'}"
        for severity in (Severity.PROBLEM, Severity.WARNING, Severity.NOTE)
        if counts[severity.value]
    ]
    worst = verdict(findings)
    text = Text()
    if worst.rank > Severity.WARNING.rank:
        said = ["Nothing is wrong", *said]
    text.append(f"{', '.join(said)}.", _STYLES[worst])
    scope = facts.scope
    where = f"namespace {scope.namespace}" if scope.namespace else "all namespaces"
    whose = f", schedulerName {scope.scheduler_name}" if scope.scheduler_name else ""
    cluster = printable(f"{facts.server} ({facts.kubernetes_version}), {where}{whose}")
    return text.append(f"\n{cluster}", "dim")


def _body(finding: Finding) -> Text:
    since = finding.since_seconds
    text = Text()
    text.append(printable(finding.what), "bold" if finding.severity is Severity.PROBLEM else "")
    if since is not None:
        text.append(f" ({'oldest ' if finding.count > 1 else ''}{format_age(since)})", "dim")
    if finding.severity is Severity.OK:
        return text
    for line in finding.detail:
        text.append(f"\n{printable(line)}", "dim")
    if finding.why:
        text.append(f"\n{printable(finding.why)}")
    if finding.objects and not _names_are_told(finding):
        text.append(f"\n{printable(_names(finding))}", "dim")
    if finding.next_command:
        text.append(f"\n→ {printable(finding.next_command)}", "bold")
    return text


def _names_are_told(finding: Finding) -> bool:
    """Whether all its objects are named in what is written of it anyway."""
    told = "\n".join((finding.what, *finding.detail))
    return finding.count <= len(finding.objects) and all(name in told for name in finding.objects)


def _names(finding: Finding) -> str:
    names = ", ".join(finding.objects[:NAMES_SHOWN])
    more = finding.count - min(len(finding.objects), NAMES_SHOWN)
    return f"{names} and {more} more" if more > 0 else names


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    counts = Counter(finding.severity for finding in findings)
    return {severity.value: counts[severity] for severity in reversed(tuple(Severity))}


def _unread(each: Unread) -> UnreadReport:
    return UnreadReport(each.resource, each.verb, each.namespace, each.reason, each.is_refused)


def _written_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
