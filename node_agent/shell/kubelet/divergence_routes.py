"""``/divergences``: what differs now, why Pods do not run, and what of the kubelet can be read."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from aiohttp import web

from node_agent.core.clock import Now
from node_agent.core.divergence.divergences import Divergences
from node_agent.core.journey.timeline import View
from node_agent.shell.attachments import Route
from node_agent.shell.kubelet.poller import KubeletPoller
from node_agent.shell.pod_source import RefusedManifests, shown_place

DIVERGENCES: Final = "/divergences"


class DivergenceView(View, frozen=True):
    """A lasting difference."""

    kind: str
    source: str
    namespace: str
    name: str
    uid: str
    detail: str
    age_seconds: float


class WaitingView(View, frozen=True):
    """A Pod that does not run, and why."""

    namespace: str
    name: str
    uid: str
    cause: str
    detail: str
    age_seconds: float


class EndpointView(View, frozen=True):
    """What an endpoint of the kubelet answered when last asked."""

    up: bool
    age_seconds: float | None = None
    problem: str | None = None


class RefusedView(View, frozen=True):
    """A manifest that gives no Pod."""

    source: str
    place: str
    reason: str
    message: str


class DivergencesView(View, frozen=True):
    """The whole answer."""

    divergences: list[DivergenceView]
    not_running: list[WaitingView]
    refused_manifests: list[RefusedView]
    kubelet: dict[str, EndpointView]
    static_pod_path: str | None = None
    static_pod_url: str | None = None


class DivergenceRoutes:
    """Answers from what was read last."""

    def __init__(
        self,
        divergences: Divergences,
        poller: KubeletPoller,
        refused: Mapping[str, RefusedManifests],
        *,
        read_now: Callable[[], Now],
    ) -> None:
        self._refused = refused
        self._divergences = divergences
        self._poller = poller
        self._read_now = read_now

    def routes(self) -> list[Route]:
        """Give what is to be served."""
        return [("GET", DIVERGENCES, self._serve)]

    def view(self) -> DivergencesView:
        """Give everything as it is now."""
        seconds = self._read_now().monotonic_seconds
        configuration = self._poller.configuration
        return DivergencesView(
            divergences=[
                DivergenceView(
                    kind=d.finding.kind.value,
                    source=d.finding.source,
                    namespace=d.finding.namespace,
                    name=d.finding.name,
                    uid=d.finding.uid,
                    detail=d.finding.detail,
                    age_seconds=seconds - d.since_seconds,
                )
                for d in self._divergences.confirmed()
            ],
            not_running=[
                WaitingView(
                    namespace=cause.namespace,
                    name=cause.name,
                    uid=uid,
                    cause=cause.diagnosis.cause.value,
                    detail=cause.diagnosis.detail,
                    age_seconds=seconds - cause.since_seconds,
                )
                for uid, cause in self._divergences.causes().items()
            ],
            refused_manifests=[
                RefusedView(
                    source=source,
                    place=shown_place(place),
                    reason=refusal.reason.value,
                    message=refusal.message,
                )
                for source, manifests in self._refused.items()
                for place, refusal in manifests.by_place.items()
            ],
            kubelet={
                name: EndpointView(
                    up=state.is_up,
                    age_seconds=None
                    if state.last_read_at is None
                    else seconds - state.last_read_at,
                    problem=state.last_problem or None,
                )
                for name, state in self._poller.endpoints.states.items()
            },
            static_pod_path=None if configuration is None else configuration.static_pod_path,
            static_pod_url=None if configuration is None else configuration.static_pod_url,
        )

    async def _serve(self, _: web.Request) -> web.Response:
        body = msgspec.json.encode(self.view())
        return web.Response(body=body, content_type="application/json")
