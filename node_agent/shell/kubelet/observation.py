"""Everything that the agent learns beside its shadow of the kubelet, put together.

The process gives it what it needs, attaches `observers` to the `NodeAgent`, serves `routes`,
registers `collect`, and runs `run` beside its own loop, in the same event loop.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prometheus_client import Metric

from kubeio.client import KubeClient
from node_agent.core.clock import Now
from node_agent.core.divergence.divergences import Divergences
from node_agent.core.journey.journeys import FINISHED_LIMIT, Journeys
from node_agent.core.observer import PodObserver
from node_agent.core.operations import Source
from node_agent.shell.clock import read_now
from node_agent.shell.journey.file_times import DirectoryTimes
from node_agent.shell.journey.metrics import JourneyGauges, JourneyMetrics
from node_agent.shell.journey.pod_events import PodEvents
from node_agent.shell.journey.routes import JourneyRoutes, Route
from node_agent.shell.journey.skew_probe import SkewProbe
from node_agent.shell.kubelet.client import KubeletClient
from node_agent.shell.kubelet.divergence_events import DivergenceEvents
from node_agent.shell.kubelet.divergence_routes import DivergenceRoutes
from node_agent.shell.kubelet.metrics import KubeletGauges
from node_agent.shell.kubelet.poller import KubeletPoller, Readers


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationOptions:
    """What is read and told.

    Attributes
    ----------
    node_name
        This node's.
    poll_seconds
        Between two looks at the kubelet's Pods at rest.
    directories
        Where the kubelet's directories are, None for not reading them.
    read_events
        Whether Events are read, for image pulls and causes: ``list`` on ``events``.
    write_events
        Whether Events are written about what differs: ``create`` on ``events``.
    finished_limit
        Journeys kept of Pods that are gone.
    """

    node_name: str
    poll_seconds: float = 10.0
    directories: DirectoryTimes | None = None
    read_events: bool = False
    write_events: bool = False
    finished_limit: int = FINISHED_LIMIT


class Observation:
    """Journeys, comparisons with the kubelet, and how both are shown.

    Parameters
    ----------
    api
        Of the API server; None where there is none (a standalone kubelet).
    kubelet
        Of the kubelet (`login.kubelet_credentials`); None where it is not asked.
    sources
        The agent's.
    """

    def __init__(
        self,
        options: ObservationOptions,
        *,
        api: KubeClient | None,
        kubelet: KubeClient | None,
        sources: Iterable[Source],
        read_now: Callable[[], Now] = read_now,
    ) -> None:
        self._metrics = JourneyMetrics()
        self.journeys = Journeys(self._metrics, finished_limit=options.finished_limit)
        self.divergences = Divergences(sources)
        self._events = PodEvents(api) if api is not None and options.read_events else None
        self._writer: DivergenceEvents | None = None
        if api is not None and options.write_events:
            self._writer = DivergenceEvents(api, options.node_name)
        self.poller = KubeletPoller(
            Readers(
                kubelet=None if kubelet is None else KubeletClient(kubelet),
                directories=options.directories,
                events=self._events,
                event_writer=self._writer,
            ),
            self.journeys,
            self.divergences,
            read_now=read_now,
            interval_seconds=options.poll_seconds,
        )
        self._probe = None if api is None else SkewProbe(api, self.journeys.skew, read_now)
        self._journey_gauges = JourneyGauges(
            self.journeys, lambda: {} if self._events is None else self._events.counts
        )
        self._kubelet_gauges = KubeletGauges(
            self.poller,
            self.divergences,
            read_now=read_now,
            event_counts=lambda: {} if self._writer is None else self._writer.counts,
        )
        self._node_name = options.node_name
        self._read_now = read_now

    @property
    def observers(self) -> tuple[PodObserver, ...]:
        """What a `NodeAgent` is to tell of its operations."""
        return self.journeys, self.divergences

    def routes(self) -> list[Route]:
        """Give method, path and handler of each route, for `HttpsServer.add_route`."""
        return [
            *JourneyRoutes(self.journeys, self.divergences, node_name=self._node_name).routes(),
            *DivergenceRoutes(self.divergences, self.poller, read_now=self._read_now).routes(),
        ]

    def collect(self) -> list[Metric]:
        """Give all metric families; to be called in the event loop."""
        return [
            *self._metrics.collect(),
            *self._journey_gauges.collect(),
            *self._kubelet_gauges.collect(),
        ]

    async def run(self) -> None:
        """Read what is to be read until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.poller.run())
            if self._probe is not None:
                tasks.create_task(self._probe.run())
