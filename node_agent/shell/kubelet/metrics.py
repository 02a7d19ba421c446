"""What a scrape shows of the kubelet and of the differences."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import Metric
from prometheus_client.core import HistogramMetricFamily

from kubeio.instruments import LabelValues, counter, gauge
from node_agent.core.clock import Now
from node_agent.core.divergence.divergences import Divergences
from node_agent.shell.kubelet import metric_table as table
from node_agent.shell.kubelet.endpoints import Endpoints
from node_agent.shell.kubelet.poller import KubeletPoller
from node_agent.shell.kubelet.start_metrics import KubeletHistogram


class KubeletGauges:
    """Computed when asked, from what was read last.

    Parameters
    ----------
    event_counts
        Gives how many Events were written, by result.
    """

    def __init__(
        self,
        poller: KubeletPoller,
        divergences: Divergences,
        *,
        read_now: Callable[[], Now],
        event_counts: Callable[[], dict[str, int]] = dict,
    ) -> None:
        self._poller = poller
        self._divergences = divergences
        self._read_now = read_now
        self._event_counts = event_counts

    def collect(self) -> list[Metric]:
        """Give all families."""
        seconds = self._read_now().monotonic_seconds
        differing = [
            ((d.finding.kind.value, d.finding.source), seconds - d.since_seconds)
            for d in self._divergences.confirmed()
        ]
        waiting = [
            ((cause.diagnosis.cause.value,), seconds - cause.since_seconds)
            for cause in self._divergences.causes().values()
        ]
        return [
            *_endpoints(self._poller.endpoints, seconds),
            gauge(table.KUBELET_PODS, [((s,), n) for s, n in self._poller.pod_counts.items()]),
            counter(table.RESTARTS, [((), self._poller.restart_count)]),
            gauge(table.DIVERGENCES, _counts(differing)),
            gauge(table.DIVERGENCE_AGE, _oldest(differing)),
            gauge(table.NOT_RUNNING, _counts(waiting)),
            gauge(table.NOT_RUNNING_AGE, _oldest(waiting)),
            counter(table.EVENTS, [((r,), n) for r, n in self._event_counts().items()]),
            *histogram_families(self._poller.metrics.histograms),
        ]


def _endpoints(endpoints: Endpoints, seconds: float) -> Iterator[Metric]:
    states = endpoints.states.items()
    yield gauge(table.UP, [((name,), float(state.is_up)) for name, state in states])
    yield gauge(
        table.AGE,
        [
            ((name,), seconds - state.last_read_at)
            for name, state in states
            if state.last_read_at is not None
        ],
    )


def _counts(items: Iterable[tuple[LabelValues, float]]) -> list[tuple[LabelValues, float]]:
    counts: dict[LabelValues, float] = {}
    for labels, _ in items:
        counts[labels] = counts.get(labels, 0) + 1
    return list(counts.items())


def _oldest(items: Iterable[tuple[LabelValues, float]]) -> list[tuple[LabelValues, float]]:
    oldest: dict[LabelValues, float] = {}
    for labels, age in items:
        oldest[labels] = max(age, oldest.get(labels, 0.0))
    return list(oldest.items())


def histogram_families(histograms: dict[str, KubeletHistogram]) -> Iterator[Metric]:
    """Show the kubelet's own figures as it showed them."""
    for name, histogram in histograms.items():
        if "+Inf" not in histogram.buckets:
            continue
        family = HistogramMetricFamily(
            f"{table.START_PREFIX}{name}", f"The kubelet's own {name}, as it was last read."
        )
        family.add_metric((), list(histogram.buckets.items()), sum_value=histogram.sum)
        yield family
