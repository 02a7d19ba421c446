"""The shapes' tables: what is compared with what, and faults."""

import msgspec

from benchmarks.contestants import BERTHMASTER, KUBE_SCHEDULER, RAW
from benchmarks.distributions import Distribution
from benchmarks.machine import Quietness
from benchmarks.shape_report import shape_tables
from benchmarks.shapes import ShapeResult, ShapeRun
from benchmarks.workloads import load_workloads

SHAPES = {shape.name: shape for shape in load_workloads().shapes}


def run(contestant: str, seconds: float, *faults: str, is_quiet: bool = True) -> ShapeRun:
    used = {"client": 1.0} if contestant == RAW else {"client": 1.0, "scheduler": 3.0}
    return ShapeRun(
        contestant=contestant,
        pod_count=1000,
        quietness=Quietness(load_average=0.1, busy_share=0.01),
        bound_seconds=seconds,
        latency_milliseconds=Distribution(1, 5, 5, 7, 7),
        cpu_until_bound={**used, "scheduler": 2.0} if contestant != RAW else used,
        cpu_until_quiet=used if is_quiet else None,
        others_share=0.03,
        churn_pod_count=0 if contestant == RAW else 20,
        churn_bound_count=0 if contestant == RAW else 15,
        faults=faults,
    )


def distribution(p50: float) -> Distribution:
    return Distribution(1, p50, p50, p50 + 1, p50 + 2)


def result(name: str, raw: float, peer: float, ours: ShapeRun) -> ShapeResult:
    return ShapeResult(SHAPES[name], (run(RAW, raw), run(KUBE_SCHEDULER, peer), ours))


def test_only_some_shapes_are_held_against_the_raw_bind_run() -> None:
    spread = result("hard-spread", 2.0, 10.0, run(BERTHMASTER, 4.0))
    basic = result("basic", 2.0, 3.0, run(BERTHMASTER, 4.0))
    rows = shape_tables([spread, basic])[0].rows
    assert rows[0] == (
        "hard-spread",
        "5,000",
        "3,000",
        "500",
        "100",
        "250",
        "≥ 0.8 times raw: 0.50, missed; ≥ 1 times kube-scheduler: 2.50, reached",
        "yes",
    )
    assert rows[1][-2] == "≥ 1 times kube-scheduler: 0.75, missed"


def test_faults_are_told_by_contestant() -> None:
    wrong = result("basic", 2.0, 3.0, run(BERTHMASTER, 4.0, "one is lost", "two overlap"))
    assert shape_tables([wrong])[0].rows[0][-1] == (
        "berthmaster: one is lost; berthmaster: two overlap"
    )


def test_cpu_is_counted_until_quiet_where_that_came() -> None:
    quiet = result("basic", 2.0, 3.0, run(BERTHMASTER, 4.0))
    restless = result("basic", 2.0, 3.0, run(BERTHMASTER, 4.0, is_quiet=False))
    rows = shape_tables([quiet, restless])[1].rows
    assert rows[0] == ("basic", "3.00", "5", "7", "3.00", "5", "7", "15 of 20", "15 of 20", "3%")
    assert rows[1][4] == "2.00"


def test_of_extenders_there_is_a_table_where_there_are_some() -> None:
    without = result("basic", 2.0, 3.0, run(BERTHMASTER, 4.0))
    ours = msgspec.structs.replace(
        run(BERTHMASTER, 4.0),
        cpu_until_quiet={"client": 1.0, "scheduler": 3.0, "extender": 0.5},
        asking_latency_milliseconds=distribution(20),
        other_latency_milliseconds=distribution(10),
    )
    managed = result("extender-managed", 2.0, 3.0, ours)
    assert len(shape_tables([without])) == 2
    (row,) = shape_tables([without, managed])[2].rows
    assert row == ("extender-managed", *["-"] * 5, "0.50", "20", "21", "10", "11")


def test_a_run_without_a_bound_pod_has_a_figure_too() -> None:
    nothing = run(BERTHMASTER, 0.0)
    assert nothing.pods_per_second == 0
    assert run(RAW, 1.0).scheduler_cpu_milliseconds is None
