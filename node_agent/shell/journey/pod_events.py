"""The Events about one Pod, asked for when they are needed.

Events cannot be selected by Node, so they are not watched: as many agents as there are nodes
would each be sent all of them. One list of one Pod's Events, once it has started, is enough.
"""

import logging
from typing import Final, Protocol

import msgspec

from kubeio.errors import KubeError, MalformedResponseError
from kubeio.logs import fields
from kubeio.resources import ResourcePath
from kubeio.response import Response
from node_agent.core.journey.pulls import KubeletEvent, kubelet_event

EVENTS: Final = ResourcePath("", "v1", "events")
TIMEOUT_SECONDS: Final = 10.0
LIMIT: Final = 200
"""Events of one Pod that are read; a healthy one has five for each container."""


class EventClient(Protocol):
    """What is needed of a client: `kubeio.client.KubeClient` is one."""

    async def call(
        self, method: str, path: str, /, *, params: dict[str, str], timeout_seconds: float
    ) -> Response:
        """Make one call, or raise a `KubeError`."""


class _Involved(msgspec.Struct, rename="camel", frozen=True):
    field_path: str = ""


class _Event(msgspec.Struct, rename="camel", frozen=True):
    reason: str = ""
    message: str = ""
    involved_object: _Involved = _Involved()
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None


class _EventList(msgspec.Struct):
    items: list[_Event] = []


_decode: Final = msgspec.json.Decoder(_EventList).decode
_logger = logging.getLogger(__name__)


class PodEvents:
    """Reads Events, and counts how that went; a change for the worse is logged once."""

    def __init__(self, client: EventClient) -> None:
        self._client = client
        self.counts = {"read": 0, "failed": 0}
        self.last_problem = ""

    async def read(self, namespace: str, uid: str) -> list[KubeletEvent] | None:
        """Give all Events about a Pod; None where they could not be read."""
        try:
            events = await list_events(self._client, namespace, uid)
        except KubeError as error:
            self.counts["failed"] += 1
            if not self.last_problem:
                _logger.warning("Events cannot be read", extra=fields(error=str(error)))
            self.last_problem = str(error)
            return None
        self.counts["read"] += 1
        self.last_problem = ""
        return events


async def list_events(client: EventClient, namespace: str, uid: str) -> list[KubeletEvent]:
    """List the Events about a Pod.

    Raises
    ------
    KubeError
        No list came.
    """
    response = await client.call(
        "GET",
        EVENTS.in_namespace(namespace).collection,
        params={"fieldSelector": f"involvedObject.uid={uid}", "limit": str(LIMIT)},
        timeout_seconds=TIMEOUT_SECONDS,
    )
    try:
        events = _decode(response.body).items
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedResponseError(f"LIST events: {error}") from error
    return [
        kubelet_event(
            event.reason,
            event.message,
            event.involved_object.field_path,
            event.first_timestamp or event.last_timestamp,
            event.event_time,
        )
        for event in events
    ]
