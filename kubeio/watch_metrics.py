"""What reflectors have lived through, as metrics."""

from collections.abc import Callable, Mapping
from typing import Any

from prometheus_client import Metric

from kubeio import metric_table as table
from kubeio.instruments import counter, gauge
from kubeio.reflector import Reflector


class WatchMetrics:
    """The age and the history of each view, by the name of its resource."""

    def __init__(self, reflectors: Mapping[str, Reflector[Any]]) -> None:
        self._reflectors = reflectors

    def collect(self) -> list[Metric]:
        """Give the families."""
        reflectors = self._reflectors
        statistics = {name: r.statistics for name, r in reflectors.items()}

        def by_resource(value: Callable[[Reflector[Any]], float | None]) -> Any:
            found = ((name, value(reflector)) for name, reflector in reflectors.items())
            return [((name,), number) for name, number in found if number is not None]

        return [
            gauge(table.WATCHED_OBJECTS, by_resource(lambda r: r.statistics.object_count)),
            gauge(table.WATCH_BYTE_AGE, by_resource(lambda r: r.last_byte_age_seconds())),
            gauge(table.WATCH_EVENT_AGE, by_resource(lambda r: r.last_event_age_seconds())),
            counter(table.WATCH_EVENTS, by_resource(lambda r: r.statistics.event_count)),
            counter(
                table.LISTS,
                [((name, why), n) for name, s in statistics.items() for why, n in s.lists.items()],
            ),
            counter(
                table.ENDINGS,
                [
                    ((name, why), n)
                    for name, s in statistics.items()
                    for why, n in s.endings.items()
                ],
            ),
            counter(
                table.DECODE_FAILURES, by_resource(lambda r: r.statistics.decode_failure_count)
            ),
            gauge(table.UNDECODABLE, by_resource(lambda r: r.statistics.undecodable_count)),
        ]
