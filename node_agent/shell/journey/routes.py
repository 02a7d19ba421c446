"""The agent's answers about Pods: ``/pods`` and ``/pods/<namespace>/<name>/timeline``."""

from typing import Final

import msgspec
from aiohttp import web

from node_agent.core.divergence.divergences import Divergences
from node_agent.core.journey.journey import Journey
from node_agent.core.journey.journeys import Journeys
from node_agent.core.journey.marks import best_marks
from node_agent.core.journey.timeline import Timeline, View, timeline_of
from node_agent.core.timestamps import format_nanoseconds
from node_agent.shell.attachments import Route

PODS: Final = "/pods"
TIMELINE: Final = "/pods/{namespace}/{name}/timeline"


class PodSummary(View, frozen=True):
    """One line of ``/pods``: how far a Pod has come, and since when."""

    namespace: str
    name: str
    uid: str
    source: str
    live: bool
    measured: bool
    step: str | None = None
    at: str | None = None
    cause: str | None = None


class PodSummaries(View, frozen=True):
    """The answer of ``/pods``: live Pods first, then those that are gone, from old to new."""

    node: str
    pods: list[PodSummary]


class JourneyRoutes:
    """Answers from what is kept, at the moment it is asked.

    Parameters
    ----------
    node_name
        Shown in answers.
    divergences
        Asked why a Pod does not run; None where the agent does not ask its kubelet.
    """

    def __init__(
        self, journeys: Journeys, divergences: Divergences | None, *, node_name: str
    ) -> None:
        self._journeys = journeys
        self._divergences = divergences
        self._node_name = node_name

    def routes(self) -> list[Route]:
        """Give what is to be served."""
        return [("GET", PODS, self._serve_pods), ("GET", TIMELINE, self._serve_timeline)]

    def summaries(self) -> PodSummaries:
        """Give all Pods. Cost: 20 µs for each."""
        live = {id(journey) for journey in self._journeys.live()}
        return PodSummaries(
            node=self._node_name,
            pods=[self._summary(j, is_live=id(j) in live) for j in self._journeys.all()],
        )

    def timeline(self, namespace: str, name: str) -> Timeline | None:
        """Give a Pod's timeline; None where none is kept."""
        journey = self._journeys.named(namespace, name)
        if journey is None:
            return None
        cause = None
        if self._divergences is not None:
            cause = self._divergences.cause_of(journey.identity.uid)
        return timeline_of(
            journey,
            node_name=self._node_name,
            skew=self._journeys.skew.estimate(),
            cause=None if cause is None else cause.diagnosis.cause.value,
            cause_detail=None if cause is None else cause.diagnosis.detail,
        )

    def _summary(self, journey: Journey, *, is_live: bool) -> PodSummary:
        identity = journey.identity
        last = next(reversed(best_marks(journey.marks).values()), None)
        cause = None
        if self._divergences is not None:
            cause = self._divergences.cause_of(identity.uid)
        return PodSummary(
            namespace=identity.namespace,
            name=identity.name,
            uid=identity.uid,
            source=identity.source,
            live=is_live,
            measured=journey.is_measured and not journey.clock_was_set,
            step=None if last is None else last.step.value,
            at=None if last is None else format_nanoseconds(last.at_nanoseconds),
            cause=None if cause is None else cause.diagnosis.cause.value,
        )

    async def _serve_pods(self, _: web.Request) -> web.Response:
        return _json(self.summaries())

    async def _serve_timeline(self, request: web.Request) -> web.Response:
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        timeline = self.timeline(namespace, name)
        if timeline is None:
            text = (
                f"no Pod {name!r} in namespace {namespace!r} was seen on node {self._node_name!r}\n"
            )
            return web.Response(status=404, text=text)
        return _json(timeline)


def _json(value: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
