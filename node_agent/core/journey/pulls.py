"""Image pulls, read from the Events that the kubelet writes about a Pod.

The kubelet tells how long a pull took only in an Event's text. Each ``Pulled`` names its own
duration, so a pull that failed before, and the back-off after it, are not taken for pulling
(the kubelet's own metric pairs starts and ends in order, and takes them so).

Source: pkg/kubelet/images/image_manager.go (``EnsureImageExists``, ``pullImage``), v1.36.3.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.marks import MarkKind
from node_agent.core.timestamps import unix_nanoseconds

PULLED: Final = "Pulled"
SCHEDULED: Final = "Scheduled"

_UNITS: Final = {
    "h": 3600 * NANOSECONDS,
    "m": 60 * NANOSECONDS,
    "s": NANOSECONDS,
    "ms": 1_000_000,
    "us": 1_000,
    "µs": 1_000,
    "ns": 1,
}
_PART: Final = re.compile(r"(\d{1,12})(?:\.(\d{1,9}))?(h|ms|m|s|us|µs|ns)", re.ASCII)
_DURATION: Final = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
_PULLED_IN: Final = re.compile(
    r"Successfully pulled image .* in (\S+)(?: \((\S+) including waiting\))?"
)
_CONTAINER: Final = re.compile(r"spec\.(?:initContainers|containers|ephemeralContainers)\{(.+)\}")


class KubeletEvent(msgspec.Struct, frozen=True, gc=False):
    """An Event about a Pod: its reason and text, of which container, when.

    Attributes
    ----------
    container
        "" where the Event is about the Pod as a whole.
    first_nanoseconds
        When it happened first, in whole seconds; None where its writer tells only the other.
        (When it happened last tells of restarts: the kubelet counts them in one Event.)
    event_nanoseconds
        The same in microseconds; None as above.
    """

    reason: str
    message: str
    container: str
    first_nanoseconds: int | None
    event_nanoseconds: int | None = None


class Pull(msgspec.Struct, frozen=True, gc=False, order=True):
    """An image that a container waited for, or found on the node already (0 nanoseconds)."""

    ended_nanoseconds: int
    """Of whole seconds."""
    nanoseconds: int
    """With the wait for other pulls."""
    container: str


def kubelet_event(
    reason: str,
    message: str,
    field_path: str,
    first_timestamp: str | None,
    event_time: str | None = None,
) -> KubeletEvent:
    """Make one of an Event's fields; `field_path` is ``involvedObject.fieldPath``."""
    match = _CONTAINER.fullmatch(field_path)
    return KubeletEvent(
        reason,
        message,
        match[1] if match else "",
        unix_nanoseconds(first_timestamp),
        unix_nanoseconds(event_time),
    )


def first_pulls(events: Iterable[KubeletEvent]) -> dict[str, Pull]:
    """Give each container's first pull; later ones are of restarts."""
    pulls: dict[str, Pull] = {}
    for event in events:
        if event.reason != PULLED or event.first_nanoseconds is None:
            continue
        pull = Pull(event.first_nanoseconds, pull_nanoseconds(event.message), event.container)
        pulls[event.container] = min(pull, pulls.get(event.container, pull))
    return pulls


def pull_nanoseconds(message: str) -> int:
    """Read how long a pull took from a ``Pulled`` Event's text, 0 where nothing was pulled."""
    match = _PULLED_IN.match(message)
    if match is None:
        return 0
    return go_duration_nanoseconds(match[2] or match[1]) or 0


def go_duration_nanoseconds(text: str) -> int | None:
    """Read a duration as Go writes it: ``1m2.5s``, ``345ms``; None for anything else."""
    if _DURATION.fullmatch(text) is None:
        return None
    total = 0
    for whole, fraction, unit in _PART.findall(text):
        total += int(whole) * _UNITS[unit]
        total += int(fraction.ljust(9, "0")) * _UNITS[unit] // NANOSECONDS if fraction else 0
    return total


def bound_mark(events: Iterable[KubeletEvent]) -> dict[MarkKind, int]:
    """Give the mark of the scheduler's ``Scheduled`` Event, where it tells microseconds."""
    for event in events:
        if event.reason == SCHEDULED and event.event_nanoseconds is not None:
            return {MarkKind.BOUND_EVENTS: event.event_nanoseconds}
    return {}


def images_pulled(pulls: dict[str, Pull], containers: Iterable[str]) -> dict[MarkKind, int]:
    """Give the mark of the last image, once each app container has had its own."""
    names = tuple(containers)
    if not names or any(name not in pulls for name in names):
        return {}
    return {MarkKind.IMAGES_PULLED_EVENTS: max(pulls[name].ended_nanoseconds for name in names)}
