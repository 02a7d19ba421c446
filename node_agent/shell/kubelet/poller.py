"""Asks the kubelet, its directories and the Events when something is to be learnt from them.

Once a second it looks whether anything is due. At rest that is the kubelet's Pods every ten
seconds and its metrics every minute; a Pod that has just come makes it ask for Pods each
second until the kubelet shows it, since the kubelet forgets when it saw a Pod once that is gone.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from kubeio.errors import KubeError
from node_agent.core.clock import NANOSECONDS, Now
from node_agent.core.divergence.causes import Cause
from node_agent.core.divergence.divergences import Divergences
from node_agent.core.divergence.kubelet_view import KubeletView
from node_agent.core.journey.journey import Journey
from node_agent.core.journey.journeys import Journeys
from node_agent.core.journey.marks import MarkKind
from node_agent.core.operations import Source
from node_agent.shell.journey.file_times import DirectoryTimes
from node_agent.shell.journey.pod_events import PodEvents
from node_agent.shell.kubelet.client import KubeletClient, KubeletConfiguration
from node_agent.shell.kubelet.divergence_events import DivergenceEvents
from node_agent.shell.kubelet.endpoints import Endpoints
from node_agent.shell.kubelet.start_metrics import KubeletMetrics

TICK_SECONDS: Final = 1.0
URGENT_SECONDS: Final = 60.0
"""So long after the agent saw a Pod the kubelet is asked each second whether it has."""
METRICS_SECONDS: Final = 60.0
CONFIGURATION_SECONDS: Final = 300.0
EVENT_LISTS_PER_TICK: Final = 4
EVENTS_AGAIN_SECONDS: Final = 60.0
"""Between two lists of one stuck Pod's Events, and after a list that failed."""
STARTED_LISTS: Final = 3
STARTED_AGAIN_SECONDS: Final = 3.0
"""So often, and so far apart, the Events of a Pod that has started are listed: those about its
images may come a moment later. All is over before its figures settle."""
_MANIFEST_PERIODS: Final = 1.5
_EVENTS_TELL: Final = frozenset((Cause.VOLUMES_OR_SANDBOX, Cause.IMAGE_PULL_OR_CREATION))


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """What may be read and written; None where it may not."""

    kubelet: KubeletClient | None = None
    directories: DirectoryTimes | None = None
    events: PodEvents | None = None
    event_writer: DivergenceEvents | None = None


class KubeletPoller:
    """Tells `Journeys` and `Divergences` what it reads.

    Parameters
    ----------
    interval_seconds
        Between two looks at the kubelet's Pods at rest.
    """

    def __init__(
        self,
        readers: Readers,
        journeys: Journeys,
        divergences: Divergences,
        *,
        read_now: Callable[[], Now],
        interval_seconds: float = 10.0,
    ) -> None:
        self._readers = readers
        self._journeys = journeys
        self._divergences = divergences
        self._read_now = read_now
        self._interval_seconds = interval_seconds
        self._due = {"pods": 0.0, "metrics": 0.0, "configz": 0.0, "events": 0.0}
        self._event_lists: dict[str, deque[float]] = {}
        self.endpoints = Endpoints()
        self.metrics = KubeletMetrics()
        self.configuration: KubeletConfiguration | None = None
        self.pod_counts: dict[str, int] = {}
        self.restart_count = 0

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self.tick()
            await asyncio.sleep(TICK_SECONDS)

    async def tick(self) -> None:
        """Do what is due."""
        now = self._read_now()
        await self._read_pods(now)
        if self._readers.kubelet is not None:
            await self._read_metrics(self._readers.kubelet, now)
            await self._read_configuration(self._readers.kubelet, now)
        await self._read_directories()
        await self._read_events(now)
        await self._write_events()
        self._journeys.expire(self._read_now())

    async def _read_pods(self, now: Now) -> None:
        if not self._is_due("pods", now, self._interval_seconds) and not self._is_urgent(now):
            return
        kubelet = self._readers.kubelet
        if kubelet is None:
            self._divergences.judge(now)
            return
        try:
            pods = await kubelet.pods()
        except KubeError as error:
            self.endpoints.failed("pods", error)
            is_reachable = self.endpoints.states["pods"].is_refused
            self._divergences.kubelet_failed(self._read_now(), is_reachable=is_reachable)
            return
        read = self._read_now()
        self.endpoints.succeeded("pods", read.monotonic_seconds)
        running = await self._running_uids(kubelet)
        view = KubeletView(pods, now, running)
        self.pod_counts = view.count_by_source()
        self._journeys.kubelet_listed(pods, read)
        self._divergences.kubelet_read(view, read)

    async def _running_uids(self, kubelet: KubeletClient) -> frozenset[str] | None:
        try:
            uids = await kubelet.running_uids()
        except KubeError as error:
            self.endpoints.failed("runningpods", error)
            return None
        self.endpoints.succeeded("runningpods", self._read_now().monotonic_seconds)
        return uids

    async def _read_metrics(self, kubelet: KubeletClient, now: Now) -> None:
        if not self._is_due("metrics", now, METRICS_SECONDS):
            return
        try:
            metrics = await kubelet.metrics()
        except KubeError as error:
            self.endpoints.failed("metrics", error)
            return
        self.endpoints.succeeded("metrics", self._read_now().monotonic_seconds)
        before, after = self.metrics.process_start_seconds, metrics.process_start_seconds
        if before is not None and after is not None and before != after:
            self.restart_count += 1
        self.metrics = metrics

    async def _read_configuration(self, kubelet: KubeletClient, now: Now) -> None:
        if not self._is_due("configz", now, CONFIGURATION_SECONDS):
            return
        try:
            self.configuration = await kubelet.configuration()
        except KubeError as error:
            self.endpoints.failed("configz", error)
            return
        self.endpoints.succeeded("configz", self._read_now().monotonic_seconds)
        self._divergences.limits = msgspec.structs.replace(
            self._divergences.limits,
            manifest=_MANIFEST_PERIODS * self.configuration.manifest_seconds,
        )

    async def _read_directories(self) -> None:
        directories = self._readers.directories
        if directories is None:
            return
        for journey in [j for j in self._journeys.live() if not j.are_files_read]:
            kubelet_uid = self._journeys.kubelet_uid(journey)
            if kubelet_uid is None:
                continue
            uid = journey.identity.uid
            times = await asyncio.to_thread(directories.read, journey.identity, kubelet_uid)
            self._journeys.files_read(uid, times, self._read_now())
            if directories.sees_logs:
                self._divergences.files_read(uid, times)

    async def _read_events(self, now: Now) -> None:
        """Read the Events of Pods that have started, and of those that are stuck."""
        reader = self._readers.events
        if reader is None or now.monotonic_seconds < self._due["events"]:
            return
        for journey in self._wanting_events(now)[:EVENT_LISTS_PER_TICK]:
            identity = journey.identity
            events = await reader.read(identity.namespace, identity.uid)
            if events is None:
                self._due["events"] = now.monotonic_seconds + EVENTS_AGAIN_SECONDS
                return
            lists = self._event_lists.setdefault(identity.uid, deque(maxlen=STARTED_LISTS))
            lists.append(now.monotonic_seconds)
            self._journeys.events_read(identity.uid, events, self._read_now())
            self._divergences.events_read(identity.uid, [event.reason for event in events])

    def _wanting_events(self, now: Now) -> list[Journey]:
        causes = self._divergences.causes()
        live = {journey.identity.uid: journey for journey in self._journeys.live()}
        for uid in self._event_lists.keys() - live.keys():
            del self._event_lists[uid]
        wanting = []
        for uid, journey in live.items():
            if journey.identity.source != Source.API or journey.are_events_read:
                continue
            started = journey.marks.get(MarkKind.STARTED_WATCH) if journey.is_measured else None
            is_stuck = uid in causes and causes[uid].diagnosis.cause in _EVENTS_TELL
            if started is not None:
                is_due = self._are_started_events_due(uid, started, now)
            else:
                is_due = is_stuck and self._event_age(uid, now) >= EVENTS_AGAIN_SECONDS
            if is_due:
                wanting.append(journey)
        return wanting

    def _are_started_events_due(self, uid: str, started_nanoseconds: int, now: Now) -> bool:
        """Whether a Pod that has started is to have its Events listed, for the images."""
        since = now.monotonic_seconds - (now.wall_nanoseconds - started_nanoseconds) / NANOSECONDS
        lists = [at for at in self._event_lists.get(uid, ()) if at >= since]
        return len(lists) < STARTED_LISTS and self._event_age(uid, now) >= STARTED_AGAIN_SECONDS

    def _event_age(self, uid: str, now: Now) -> float:
        """Give for how many seconds a Pod's Events have not been listed; without end if never."""
        lists = self._event_lists.get(uid)
        return now.monotonic_seconds - lists[-1] if lists else float("inf")

    async def _write_events(self) -> None:
        writer = self._readers.event_writer
        if writer is None:
            return
        now = self._read_now()
        for divergence in self._divergences.take_untold(now):
            await writer.write(divergence, now)

    def _is_due(self, name: str, now: Now, interval_seconds: float) -> bool:
        if now.monotonic_seconds < self._due[name]:
            return False
        self._due[name] = now.monotonic_seconds + interval_seconds
        return True

    def _is_urgent(self, now: Now) -> bool:
        """Whether a Pod has just come that the kubelet has not shown yet."""
        earliest = now.wall_nanoseconds - round(URGENT_SECONDS * NANOSECONDS)
        return any(
            MarkKind.KUBELET_SEEN not in journey.marks
            and journey.marks.get(MarkKind.AGENT_SEEN, 0) >= earliest
            for journey in self._journeys.live()
        )
