"""Counts and times calls to the API server, in our words and in client-go's."""

from typing import Final

from prometheus_client import Metric

from kubeio import metric_table as table
from kubeio.instruments import Counter, Histogram, HistogramSeries, counter

_WATCH: Final = "WATCH"
_GET: Final = "GET"


class ApiCallMetrics:
    """Is told of every call: a `kubeio.response.CallObserver`.

    `host` is the API server's, for client-go's metrics.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._calls = Counter(table.API_CALLS)
        self._seconds = Histogram(table.API_CALL_SECONDS)
        self._client_seconds = Histogram(table.CLIENT_SECONDS)
        self._series: dict[tuple[str, str], HistogramSeries] = {}
        self._client_series: dict[str, HistogramSeries] = {}

    def observe(self, verb: str, resource: str, code: str, seconds: float, /) -> None:
        """Note one call. Cost: 1 µs."""
        self._calls.add((verb, resource, code))
        series = self._series.get((verb, resource))
        if series is None:
            labels = (verb, resource)
            series = self._series[labels] = self._seconds.series(labels)
        series.observe(seconds)
        if verb == _WATCH:  # lasts for minutes: no latency
            return
        series = self._client_series.get(verb)
        if series is None:
            series = self._client_series[verb] = self._client_seconds.series((verb, self._host))
        series.observe(seconds)

    def collect(self) -> list[Metric]:
        """Give all families."""
        requests: dict[tuple[str, str, str], float] = {}
        for (verb, _, code), count in self._calls.items():
            labels = (code, self._host, _GET if verb == _WATCH else verb)
            requests[labels] = requests.get(labels, 0) + count
        return [
            self._calls.collect(),
            self._seconds.collect(),
            counter(table.CLIENT_REQUESTS, requests.items()),
            self._client_seconds.collect(),
        ]
