"""What is shown in the end: figures, what Nodes carry, what was refused, metrics, the verdict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deploy.demo.figures import NodeLoad, Speed, count_states, group_loads, most_common_first
from deploy.demo.leader_kill import Takeover
from deploy.demo.records import PodRecord
from deploy.demo.shapes import NODE_POOLS, ZONES
from deploy.demo.verdict import Check

METRICS = (
    r"scheduler_schedule_attempts_total\{",
    r'scheduler_pending_pods\{queue="(active|unschedulable|gated)"',
    r"scheduler_scheduling_attempt_duration_seconds_(sum|count)\{.*scheduled",
    r'scheduler_cache_size\{type="(nodes|pods)"',
    r"leader_election_master_status\{",
    r'berthmaster_api_calls_total\{.*"pods/binding"',
    r"berthmaster_bind_concurrency ",
    r"process_cpu_seconds_total ",
    r"process_resident_memory_bytes ",
)
"""Lines of ``/metrics`` to show, about a dozen."""
LEASE_SECONDS = 15
"""The scheduler's default, which the demonstration leaves as it is."""
LONGEST_VALUE = 12
HISTOGRAM_WIDTH = 40
HISTOGRAM_ROWS = 16


def heading(console: Console, text: str) -> None:
    """Begin a section."""
    console.print()
    console.print(Text(text, style="bold"))


def show_states(console: Console, records: Sequence[PodRecord]) -> None:
    """Show how many Pods are in each state."""
    heading(console, "Pods by state")
    for state, count in most_common_first(count_states(records)):
        console.print(Text(f"  {count:6}  {state}"))


def show_speed(console: Console, speed: Speed) -> None:
    """Show how fast Pods were bound."""
    heading(console, "Speed")
    console.print(
        Text(
            f"  {speed.bound_count} Pods bound in {speed.seconds:.1f} s: {speed.per_second:.0f} a "
            f"second, {speed.best_second} in the best second"
        )
    )
    if speed.p50_seconds is not None and speed.p99_seconds is not None:
        console.print(
            Text(
                f"  created → bound: p50 {speed.p50_seconds * 1000:.0f} ms, "
                f"p99 {speed.p99_seconds * 1000:.0f} ms"
            )
        )
    console.print(
        Text(
            "  (when this client's own watch told of it, on the CPUs that all share; without gated "
            "Pods)",
            style="dim",
        )
    )


def show_spread(console: Console, loads: Sequence[NodeLoad]) -> None:
    """Show what Nodes carry, by pool and zone, and how many Nodes have how many Pods."""
    heading(console, "Spread over the Nodes: Pods (share of CPU requested)")
    groups = group_loads(loads)
    table = Table(box=None, padding=(0, 2, 0, 2))
    table.add_column("pool")
    for name in ("Nodes", *ZONES, "on a Node"):
        table.add_column(name, justify="right", no_wrap=True)
    for pool in NODE_POOLS:
        own = [load for load in loads if load.node.pool is pool]
        counts = [load.pod_count for load in own]
        table.add_row(
            pool.name,
            str(len(own)),
            *(_cell(groups.get((pool.name, zone), [])) for zone in ZONES),
            _range(counts),
        )
    console.print(table)
    show_histogram(console, Counter(load.pod_count for load in loads))


def show_histogram(console: Console, node_counts: Mapping[int, int]) -> None:
    """Show how many Nodes have how many Pods."""
    rows = histogram_rows(node_counts)
    most = max(nodes for _, nodes in rows)
    for title, nodes in rows:
        bar = "█" * -(-nodes * HISTOGRAM_WIDTH // most)
        count = f"{' ' if bar else ''}{nodes} Node{'' if nodes == 1 else 's'}"
        console.print(Text.assemble(f"  {title:>7} Pods ", (bar, "green"), count))


def histogram_rows(node_counts: Mapping[int, int]) -> list[tuple[str, int]]:
    """Give at most `HISTOGRAM_ROWS` rows: a number or range of Pods, and how many Nodes have it."""
    width = -(-(max(node_counts) + 1) // HISTOGRAM_ROWS)
    rows = []
    for first in range(0, max(node_counts) + 1, width):
        nodes = sum(node_counts.get(count, 0) for count in range(first, first + width))
        rows.append((str(first) if width == 1 else f"{first}-{first + width - 1}", nodes))
    return rows


def show_refusals(console: Console, refusals: Mapping[str, str], names: Iterable[str]) -> None:
    """Show what the events of Pods that fit nowhere say."""
    heading(console, "Pods that fit nowhere: their FailedScheduling events")
    for name in names:
        console.print(Text(f"  {name}: {refusals.get(name, '(no event)')}"))


def show_metrics(console: Console, exposition: str, *, url: str) -> None:
    """Show some lines of what the scheduler exposes."""
    heading(console, f"From {url}/metrics")
    for line in select_metrics(exposition):
        console.print(Text(f"  {line}"))


def select_metrics(exposition: str) -> list[str]:
    """Choose lines of an exposition, in the order of `METRICS`."""
    lines = exposition.splitlines()
    chosen = (line for pattern in METRICS for line in lines if re.match(pattern, line))
    return [_rounded(line) for line in chosen]


def _rounded(line: str) -> str:
    """Write a value with six digits that matter, of which floating point makes up to seventeen."""
    name, _, value = line.rpartition(" ")
    return f"{name} {float(value):.6g}" if len(value) > LONGEST_VALUE and "e" not in value else line


def show_takeover(console: Console, takeover: Takeover) -> None:
    """Show how the loss of the leader went."""
    heading(console, "The leader's end")
    console.print(Text(f"  {takeover.killed} (pid {takeover.killed_pid}) was killed (SIGKILL)"))
    if takeover.successor and takeover.node:
        console.print(
            Text(
                f"  {takeover.successor} bound a Pod created after that to {takeover.node}, "
                f"{takeover.seconds:.1f} s after the kill (a Lease runs out {LEASE_SECONDS} s "
                "after its last renewal)"
            )
        )
    else:
        console.print(Text("  no other replica has bound a Pod since"))


def show_checks(console: Console, checks: Sequence[Check]) -> None:
    """Show the verdict."""
    heading(console, "Verdict")
    for check in checks:
        mark = ("ok  ", "green") if check.is_met else ("FAIL", "bold red")
        console.print(Text.assemble("  ", mark, f" {check.what}: {check.found}"))


def _range(counts: Sequence[int]) -> str:
    fewest, most = min(counts), max(counts)
    return str(most) if fewest == most else f"{fewest} to {most}"


def _cell(loads: Sequence[NodeLoad]) -> str:
    if not loads:
        return "-"
    pods = sum(load.pod_count for load in loads)
    requested = sum(load.requested.milli_cpu for load in loads)
    allocatable = sum(load.node.pool.allocatable.milli_cpu for load in loads)
    return f"{pods} ({100 * requested / allocatable:.0f} %)"
