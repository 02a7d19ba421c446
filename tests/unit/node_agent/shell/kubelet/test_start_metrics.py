"""The kubelet's own figures, cut out of its metrics."""

from node_agent.shell.kubelet.start_metrics import KubeletHistogram, parse_metrics
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


def test_nothing_is_there() -> None:
    assert parse_metrics(b"\xff\xfe").histograms == {}
