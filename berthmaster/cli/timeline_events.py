"""The Events about one Pod, read once: the kubelet's and the Binding's, and failed attempts."""

from dataclasses import dataclass, field
from typing import Final

import msgspec

from berthmaster.cli.diagnosis.reading import Reader
from berthmaster.cli.timeline_attempts import FAILED_SCHEDULING, FailedEvent
from kubeio.client import KubeClient
from kubeio.errors import MalformedResponseError
from kubeio.resources import ResourcePath
from node_agent.core.journey.pulls import KubeletEvent, kubelet_event

_EVENTS: Final = ResourcePath("", "v1", "events")


class _Part(msgspec.Struct, rename="camel", frozen=True):
    """Base: camelCase on the wire; unknown fields are skipped."""


class _Involved(_Part, frozen=True):
    field_path: str = ""


class _Source(_Part, frozen=True):
    component: str = ""


class _Series(_Part, frozen=True):
    count: int = 0
    last_observed_time: str | None = None


class _Event(_Part, frozen=True):
    reason: str = ""
    message: str = ""
    count: int | None = None
    involved_object: _Involved = _Involved()
    reporting_component: str = ""
    source: _Source | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: _Series | None = None


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
    decoder = msgspec.json.Decoder(_Event)
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


def _of_way(event: _Event) -> KubeletEvent:
    return kubelet_event(
        event.reason,
        event.message,
        event.involved_object.field_path,
        event.first_timestamp or event.last_timestamp,
        event.event_time,
    )


def _failed(event: _Event) -> FailedEvent:
    """Read one of the new kind (eventTime, series), or of the old (count, two times)."""
    series = event.series or _Series()
    return FailedEvent(
        message=event.message,
        times=max(event.count or 0, series.count, 1),
        reporter=event.reporting_component or (event.source or _Source()).component,
        first=event.event_time or event.first_timestamp or event.last_timestamp,
        last=series.last_observed_time or event.last_timestamp or event.event_time,
    )
