"""What the shapes' runs say, a shape a row."""

from collections.abc import Callable, Sequence
from typing import Final

from benchmarks.contestants import BERTHMASTER, KUBE_SCHEDULER, RAW
from benchmarks.distributions import Distribution
from benchmarks.shapes import ShapeResult, ShapeRun
from benchmarks.tables import Table
from benchmarks.verdicts import NOTHING, Comparison, at_least_times, cell

PEER_RATIO: Final = 1.0
"""On no shape may it be slower than kube-scheduler."""

Figure = Callable[[ShapeRun], float | None]


def shape_tables(results: Sequence[ShapeResult]) -> list[Table]:
    """Show what was reached, and what it cost; of extenders, who waited for them."""
    tables = [_speed_table(results), _cost_table(results)]
    with_extender = [result for result in results if result.workload.extender is not None]
    return [*tables, _extender_table(with_extender)] if with_extender else tables


def _speed_table(results: Sequence[ShapeResult]) -> Table:
    columns = ("Pods/s, created to bound", "Nodes", "Pods", RAW, KUBE_SCHEDULER, BERTHMASTER)
    rows = [
        (
            result.workload.name,
            f"{result.workload.node_count:,}",
            f"{result.workload.pod_count:,}",
            *(cell(result.of(name), _speed, 0) for name in (RAW, KUBE_SCHEDULER, BERTHMASTER)),
            _verdict(result),
            _correctness(result),
        )
        for result in results
    ]
    return Table(
        "Shapes of scheduler_perf: speed", (*columns, "to reach", "all Pods right"), tuple(rows)
    )


def _cost_table(results: Sequence[ShapeResult]) -> Table:
    figures: tuple[tuple[str, Figure, int], ...] = (
        ("CPU", lambda run: run.scheduler_cpu_milliseconds, 2),
        ("p50", lambda run: run.latency_milliseconds.p50, 0),
        ("p99", lambda run: run.latency_milliseconds.p99, 0),
    )
    contestants = (KUBE_SCHEDULER, BERTHMASTER)
    columns = (
        "CPU of the scheduler, ms a Pod; created to bound, ms",
        *(f"{name}: {figure}" for name in contestants for figure, _, _ in figures),
        *(f"{name}: bound besides" for name in contestants),
        "most CPU that others used, %",
    )
    rows = [
        (
            result.workload.name,
            *(
                cell(result.of(name), figure, digits)
                for name in contestants
                for _, figure, digits in figures
            ),
            *(_besides(result.of(name)) for name in contestants),
            f"{max(run.others_share for run in result.runs):.0%}",
        )
        for result in results
    ]
    return Table("Shapes of scheduler_perf: cost and latency", columns, tuple(rows))


def _extender_table(results: Sequence[ShapeResult]) -> Table:
    figures: tuple[tuple[str, Figure, int], ...] = (
        ("CPU", lambda run: run.extender_cpu_milliseconds, 2),
        ("asking, p50", lambda run: _p50(run.asking_latency_milliseconds), 0),
        ("asking, p99", lambda run: _p99(run.asking_latency_milliseconds), 0),
        ("others, p50", lambda run: _p50(run.other_latency_milliseconds), 0),
        ("others, p99", lambda run: _p99(run.other_latency_milliseconds), 0),
    )
    contestants = (KUBE_SCHEDULER, BERTHMASTER)
    columns = (
        "CPU of the extender, ms a Pod; created to bound of Pods that ask it and of others, ms",
        *(f"{name}: {figure}" for name in contestants for figure, _, _ in figures),
    )
    rows = [
        (
            result.workload.name,
            *(
                cell(result.of(name), figure, digits)
                for name in contestants
                for _, figure, digits in figures
            ),
        )
        for result in results
    ]
    return Table("Shapes with an extender", columns, tuple(rows))


def _p50(distribution: Distribution | None) -> float | None:
    return distribution.p50 if distribution else None


def _p99(distribution: Distribution | None) -> float | None:
    return distribution.p99 if distribution else None


def _besides(runs: Sequence[ShapeRun]) -> str:
    """Say how many of the Pods that came besides, to preempt or never to fit, are on a Node."""
    counts = [(run.churn_bound_count, run.churn_pod_count) for run in runs if run.churn_pod_count]
    return ", ".join(f"{bound:,} of {count:,}" for bound, count in counts) or NOTHING


def _speed(run: ShapeRun) -> float:
    return run.pods_per_second


def _verdict(result: ShapeResult) -> str:
    compared = Comparison({name: result.of(name) for name in (RAW, KUBE_SCHEDULER, BERTHMASTER)})
    verdicts = [
        at_least_times(compared.ratio(_speed, BERTHMASTER, other), limit, label)
        for limit, other, label in (
            (result.workload.raw_ratio, RAW, "raw"),
            (PEER_RATIO, KUBE_SCHEDULER, KUBE_SCHEDULER),
        )
        if limit is not None
    ]
    return "; ".join(verdicts)


def _correctness(result: ShapeResult) -> str:
    """Name what was wrong, by contestant; the same fault of several runs once."""
    faults = dict.fromkeys(
        f"{run.contestant}: {fault}" for run in result.runs for fault in run.faults
    )
    return "; ".join(faults) or "yes"
