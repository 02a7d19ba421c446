from io import StringIO
from pathlib import Path

import msgspec
from rich.console import Console

from benchmarks.contestants import BERTHMASTER, KUBE_SCHEDULER, RAW
from benchmarks.core_decisions import CoreResult, CoreRun
from benchmarks.distributions import Distribution
from benchmarks.end_to_end import EndToEndResult, EndToEndRun
from benchmarks.footprint import FootprintResult, FootprintRun
from benchmarks.machine import Machine, Quietness
from benchmarks.processes import Memory
from benchmarks.report import core_table, end_to_end_table, memory_table, startup_table
from benchmarks.results import Results
from benchmarks.tables import Table, show, to_markdown
from benchmarks.workloads import load_workloads

WORKLOADS = load_workloads()
GOALS = WORKLOADS.goals
QUIET = Quietness(load_average=0.1, busy_share=0.01)
MEBIBYTE = 2**20


def of(value: float) -> Distribution:
    return Distribution(count=1, mean=value, p50=value, p99=value, maximum=value)


def core_run(step: float, new: float) -> CoreRun:
    return CoreRun(queue=of(4), step=of(step), bound=of(3), confirmed=of(2), new_class_step=of(new))


def end_to_end_run(
    contestant: str, *, bound: float, events: float | None, cpu: float
) -> EndToEndRun:
    used = {"kube-apiserver": 3.0, "etcd": 1.0, "client": 1.0}
    if contestant != RAW:
        used["scheduler"] = cpu
    return EndToEndRun(
        contestant=contestant,
        pod_count=1000,
        quietness=QUIET,
        bound_seconds=bound,
        latency_milliseconds=of(5),
        events_seconds=events,
        event_count=0 if contestant == RAW else 1000,
        cpu_until_bound=used,
        cpu_until_quiet=used,
        others_share=0.03,
    )


def footprint_run(contestant: str, *, seconds: float, peak: int) -> FootprintRun:
    memory = Memory(100 * MEBIBYTE, 90 * MEBIBYTE, 120 * MEBIBYTE)
    return FootprintRun(
        contestant=contestant,
        quietness=QUIET,
        startup_seconds=seconds,
        startup_cpu_seconds=seconds / 2,
        memory=memory,
        memory_after_relist=msgspec.structs.replace(memory, peak_resident=peak * MEBIBYTE),
    )


def rows(table: Table) -> dict[str, tuple[str, ...]]:
    assert all(len(row) == len(table.columns) for row in table.rows)
    return {row[0]: row[1:] for row in table.rows}


def core_results() -> list[CoreResult]:
    first, larger, mixed = WORKLOADS.core
    return [
        CoreResult(first, (core_run(50, 300),), (QUIET,)),
        CoreResult(larger, (core_run(443, 4500),), (QUIET,)),
        CoreResult(mixed, (core_run(70, 300),), (QUIET,)),
    ]


def test_the_core_is_judged_by_its_first_workload_and_by_the_ratio_to_ten_times_the_nodes() -> None:
    found = rows(core_table(core_results(), GOALS))
    assert found["known class, mean: the next three"] == ("57.0", "450.0", "77.0", "≤ 60: reached")
    assert found["step, p99"][-1] == "≤ 250: reached"
    assert found["step of a new class, mean"][-1] == "≤ 400: reached"
    ratios = found["times the first: mean / p99 / new class"]
    assert ratios == ("-", "7.9 / 8.9 / 15.0", "1.4 / 1.4 / 1.0", "≤ 12: missed")


def end_to_end_result() -> EndToEndResult:
    runs = (
        end_to_end_run(RAW, bound=2.0, events=None, cpu=0),
        end_to_end_run(KUBE_SCHEDULER, bound=5.0, events=5.0, cpu=4.0),
        end_to_end_run(BERTHMASTER, bound=2.0, events=4.0, cpu=0.5),
        end_to_end_run(BERTHMASTER, bound=2.5, events=None, cpu=0.6),
        end_to_end_run(BERTHMASTER, bound=4.0, events=4.0, cpu=0.7),
    )
    return EndToEndResult(WORKLOADS.end_to_end, runs)


def test_throughput_is_compared_with_raw_and_with_the_peer() -> None:
    found = rows(end_to_end_table(end_to_end_result(), GOALS))
    assert found["Pods/s, created to bound"] == (
        "500",
        "200",
        "400 (250 to 500)",
        "≥ 0.85 times raw: 0.80, missed; ≥ 1.5 times kube-scheduler: 2.00, reached",
    )
    assert found["Pods/s, created to every Scheduled event readable"] == (
        "-",
        "200",
        "250 (250 to 250)",
        "≥ 1.3 times kube-scheduler: 1.25, missed",
    )


def test_cpu_is_by_the_pod_and_all_processes_count() -> None:
    found = rows(end_to_end_table(end_to_end_result(), GOALS))
    scheduler = found["CPU of the scheduler, ms a Pod, until quiet"]
    assert scheduler == ("-", "4.00", "0.60 (0.50 to 0.70)", "≤ 0.6: reached")
    others = found["CPU of the machine that others used, %"]
    assert others == ("3", "3", "3 (3 to 3)", "")
    of_all = found["CPU of all processes, ms a Pod, until quiet"]
    assert of_all == (
        "5.00",
        "9.00",
        "5.60 (5.50 to 5.70)",
        "less than with kube-scheduler: reached",
    )


def footprint_result() -> FootprintResult:
    runs = (
        footprint_run(KUBE_SCHEDULER, seconds=4.0, peak=1600),
        footprint_run(BERTHMASTER, seconds=9.0, peak=351),
    )
    return FootprintResult(WORKLOADS.footprint, 7_285.4, runs)


def test_memory_is_judged_by_its_peak_over_both_lists() -> None:
    table = memory_table(footprint_result(), GOALS)
    assert table.title == "Memory, MiB: 5,000 Nodes, 50,000 bound Pods of 7.3 kB in 1,000 classes"
    found = rows(table)
    assert found["resident, once quiet"] == ("100", "100", "")
    name = "most, with another list after the API server's restart"
    assert found[name] == ("1,600", "351", "≤ 350: missed")


def test_startup_is_compared_with_the_peer() -> None:
    found = rows(startup_table(footprint_result(), GOALS))
    assert found["start to first Binding, s"] == (
        "4.00",
        "9.00",
        "≤ 2 times kube-scheduler: 2.25, missed",
    )


def test_markdown_escapes_what_would_end_a_cell() -> None:
    table = Table("Title", ("a", "b"), (("1|2", ""),))
    assert to_markdown(table) == "### Title\n\n| a | b |\n| --- | --- |\n| 1\\|2 |  |\n"


def test_a_pipe_gets_markdown_that_is_never_wrapped() -> None:
    table = Table("Title", ("a", "b"), (("x" * 200, "[red]"),))
    out = StringIO()
    show([table], Console(file=out, width=80))
    assert out.getvalue() == to_markdown(table) + "\n"


def test_a_terminal_gets_a_drawn_table() -> None:
    out = StringIO()
    table = Table("Title", ("name", "figure", "to reach"), (("[x]", "5", "≤ 6: reached"),))
    show([table], Console(file=out, width=80, force_terminal=True, no_color=True))
    assert "[x]" in out.getvalue()
    assert "| --- |" not in out.getvalue()


def results(busy_share: float) -> Results:
    return Results(
        started_at="2026-01-02T03:04:05+00:00",
        arguments=("all", "--runs", "1"),
        machine=Machine(
            processor="A processor",
            core_count=8,
            used_cores=(0, 1),
            memory_bytes=16 * 2**30,
            kernel="Linux 6.1",
            python="3.11.7",
            berthmaster="1.2.3",
            revision="abc",
            libraries={"numpy": "2.2"},
        ),
        goals=GOALS,
        programs={"kube-scheduler": "1.36.3"},
        core=(
            msgspec.structs.replace(
                core_results()[0], quietness=(Quietness(load_average=2.5, busy_share=busy_share),)
            ),
        ),
        end_to_end=end_to_end_result(),
        footprint=footprint_result(),
    )


def test_the_context_says_where_when_and_how() -> None:
    assert results(0.01).context() == (
        "- Date: 2026-01-02T03:04:05+00:00\n"
        "- Machine: A processor, 2 of 8 cores, 16 GiB, Linux 6.1\n"
        "- Versions: berthmaster 1.2.3 (abc), Python 3.11.7, kube-scheduler 1.36.3, numpy 2.2\n"
        "- Before the runs: load average at most 2.50; quiet each time\n"
        "- Command: `python -m benchmarks all --runs 1`\n"
    )


def test_a_busy_machine_stays_in_the_results() -> None:
    assert "the machine was BUSY before 1 of 8\n" in results(0.5).context()


def test_results_are_saved_in_full(tmp_path: Path) -> None:
    saved = results(0.01)
    markdown = saved.save(tmp_path / "results", "name").read_text()
    assert markdown.startswith("- Date: 2026-01-02")
    assert markdown.count("### ") == 4
    again = msgspec.json.decode((tmp_path / "results" / "name.json").read_bytes(), type=Results)
    assert again == saved


def test_only_what_was_asked_for_is_shown() -> None:
    titles = [table.title.split(":")[0] for table in results(0.01).tables(["startup"])]
    assert titles == ["Start-up"]
