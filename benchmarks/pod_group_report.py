"""What the runs with groups of Pods say, beside those without any."""

from collections.abc import Callable

from benchmarks.pod_groups import PodGroupResult, PodGroupRun
from benchmarks.tables import Table
from benchmarks.verdicts import (
    Comparison,
    Figure,
    at_least_times,
    at_most,
    middle,
)
from benchmarks.workloads import PodGroupWorkload

_Figure = Figure[PodGroupRun]


def pod_group_table(result: PodGroupResult) -> Table:
    """Show a workload: the baseline, and each variant beside it."""
    workload = result.workload
    variants = [variant.name for variant in workload.variants]
    columns = ("", workload.baseline, *variants, "to reach")
    compared = Comparison({name: result.of(name) for name in columns[1:-1]})
    rows = [
        compared.row("Pods/s, created to bound", _speed, 0, _speed_verdict(workload, compared)),
        compared.row("created to bound, p50, ms", lambda run: run.latency_milliseconds.p50, 0),
        compared.row("created to bound, p99, ms", lambda run: run.latency_milliseconds.p99, 0),
    ]
    if any(run.together_milliseconds is not None for run in result.runs):
        rows += _together_rows(result, compared)
    rows += [
        compared.row(
            "CPU of the scheduler, ms a Pod, until quiet",
            lambda run: run.scheduler_cpu_milliseconds,
            2,
        ),
        compared.row(
            "of which until the last Pod was bound",
            lambda run: run.cpu_until_bound["scheduler"] * 1000 / max(1, run.pod_count),
            2,
        ),
        compared.row(
            "CPU of the machine that others used, %", lambda run: run.others_share * 100, 0
        ),
        ("all Pods right", *(_correctness(result, each) for each in columns[1:-1]), ""),
    ]
    return Table(_title(workload), columns, tuple(rows))


def _title(workload: PodGroupWorkload) -> str:
    parts = [f"{workload.node_count:,} Nodes", f"{workload.pod_count:,} Pods"]
    if workload.waiting_group_count:
        parts.append(f"{workload.waiting_group_count:,} groups that do not fit")
    if workload.churn is not None:
        parts.append(f"a Pod deleted every {workload.churn.every_milliseconds} ms")
    return f"Pod groups, {workload.name}: {', '.join(parts)}"


def _together_rows(
    result: PodGroupResult, compared: Comparison[PodGroupRun]
) -> list[tuple[str, ...]]:
    limit_seconds = result.workload.together_seconds
    verdict = ""
    if limit_seconds is not None:
        verdict = at_most(middle(result.runs, _longest), limit_seconds * 1000)
    return [
        compared.row("first to last Pod of a group bound, p50, ms", _together("p50"), 0),
        compared.row("first to last Pod of a group bound, p99, ms", _together("p99"), 0),
        compared.row("first to last Pod of a group bound, longest, ms", _longest, 0, verdict),
    ]


def _together(name: str) -> _Figure:
    def figure(run: PodGroupRun) -> float | None:
        times = run.together_milliseconds
        return None if times is None else float(getattr(times, name))

    return figure


_longest = _together("maximum")


def _speed(run: PodGroupRun) -> float:
    return run.pods_per_second


def _speed_verdict(workload: PodGroupWorkload, compared: Comparison[PodGroupRun]) -> str:
    return _each_variant(
        workload,
        lambda name: at_least_times(
            compared.ratio(_speed, name, workload.baseline),
            workload.plain_ratio,
            workload.baseline,
        ),
    )


def _each_variant(workload: PodGroupWorkload, judge: Callable[[str], str]) -> str:
    """Judge the variants, and say which is which where there are several."""
    names = [variant.name for variant in workload.variants]
    if len(names) == 1:
        return judge(names[0])
    return "; ".join(f"{name} {judge(name)}" for name in names)


def _correctness(result: PodGroupResult, variant: str) -> str:
    """Name what was wrong; the same fault of several runs once."""
    faults = dict.fromkeys(fault for run in result.of(variant) for fault in run.faults)
    return "; ".join(faults) or "yes"
