"""What the controller's results say, beside what was to be reached."""

from collections.abc import Callable

from benchmarks.controller import ControllerResult, ControllerRun
from benchmarks.footprint import mebibytes
from benchmarks.tables import Table
from benchmarks.verdicts import at_most, cell, middle


def controller_table(result: ControllerResult) -> Table:
    """Show the controller's figures."""
    workload, runs = result.workload, result.runs
    goals = workload.goals

    def row(
        name: str, figure: Callable[[ControllerRun], float], digits: int, limit: float | None = None
    ) -> tuple[str, ...]:
        verdict = "" if limit is None else at_most(middle(runs, figure), limit)
        return name, cell(runs, figure, digits), verdict

    rows = (
        row("first start: all statuses written after, s", lambda r: r.first.known_seconds, 1),
        row("first start: statuses written", lambda r: r.first.write_count, 0),
        row("first start: CPU, s", lambda r: r.first.cpu_seconds, 1),
        row(
            "first start: resident, most, MiB",
            lambda r: mebibytes(r.first.memory.peak_resident),
            1,
            goals.memory_mebibytes,
        ),
        row(
            "restart: all groups judged after, s",
            lambda r: r.again.known_seconds,
            1,
            goals.restart_seconds,
        ),
        row("restart: statuses written", lambda r: r.again.write_count, 0, 0),
        row("restart: groups that changed", lambda r: r.again.changed_count, 0, 0),
        row("restart: CPU, s", lambda r: r.again.cpu_seconds, 1),
        row(
            "restart: resident, most, MiB",
            lambda r: mebibytes(r.again.memory.peak_resident),
            1,
            goals.memory_mebibytes,
        ),
        row(
            "restart: resident a minute later, MiB",
            lambda r: mebibytes(r.again.memory.resident),
            1,
        ),
        row("restart: PSS, MiB", lambda r: mebibytes(r.again.memory.proportional), 1),
    )
    title = f"Controller: {workload.group_count:,} groups of {workload.member_count} Pods"
    return Table(title, ("", "controller", "to reach"), rows)
