"""An ``events.k8s.io/v1`` Event as it is sent.

Names are the Pod's name and a number in hex: the nanosecond, made unique. We choose them,
so that an Event whose answer was lost can be sent again and is not written twice.

Source: client-go tools/events/{event_recorder,event_broadcaster}.go, v0.36.3.
"""

from typing import Final

import msgspec

from scheduler_svc.core.effects import PodReference, RecordEvent
from scheduler_svc.shell.timestamps import format_micro_time, to_nanoseconds

_NAME_LIMIT_CHARACTERS: Final = 253
_INSTANCE_LIMIT_CHARACTERS: Final = 128
_HEX_DIGIT_COUNT: Final = 16


class _Metadata(msgspec.Struct, gc=False):
    name: str
    namespace: str


class _Regarding(msgspec.Struct, rename="camel", gc=False):
    namespace: str
    name: str
    uid: str
    kind: str = "Pod"
    api_version: str = "v1"


class _Series(msgspec.Struct, rename="camel", gc=False):
    count: int
    last_observed_time: str


class _Event(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    kind: str
    api_version: str
    metadata: _Metadata
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: _Regarding
    note: str
    type: str
    related: _Regarding | None = None
    series: _Series | None = None


class _SeriesPatch(msgspec.Struct, gc=False):
    series: _Series


_encode: Final = msgspec.json.Encoder().encode


class EventNames:
    """Gives each Event a name that no other of this process has."""

    def __init__(self) -> None:
        self._last = 0

    def next_name(self, pod_name: str, wall_seconds: float) -> str:
        """Give ``<pod>.<hex>``; of a Pod's name that is too long, the start."""
        self._last = max(to_nanoseconds(wall_seconds), self._last + 1)
        start = pod_name[: _NAME_LIMIT_CHARACTERS - 1 - _HEX_DIGIT_COUNT].rstrip("-.")
        return f"{start}.{self._last:0{_HEX_DIGIT_COUNT}x}"


def collection_path(pod: PodReference) -> str:
    """Give the path of the Events beside a Pod."""
    return f"/apis/events.k8s.io/v1/namespaces/{pod.namespace}/events"


def reporting_instance(scheduler_name: str, hostname: str) -> str:
    """Give ``<scheduler>-<host>``, cut to what the API allows: 128 characters."""
    return f"{scheduler_name}-{hostname}"[:_INSTANCE_LIMIT_CHARACTERS]


def encode_event(
    effect: RecordEvent,
    *,
    name: str,
    hostname: str,
    event_time_seconds: float,
    count: int,
    last_observed_seconds: float,
) -> bytes:
    """Give the body of a POST; an Event that was seen more than once begins as a series.

    Times are Unix seconds.
    """
    pod = effect.pod
    event = _Event(
        kind="Event",
        api_version="events.k8s.io/v1",
        metadata=_Metadata(name, pod.namespace),
        event_time=format_micro_time(event_time_seconds),
        reporting_controller=effect.scheduler_name,
        reporting_instance=reporting_instance(effect.scheduler_name, hostname),
        action=effect.action,
        reason=effect.reason,
        regarding=_reference(pod),
        note=effect.note,
        type=effect.type,
        related=None if effect.related is None else _reference(effect.related),
        series=_series(count, last_observed_seconds) if count > 1 else None,
    )
    return _encode(event)


def encode_series(count: int, last_observed_seconds: float) -> bytes:
    """Give the body of the PATCH that says how often an Event was seen, and when last."""
    return _encode(_SeriesPatch(_series(count, last_observed_seconds)))


def _reference(pod: PodReference) -> _Regarding:
    return _Regarding(pod.namespace, pod.name, pod.uid)


def _series(count: int, last_observed_seconds: float) -> _Series:
    return _Series(count, format_micro_time(last_observed_seconds))
