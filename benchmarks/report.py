"""What the results say, beside what was to be reached, as tables."""

from collections.abc import Callable, Sequence
from typing import Final

from benchmarks.contestants import BERTHMASTER, KUBE_SCHEDULER, RAW
from benchmarks.core_decisions import CoreResult, CoreRun
from benchmarks.end_to_end import EndToEndResult, EndToEndRun
from benchmarks.footprint import FootprintResult, FootprintRun, mebibytes
from benchmarks.tables import Table
from benchmarks.verdicts import (
    NOTHING,
    Comparison,
    at_least_times,
    at_most,
    at_most_times,
    cell,
    middle,
    ratio,
    word,
)
from benchmarks.workloads import Goals

_CORE_ROWS: Final[tuple[tuple[str, Callable[[CoreRun], float], str], ...]] = (
    (
        "known class, mean: the next three",
        lambda run: run.known_class_mean,
        "known_class_mean_microseconds",
    ),
    ("of which handle(PodUpserted): queue", lambda run: run.queue.mean, ""),
    ("of which step: decide, assume, effects", lambda run: run.step.mean, ""),
    ("of which handle(BindSucceeded)", lambda run: run.bound.mean, ""),
    ("step, p50", lambda run: run.step.p50, ""),
    ("step, p99", lambda run: run.step.p99, "step_p99_microseconds"),
    ("step, longest", lambda run: run.step.maximum, ""),
    (
        "step of a new class, mean",
        lambda run: run.new_class_step.mean,
        "new_class_mean_microseconds",
    ),
    ("step of a new class, p99", lambda run: run.new_class_step.p99, ""),
    ("besides: the watch's word on a bound Pod", lambda run: run.confirmed.mean, ""),
)
"""Name, figure, and the field of `Goals` that limits the first workload's."""


def core_table(results: Sequence[CoreResult], goals: Goals) -> Table:
    """Show the core's cost, a workload a column; the goals are the first one's."""
    first = results[0]
    rows = []
    for name, figure, goal in _CORE_ROWS:
        verdict = at_most(middle(first.runs, figure), getattr(goals, goal)) if goal else ""
        rows.append((name, *(cell(result.runs, figure) for result in results), verdict))
    rows.append(_ratios(results, goals))
    columns = (
        "µs of CPU a Pod",
        *(f"{each.workload.name}: {each.workload.node_count:,} Nodes" for each in results),
        f"to reach ({first.workload.name})",
    )
    return Table("Decision core alone", columns, tuple(rows))


def _ratios(results: Sequence[CoreResult], goals: Goals) -> tuple[str, ...]:
    """Compare each workload with the first; with ten times its Nodes there is a goal."""
    figures: tuple[Callable[[CoreRun], float], ...] = (
        lambda run: run.known_class_mean,
        lambda run: run.step.p99,
        lambda run: run.new_class_step.mean,
    )
    first = results[0]
    cells, verdict = [NOTHING], ""
    for result in results[1:]:
        ratios = [ratio(middle(result.runs, f), middle(first.runs, f)) for f in figures]
        cells.append(" / ".join(f"{each:.1f}" for each in ratios))
        if result.workload.node_count == 10 * first.workload.node_count:
            verdict = at_most(max(ratios), goals.ten_times_nodes_ratio)
    return ("times the first: mean / p99 / new class", *cells, verdict)


def end_to_end_table(result: EndToEndResult, goals: Goals) -> Table:
    """Show the raw bind run, kube-scheduler and Berthmaster side by side."""
    compared = Comparison({name: result.of(name) for name in (RAW, KUBE_SCHEDULER, BERTHMASTER)})
    workload = result.workload
    return Table(
        f"End to end: {workload.node_count:,} Nodes, {workload.pod_count:,} Pods",
        ("", RAW, KUBE_SCHEDULER, BERTHMASTER, "to reach"),
        (*_speed_rows(compared, goals), *_cpu_rows(compared, goals)),
    )


def _speed_rows(compared: Comparison[EndToEndRun], goals: Goals) -> list[tuple[str, ...]]:
    def pods(run: EndToEndRun) -> float:
        return run.pods_per_second

    def pods_with_events(run: EndToEndRun) -> float | None:
        return run.pods_per_second_with_events

    to_raw = at_least_times(
        compared.ratio(pods, BERTHMASTER, RAW), goals.throughput_to_raw_ratio, "raw"
    )
    to_peer = at_least_times(
        compared.ratio(pods, BERTHMASTER, KUBE_SCHEDULER),
        goals.throughput_to_kube_scheduler_ratio,
        KUBE_SCHEDULER,
    )
    with_events = at_least_times(
        compared.ratio(pods_with_events, BERTHMASTER, KUBE_SCHEDULER),
        goals.events_to_kube_scheduler_ratio,
        KUBE_SCHEDULER,
    )
    return [
        compared.row("Pods/s, created to bound", pods, 0, f"{to_raw}; {to_peer}"),
        compared.row(
            "Pods/s, created to every Scheduled event readable", pods_with_events, 0, with_events
        ),
        compared.row("Pods whose Scheduled event came", lambda run: run.event_count or None, 0),
        compared.row("created to bound, p50, ms", lambda run: run.latency_milliseconds.p50, 0),
        compared.row("created to bound, p99, ms", lambda run: run.latency_milliseconds.p99, 0),
    ]


def _cpu_rows(compared: Comparison[EndToEndRun], goals: Goals) -> list[tuple[str, ...]]:
    def until_quiet(run: EndToEndRun) -> float | None:
        return _milliseconds_a_pod(run, (run.cpu_until_quiet or {}).get("scheduler"))

    def of_all(run: EndToEndRun) -> float | None:
        used = run.cpu_until_quiet
        return None if used is None else _milliseconds_a_pod(run, sum(used.values()))

    def of(process: str) -> Callable[[EndToEndRun], float | None]:
        return lambda run: _milliseconds_a_pod(run, (run.cpu_until_quiet or {}).get(process))

    is_less = compared.middle(BERTHMASTER, of_all) < compared.middle(KUBE_SCHEDULER, of_all)
    return [
        compared.row(
            "CPU of the scheduler, ms a Pod, until quiet",
            until_quiet,
            2,
            at_most(compared.middle(BERTHMASTER, until_quiet), goals.scheduler_cpu_milliseconds),
        ),
        compared.row(
            "of which until the last Pod was bound",
            lambda run: _milliseconds_a_pod(run, run.cpu_until_bound.get("scheduler")),
            2,
        ),
        compared.row(
            "CPU of all processes, ms a Pod, until quiet",
            of_all,
            2,
            f"less than with {KUBE_SCHEDULER}: {word(is_less)}",
        ),
        *(
            compared.row(f"of which {name}", of(name), 2)
            for name in ("kube-apiserver", "etcd", "client")
        ),
        compared.row(
            "CPU of the machine that others used, %", lambda run: run.others_share * 100, 0
        ),
    ]


def _milliseconds_a_pod(run: EndToEndRun, seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000 / run.pod_count


def memory_table(result: FootprintResult, goals: Goals) -> Table:
    """Show what the schedulers need in a full cluster."""

    def most(run: FootprintRun) -> float:
        return mebibytes(run.memory_after_relist.peak_resident)

    compared = _footprints(result)
    rows = (
        compared.row("resident, once quiet", lambda run: mebibytes(run.memory.resident), 0),
        compared.row("PSS, once quiet", lambda run: mebibytes(run.memory.proportional), 0),
        compared.row(
            "most, with the first list", lambda run: mebibytes(run.memory.peak_resident), 0
        ),
        compared.row(
            "most, with another list after the API server's restart",
            most,
            0,
            at_most(compared.middle(BERTHMASTER, most), goals.memory_mebibytes),
        ),
    )
    return Table(f"Memory, MiB: {_size(result)}", _FOOTPRINT_COLUMNS, rows)


def startup_table(result: FootprintResult, goals: Goals) -> Table:
    """Show how long the schedulers take to begin in a full cluster."""

    def seconds(run: FootprintRun) -> float:
        return run.startup_seconds

    compared = _footprints(result)
    verdict = at_most_times(
        compared.ratio(seconds, BERTHMASTER, KUBE_SCHEDULER),
        goals.startup_to_kube_scheduler_ratio,
        KUBE_SCHEDULER,
    )
    rows = (
        compared.row("start to first Binding, s", seconds, 2, verdict),
        compared.row("CPU of the scheduler until then, s", lambda run: run.startup_cpu_seconds, 2),
    )
    return Table(f"Start-up: {_size(result)}", _FOOTPRINT_COLUMNS, rows)


_FOOTPRINT_COLUMNS: Final = ("", KUBE_SCHEDULER, BERTHMASTER, "to reach")


def _footprints(result: FootprintResult) -> Comparison[FootprintRun]:
    return Comparison({name: result.of(name) for name in (KUBE_SCHEDULER, BERTHMASTER)})


def _size(result: FootprintResult) -> str:
    workload = result.workload
    return (
        f"{workload.node_count:,} Nodes, {workload.pod_count:,} bound Pods of "
        f"{result.pod_bytes / 1000:.1f} kB in {workload.class_count:,} classes"
    )
