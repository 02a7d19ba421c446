"""What the agent's results say, beside what was to be reached."""

from collections.abc import Callable

from benchmarks.agent import AgentResult, AgentRun
from benchmarks.footprint import mebibytes
from benchmarks.tables import Table
from benchmarks.verdicts import at_most, cell, middle


def agent_table(result: AgentResult) -> Table:
    """Show the agent's figures."""
    goals, runs = result.workload.goals, result.runs

    def row(
        name: str, figure: Callable[[AgentRun], float], digits: int, limit: float | None = None
    ) -> tuple[str, ...]:
        verdict = "" if limit is None else at_most(middle(runs, figure), limit)
        return name, cell(runs, figure, digits), verdict

    rows = (
        row(
            "PSS after churn, MiB",
            lambda run: mebibytes(run.memory.proportional),
            1,
            goals.memory_mebibytes,
        ),
        row("resident after churn, MiB", lambda run: mebibytes(run.memory.resident), 1),
        row("resident, most, MiB", lambda run: mebibytes(run.memory.peak_resident), 1),
        row(
            "resident before churn, MiB", lambda run: mebibytes(run.memory_before_churn.resident), 1
        ),
        row("Pods that came and went", lambda run: run.churned_pod_count, 0),
        row(
            "CPU at rest, % of a core",
            lambda run: run.rest_cpu_percent,
            2,
            goals.rest_cpu_percent,
        ),
        row(
            "Binding answered to seen, p99, ms",
            lambda run: run.seen_milliseconds.p99,
            0,
            goals.seen_p99_milliseconds,
        ),
        row("Binding answered to seen, p50, ms", lambda run: run.seen_milliseconds.p50, 0),
        row("Binding sent to seen, p99, ms", lambda run: run.seen_from_request_milliseconds.p99, 0),
        row("all Bindings sent and answered, s", lambda run: run.bind_seconds, 2),
        row(
            f"{result.workload.operation_count:,} operations through the core, s",
            lambda run: run.operations.seconds,
            2,
            goals.operations_seconds,
        ),
    )
    title = f"Node agent: {result.workload.pod_count} Pods of {result.pod_bytes / 1000:.1f} kB"
    return Table(title, ("", "agent", "to reach"), rows)
