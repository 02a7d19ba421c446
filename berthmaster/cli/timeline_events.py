"""The Events about one Pod, read once: the kubelet's and the Binding's, and failed attempts."""

from dataclasses import dataclass, field
from typing import Final

import msgspec

from berthmaster.cli.diagnosis import wire
from berthmaster.cli.diagnosis.events import last_time, times_seen
from berthmaster.cli.diagnosis.reading import Reader
from berthmaster.cli.timeline_attempts import FAILED_SCHEDULING, FailedEvent
from kubeio.client import KubeClient
from kubeio.errors import MalformedResponseError
from kubeio.resources import ResourcePath
from node_agent.core.journey.pulls import KubeletEvent, kubelet_event

_EVENTS: Final = ResourcePath("", "v1", "events")


@dataclass(frozen=True, slots=True)
class EventsOfPod:
    """What Events tell of a Pod: its way, and attempts to schedule it that failed."""

    way: list[KubeletEvent] = field(default_factory=list)
    failed: list[FailedEvent] = field(default_factory=list)


async def read_events(client: KubeClient, namespace: str, uid: str) -> EventsOfPod:
    """List all Events about a Pod.

    Raises
    ------
    KubeError
        They cannot be listed, or are none.
    """
    found = EventsOfPod()
    decoder = msgspec.json.Decoder(wire.Event)
    pages = Reader(client).pages(
        _EVENTS.in_namespace(namespace), field_selector=f"involvedObject.uid={uid}"
    )
    async for page in pages:
        for raw in page:
            try:
                event = decoder.decode(raw)
            except msgspec.DecodeError as error:
                raise MalformedResponseError(f"LIST events: {error}") from error
            found.way.append(_of_way(event))
            if event.reason == FAILED_SCHEDULING:
                found.failed.append(_failed(event))
    return found


def _of_way(event: wire.Event) -> KubeletEvent:
    return kubelet_event(
        event.reason,
        event.message,
        event.involved_object.field_path,
        event.first_timestamp or event.last_timestamp,
        event.event_time,
    )


def _failed(event: wire.Event) -> FailedEvent:
    source = event.source.component if event.source else ""
    return FailedEvent(
        message=event.message,
        times=times_seen(event),
        reporter=event.reporting_component or source,
        first=event.event_time or event.first_timestamp or event.last_timestamp,
        last=last_time(event),
    )
