"""The kubelet's own figures, cut out of its metrics."""

import pytest
from prometheus_client import CollectorRegistry, Metric, generate_latest

from node_agent.shell.kubelet.metrics import histogram_families
from node_agent.shell.kubelet.start_metrics import (
    MOST_BUCKETS,
    KubeletHistogram,
    KubeletMetrics,
    parse_metrics,
)
from tests.unit.node_agent.shell.kubelet.stub import START_METRICS


def test_what_is_wanted_is_found() -> None:
    found = parse_metrics(START_METRICS.encode())
    assert found.process_start_seconds == 1.78031e9
    assert list(found.histograms) == ["kubelet_pod_start_sli_duration_seconds"]
    assert found.histograms["kubelet_pod_start_sli_duration_seconds"] == KubeletHistogram(
        {"0.5": 1, "1": 3, "+Inf": 4}, 7.25
    )


def test_labels_and_numbers_of_other_kinds_are_left_out() -> None:
    text = (
        'kubelet_pod_start_duration_seconds_bucket{le="1"} many\n'
        "kubelet_pod_start_duration_seconds_bucket 3\n"
        'kubelet_pod_start_duration_seconds_bucket{node="n",le="1"} 3\n'
        "kubelet_pod_start_total_duration_seconds_sum{} 2\n"
    )
    found = parse_metrics(text.encode())
    assert found.histograms == {
        "kubelet_pod_start_duration_seconds": KubeletHistogram(),
        "kubelet_pod_start_total_duration_seconds": KubeletHistogram({}, 2),
    }


def shown(text: str) -> str:
    """Give what our own ``/metrics`` shows of a kubelet's."""

    class Collector:
        def collect(self) -> list[Metric]:
            return list(histogram_families(parse_metrics(text.encode()).histograms))

    registry = CollectorRegistry()
    registry.register(Collector())
    return generate_latest(registry).decode()


@pytest.mark.parametrize("bound", ["abc", "nan", "\\x", "1e"])
def test_a_bound_that_is_no_number_leaves_our_metrics_readable(bound: str) -> None:
    bucket = "kubelet_pod_start_duration_seconds_bucket"
    text = f'{bucket}{{le="{bound}"}} 1\n{bucket}{{le="0.5"}} 2\n{bucket}{{le="+Inf"}} 3\n'
    lines = [line for line in shown(text).splitlines() if f"{bucket}{{" in line]
    assert lines == [
        'berthmaster_kubelet_pod_start_duration_seconds_bucket{le="0.5"} 2.0',
        'berthmaster_kubelet_pod_start_duration_seconds_bucket{le="+Inf"} 3.0',
    ]


def test_a_histogram_without_end_is_cut_off() -> None:
    bucket = "kubelet_pod_start_duration_seconds_bucket"
    text = "".join(f'{bucket}{{le="{number}"}} 1\n' for number in range(10_000))
    (histogram,) = parse_metrics(text.encode()).histograms.values()
    assert len(histogram.buckets) == MOST_BUCKETS


@pytest.mark.parametrize("value", ["NaN", "+Inf", "soon"])
def test_a_start_that_is_no_time_is_none(value: str) -> None:
    assert parse_metrics(f"process_start_time_seconds {value}\n".encode()) == KubeletMetrics()


def test_nothing_is_there() -> None:
    assert parse_metrics(b"\xff\xfe").histograms == {}
