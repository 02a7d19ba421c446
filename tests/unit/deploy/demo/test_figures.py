"""Percentiles, rates and loads, by values counted by hand."""

from __future__ import annotations

import pytest
from rich.console import Console

from deploy.demo.figures import (
    count_states,
    measure_loads,
    measure_speed,
    most_common_first,
    most_within,
    percentile,
)
from deploy.demo.plan import PlannedNode
from deploy.demo.records import PodRecord, PodState
from deploy.demo.report import histogram_rows, select_metrics, show_histogram
from deploy.demo.resources import Resources
from deploy.demo.shapes import POOL_BY_NAME


def record(
    name: str,
    created_seconds: float = 0.0,
    bound_seconds: float | None = None,
    *,
    shape: str = "plain",
    node: str = "node-0000",
) -> PodRecord:
    return PodRecord(
        name=name,
        shape=shape,
        created_seconds=created_seconds,
        nodes=[] if bound_seconds is None else [node],
        bound_seconds=bound_seconds,
        state=PodState.PENDING if bound_seconds is None else PodState.BOUND,
    )


@pytest.mark.parametrize(
    ("percent", "value"), [(0, 1.0), (50, 5.0), (51, 6.0), (90, 9.0), (99, 10.0), (100, 10.0)]
)
def test_a_percentile_is_one_of_the_values(percent: float, value: float) -> None:
    values = [float(number) for number in (10, 1, 9, 2, 8, 3, 7, 4, 6, 5)]

    assert percentile(values, percent) == value


def test_nothing_has_no_percentile() -> None:
    assert percentile([], 50) is None


@pytest.mark.parametrize(
    ("moments", "most"),
    [([], 0), ([5.0], 1), ([0.0, 0.5, 0.999, 1.0], 3), ([0.0, 1.0, 2.0], 1), ([3.0, 3.0], 2)],
)
def test_the_best_second_is_shorter_than_a_second(moments: list[float], most: int) -> None:
    assert most_within(moments, 1.0) == most


def test_speed() -> None:
    speed = measure_speed(
        [record("a", 10.0, 10.2), record("b", 10.1, 10.4), record("c", 11.0, 12.0), record("d")]
    )

    assert speed.bound_count == 3
    assert speed.best_second == 2
    assert speed.p50_seconds == pytest.approx(0.3)
    assert speed.p99_seconds == pytest.approx(1.0)


def test_speed_is_counted_from_the_first_creation_to_the_last_binding() -> None:
    speed = measure_speed([record("a", 10.0, 10.2), record("b", 10.5, 14.0)])

    assert speed.seconds == pytest.approx(4.0)
    assert speed.per_second == pytest.approx(0.5)


def test_waiting_for_a_gate_is_no_latency() -> None:
    speed = measure_speed([record("a", 0.0, 0.2), record("g", 0.0, 30.0, shape="gated")])

    assert speed.bound_count == 2
    assert speed.p99_seconds == pytest.approx(0.2)


def test_no_pods_have_no_speed() -> None:
    speed = measure_speed([])

    assert (speed.bound_count, speed.per_second, speed.p50_seconds) == (0, 0.0, None)


def test_loads_add_up_what_each_node_carries() -> None:
    nodes = [
        PlannedNode("node-0000", POOL_BY_NAME["small"], "zone-a"),
        PlannedNode("node-0001", POOL_BY_NAME["gpu"], "zone-b"),
    ]
    first, second = measure_loads(
        nodes,
        [
            record("a", 0, 1),
            record("b", 0, 1, shape="host-port"),
            record("c", 0, 1, shape="gpu", node="node-0001"),
            record("d", 0, 1, shape="", node="node-0001"),
            record("e"),
        ],
    )

    assert (first.pod_count, first.host_ports) == (2, (8080,))
    assert first.requested == Resources(milli_cpu=200, memory_mib=192)
    assert second.pod_count == 2
    assert second.requested == Resources(milli_cpu=500, memory_mib=1024, gpu_count=1)


def test_states_are_counted_most_common_first() -> None:
    counts = count_states([record("a", 0, 1), record("b", 0, 1), record("c")])

    assert most_common_first(counts) == [("Bound", 2), ("Pending", 1)]


def test_a_histogram_has_a_row_for_each_number() -> None:
    assert histogram_rows({0: 3, 2: 1}) == [("0", 3), ("1", 0), ("2", 1)]


def test_a_histogram_is_drawn_with_a_count_in_each_row() -> None:
    console = Console(width=80)
    with console.capture() as capture:
        show_histogram(console, {0: 4, 2: 1})
    assert capture.get().splitlines() == [
        f"        0 Pods {'█' * 40} 4 Nodes",
        "        1 Pods 0 Nodes",
        f"        2 Pods {'█' * 10} 1 Node",
    ]


def test_a_long_histogram_has_ranges() -> None:
    assert histogram_rows({0: 1, 19: 2, 20: 3})[:1] == [("0-1", 1)]
    assert histogram_rows({0: 1, 19: 2, 20: 3})[-2:] == [("18-19", 2), ("20-21", 3)]


def test_metrics_are_chosen_by_pattern_in_order() -> None:
    exposition = "\n".join(
        [
            "# TYPE process_cpu_seconds_total counter",
            "process_cpu_seconds_total 1.5",
            'scheduler_pending_pods{queue="backoff"} 0.0',
            'scheduler_pending_pods{queue="gated"} 0.0',
            'scheduler_schedule_attempts_total{profile="berthmaster",result="scheduled"} 498.0',
        ]
    )

    assert select_metrics(exposition) == [
        'scheduler_schedule_attempts_total{profile="berthmaster",result="scheduled"} 498.0',
        'scheduler_pending_pods{queue="gated"} 0.0',
        "process_cpu_seconds_total 1.5",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("7.1000000000000005", "7.1"),
        ("0.00012345678901234", "0.000123457"),
        ("1234567.0", "1234567.0"),
        ("1.34053888e+08", "1.34053888e+08"),
    ],
)
def test_values_are_shown_without_the_dust_of_floating_point(value: str, shown: str) -> None:
    [line] = select_metrics(f"process_cpu_seconds_total {value}")
    assert line == f"process_cpu_seconds_total {shown}"
