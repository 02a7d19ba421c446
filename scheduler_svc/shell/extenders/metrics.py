"""How long extenders take, and how often they fail."""

from prometheus_client import Metric

from kubeio.instruments import Counter, Histogram
from scheduler_svc.shell.metrics import metric_table as table


class ExtenderMetrics:
    """By extender, which is its URL, and by what it was asked to do."""

    def __init__(self) -> None:
        self._seconds = Histogram(table.EXTENDER_SECONDS)
        self._errors = Counter(table.EXTENDER_ERRORS)

    def observe(self, extender: str, verb: str, seconds: float, *, is_error: bool) -> None:
        """Note a call and its outcome."""
        self._seconds.series((extender, verb)).observe(seconds)
        self._errors.add((extender, verb), int(is_error))

    def collect(self) -> list[Metric]:
        """Give both families."""
        return [self._seconds.collect(), self._errors.collect()]
