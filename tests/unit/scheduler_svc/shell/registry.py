"""Reads samples of metrics that a test has made."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Metric

from kubeio.instruments import LoopCollector


class Samples:
    """The samples of some metrics, by name and labels; to be made in an event loop."""

    def __init__(self, collect: Callable[[], list[Metric]]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(LoopCollector(collect))

    def __call__(self, name: str, /, **labels: str) -> float | None:
        """Give a sample's value, None if it is not shown."""
        return self._registry.get_sample_value(name, labels)
