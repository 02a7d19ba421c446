"""The few of a kubelet's metrics that are shown beside ours, cut out of its thousands of lines.

Source: pkg/kubelet/metrics/metrics.go, v1.36.3; the text format of Prometheus.
"""

import math
import re
from typing import Final

import msgspec

START_HISTOGRAMS: Final = (
    "kubelet_pod_start_sli_duration_seconds",
    "kubelet_pod_start_total_duration_seconds",
    "kubelet_pod_start_duration_seconds",
)
_PROCESS_START: Final = "process_start_time_seconds"
MOST_BUCKETS: Final = 100
"""Of one histogram; the kubelet's have 22. What has more is not the kubelet's."""
_LINE: Final = re.compile(
    rf"^(?:({'|'.join(START_HISTOGRAMS)})_(bucket|sum|count)|({_PROCESS_START}))"
    r'(?:\{(?:le="([^"]+)")?\})? (\S+)',
    re.MULTILINE,
)


class KubeletHistogram(msgspec.Struct, gc=False):
    """A histogram as a kubelet shows it: cumulative counts by upper bound, and their sum."""

    buckets: dict[str, float] = {}
    sum: float = 0.0


class KubeletMetrics(msgspec.Struct, gc=False):
    """What was found; `process_start_seconds` (Unix time) is None where it is not shown."""

    histograms: dict[str, KubeletHistogram] = {}
    process_start_seconds: float | None = None


def parse_metrics(body: bytes) -> KubeletMetrics:
    """Find what is wanted in the text of ``/metrics``; lines that cannot be read are left out.

    What is shown again has to be right: one bound that is no number, and nobody could read
    anything of ours any more.
    """
    found = KubeletMetrics()
    for name, part, is_start, bound, text in _LINE.findall(body.decode("utf-8", "replace")):
        value = _number(text)
        if value is None or not math.isfinite(value):
            continue
        if is_start:
            found.process_start_seconds = value
            continue
        histogram = found.histograms.setdefault(name, KubeletHistogram())
        if part == "bucket" and bound:
            _add_bucket(histogram.buckets, bound, value)
        elif part == "sum":
            histogram.sum = value
    return found


def _add_bucket(buckets: dict[str, float], bound: str, value: float) -> None:
    number = _number(bound)
    is_usable = number is not None and not math.isnan(number)
    if is_usable and (bound in buckets or len(buckets) < MOST_BUCKETS):
        buckets[bound] = value


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
