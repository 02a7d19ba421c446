"""Warning Events of ours, put together by reason."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from berthmaster.cli.diagnosis import wire
from berthmaster.cli.diagnosis.facts import EventGroup
from berthmaster.cli.diagnosis.wire import seconds_of
from node_agent.shell.kubelet.divergence_events import CONTROLLER as AGENT_CONTROLLER
from scheduler_svc.core.unserved import PROFILE_DELETED

SELECTOR: Final = "type=Warning"
TOLD_OTHERWISE: Final = ("FailedScheduling",)
"""Of Pods that still wait, the condition tells the same, and newer."""


def event_groups(
    events: Iterable[wire.Event], names: Collection[str], namespace: str | None
) -> tuple[EventGroup, ...]:
    """Put Events together that a scheduler of these names, or an agent, has written.

    Of one namespace, or of all; the newest message stands for a group. Of an Event that is
    repeated, every time counts.
    """
    groups: dict[tuple[str, str], list[wire.Event]] = defaultdict(list)
    for event in events:
        controller = event.reporting_component
        if controller not in names and controller != AGENT_CONTROLLER:
            continue
        if event.reason in TOLD_OTHERWISE:
            continue
        if namespace is None or event.involved_object.namespace == namespace:
            groups[controller, event.reason].append(event)
    return tuple(
        _group(controller, reason, found) for (controller, reason), found in groups.items()
    )


def _group(controller: str, reason: str, events: list[wire.Event]) -> EventGroup:
    events.sort(key=lambda event: last_seen(event) or 0.0, reverse=True)
    about = (
        "/".join(
            part for part in (event.involved_object.namespace, event.involved_object.name) if part
        )
        for event in events
    )
    return EventGroup(
        reason=reason,
        controller=controller,
        count=sum(times_seen(event) for event in events),
        last=last_seen(events[0]),
        message=events[0].message,
        about=tuple(dict.fromkeys(about)),
    )


def times_seen(event: wire.Event) -> int:
    """Give how often an Event has been seen, as far as it was brought up to date."""
    return max(event.count or 0, event.series.count if event.series else 0, 1)


def given_up_names(
    events: Iterable[wire.Event], judged_names: Mapping[str, float]
) -> dict[str, str]:
    """Give the schedulerNames whose SchedulerProfile is gone, with the newest text that says so.

    Left out are those that somebody has judged a Pod for since; `judged_names` says when.
    """
    newest: dict[str, wire.Event] = {}
    for event in sorted(events, key=lambda event: last_seen(event) or 0.0):
        if event.reason == PROFILE_DELETED:
            newest[event.reporting_component] = event
    return {
        name: event.message
        for name, event in newest.items()
        if (last_seen(event) or 0.0) >= judged_names.get(name, 0.0)
    }


def last_seen(event: wire.Event) -> float | None:
    """Give when an Event was seen last, in seconds since 1970."""
    return seconds_of(last_time(event))


def last_time(event: wire.Event) -> str | None:
    """Give when an Event was seen last, as the API server has it."""
    last = event.series.last_observed_time if event.series else None
    return last or event.last_timestamp or event.event_time
