"""The tables of groups: what is held against what, and faults."""

from benchmarks.distributions import Distribution
from benchmarks.machine import Quietness
from benchmarks.pod_group_report import pod_group_table
from benchmarks.pod_groups import PodGroupResult, PodGroupRun
from benchmarks.workloads import load_workloads

WORKLOADS = {workload.name: workload for workload in load_workloads().pod_groups}


def run(variant: str, seconds: float, *faults: str, longest: float | None = None) -> PodGroupRun:
    together = None if longest is None else Distribution(100, 20, 18, 60, longest)
    return PodGroupRun(
        contestant=variant,
        pod_count=1000,
        quietness=Quietness(load_average=0.1, busy_share=0.01),
        bound_seconds=seconds,
        latency_milliseconds=Distribution(1000, 5, 5, 10 * seconds, 70),
        cpu_until_bound={"scheduler": 1.0, "client": 1.0},
        cpu_until_quiet={"scheduler": 2.0, "client": 1.0},
        others_share=0.03,
        churn_pod_count=0,
        churn_bound_count=0,
        faults=faults,
        together_milliseconds=together,
    )


def test_groups_are_held_against_plain_pods_and_each_is_to_be_bound_together() -> None:
    runs = (run("plain Pods", 2.0), run("groups of 50", 2.5, longest=1200.0))
    table = pod_group_table(PodGroupResult(WORKLOADS["groups-that-fit"], runs))
    assert table.title == "Pod groups, groups-that-fit: 500 Nodes, 5,000 Pods"
    assert table.columns == ("", "plain Pods", "groups of 50", "to reach")
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["Pods/s, created to bound"] == (
        *("500", "400"),
        "≥ 0.8 times plain Pods: 0.80, reached",
    )
    assert rows["first to last Pod of a group bound, p99, ms"] == ("-", "60", "")
    assert rows["first to last Pod of a group bound, longest, ms"] == (
        *("-", "1,200"),
        "≤ 1000: missed",
    )
    assert rows["CPU of the scheduler, ms a Pod, until quiet"] == ("2.00", "2.00", "")
    assert rows["of which until the last Pod was bound"] == ("1.00", "1.00", "")


def test_each_variant_beside_is_held_against_the_same_pods_alone() -> None:
    workload = WORKLOADS["beside-groups-that-are-tried-again"]
    first, second = (variant.name for variant in workload.variants)
    runs = (run("no groups", 2.0), run(first, 2.1, "one is lost"), run(second, 4.0))
    table = pod_group_table(PodGroupResult(workload, runs))
    assert table.title.endswith(
        ": 500 Nodes, 1,000 Pods, 1,000 groups that do not fit, a Pod deleted every 100 ms"
    )
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["Pods/s, created to bound"][-1] == (
        f"{first} ≥ 0.9 times no groups: 0.95, reached; "
        f"{second} ≥ 0.9 times no groups: 0.50, missed"
    )
    assert rows["all Pods right"] == ("yes", "one is lost", "yes", "")
    assert not any(name.startswith("first to last") for name in rows)
