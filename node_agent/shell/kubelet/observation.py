"""Everything that the agent learns beside its shadow of the kubelet, put together.

The process gives it what it needs, attaches `observers` to the `NodeAgent`, serves `routes`,
registers `collect`, and runs `run` beside its own loop, in the same event loop.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack

from prometheus_client import Metric

from kubeio.client import KubeClient
from node_agent.core.clock import Now
from node_agent.core.divergence.divergences import DivergenceLimits, Divergences
from node_agent.core.journey.journeys import Journeys
from node_agent.core.observer import PodObserver
from node_agent.core.operations import Source
from node_agent.shell.attachments import Route
from node_agent.shell.clock import read_now
from node_agent.shell.journey.file_times import DirectoryTimes
from node_agent.shell.journey.metrics import JourneyGauges, JourneyMetrics
from node_agent.shell.journey.pod_events import PodEvents
from node_agent.shell.journey.routes import JourneyRoutes
from node_agent.shell.journey.skew_probe import SkewProbe
from node_agent.shell.kubelet.client import KubeletClient
from node_agent.shell.kubelet.divergence_events import DivergenceEvents
from node_agent.shell.kubelet.divergence_routes import DivergenceRoutes
from node_agent.shell.kubelet.metrics import KubeletGauges
from node_agent.shell.kubelet.poller import KubeletPoller, Readers
from node_agent.shell.observation_options import ObservationOptions
from node_agent.shell.pod_source import RefusedManifests


class Observation:
    """Journeys, comparisons with the kubelet, and how both are shown.

    Parameters
    ----------
    node_name
        This node's.
    api
        Of the API server.
    kubelet
        Of the kubelet (`login.for_kubelet`), closed when the work ends; None for not asking it.
    sources
        The agent's.
    refused
        Manifests that give no Pod now, by source: shown with what differs.
    """

    def __init__(
        self,
        options: ObservationOptions,
        *,
        node_name: str,
        api: KubeClient,
        kubelet: KubeClient | None,
        sources: Iterable[Source],
        refused: Mapping[str, RefusedManifests] | None = None,
        read_now: Callable[[], Now] = read_now,
    ) -> None:
        self._metrics = JourneyMetrics()
        self.journeys = Journeys(self._metrics, finished_limit=options.finished_limit)
        limits = DivergenceLimits(tell_after=options.write_events_after_seconds)
        self.divergences = Divergences(sources, limits)
        self._events = PodEvents(api) if options.read_events else None
        self._writer = DivergenceEvents(api, node_name) if options.write_events else None
        directories = None
        if options.kubelet_pods_path or options.pod_logs_path:
            directories = DirectoryTimes(options.kubelet_pods_path, options.pod_logs_path)
        self.poller = KubeletPoller(
            Readers(
                kubelet=None if kubelet is None else KubeletClient(kubelet),
                directories=directories,
                events=self._events,
                event_writer=self._writer,
            ),
            self.journeys,
            self.divergences,
            read_now=read_now,
            interval_seconds=options.poll_seconds,
        )
        self._probe = SkewProbe(api, self.journeys.skew, read_now)
        self._kubelet = kubelet
        self._refused = refused or {}
        self._journey_gauges = JourneyGauges(
            self.journeys, lambda: {} if self._events is None else self._events.counts
        )
        self._kubelet_gauges = KubeletGauges(
            self.poller,
            self.divergences,
            read_now=read_now,
            event_counts=lambda: {} if self._writer is None else self._writer.counts,
        )
        self._node_name = node_name
        self._read_now = read_now

    @property
    def observers(self) -> tuple[PodObserver, ...]:
        """What a `NodeAgent` is to tell of its operations."""
        return self.journeys, self.divergences

    def routes(self) -> list[Route]:
        """Give method, path and handler of each route, for `HttpsServer.add_route`."""
        return [
            *JourneyRoutes(self.journeys, self.divergences, node_name=self._node_name).routes(),
            *DivergenceRoutes(
                self.divergences, self.poller, self._refused, read_now=self._read_now
            ).routes(),
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
        async with AsyncExitStack() as stack:
            if self._kubelet is not None:
                await stack.enter_async_context(self._kubelet)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.poller.run())
                tasks.create_task(self._probe.run())
