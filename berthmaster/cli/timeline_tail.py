"""What stands under the bars of a timeline."""

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from berthmaster.cli.timeline_attempts import (
    FAILED_SCHEDULING,
    CountSource,
    FailedAttempts,
    FailedEvent,
    Scheduling,
)
from berthmaster.cli.timeline_words import (
    NOT_SCHEDULED,
    NOW,
    WHY_NO_SLI,
    format_seconds,
    in_words,
    short_time,
)
from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.marks import Step
from node_agent.core.journey.timeline import Timeline
from node_agent.core.timestamps import unix_nanoseconds

EVENTS_SHOWN: Final = 3
_INDENTED: Final = (0, 0, 0, 2)
_CLOCKS_APART_SECONDS: Final = 1.0
_COUNTED_BY: Final[dict[str, str]] = {
    CountSource.SCHEDULER: "the scheduler's annotation",
    CountSource.EVENTS: "Events",
    CountSource.CONDITION: "its condition PodScheduled",
}


def tail(timeline: Timeline, scheduling: Scheduling) -> list[RenderableType]:
    """Give the lines: how the Pod stands now, why it was not scheduled before, figures, notes."""
    lines: list[RenderableType] = [Text(line) for line in _now(timeline, scheduling)]
    if scheduling.failed is not None:
        lines += _failures(scheduling.failed, timeline)
    lines += [Text(line) for line in _figures(timeline)]
    return lines


def _now(timeline: Timeline, scheduling: Scheduling) -> Iterator[str]:
    if timeline.cause is None:
        return
    seconds = scheduling.waited_seconds
    since = "" if seconds is None else f", {format_seconds(seconds)} after its creation"
    source = ", by its condition PodScheduled" if scheduling.is_told_by_condition else ""
    detail = f": {timeline.cause_detail}" if timeline.cause_detail else "."
    yield f"Now{since}: {in_words(timeline.cause, NOW)}{source}{detail}"


def _failures(failed: FailedAttempts, timeline: Timeline) -> Iterator[RenderableType]:
    count = f"{failed.count}{'' if failed.exact else ' or more'}"
    attempts = "attempt" if failed.count == 1 and failed.exact else "attempts"
    until = "before it got a Node" if timeline.node else "so far"
    line = f"Scheduling: {count} {attempts} failed {until}, by {_COUNTED_BY[failed.told_by]}"
    if not failed.events:
        yield Text(f"{line}{_why_unknown(failed)}")
        return
    yield Text(f"{line}. Why, by its {FAILED_SCHEDULING} Events:")
    first, *others = (_said(event, timeline) for event in failed.events)
    newest = others[-(EVENTS_SHOWN - 1) :]
    left_out = len(others) - len(newest)
    # The first may have cost most of the time, the last are what it ended with.
    between = [f"{left_out} more in between; -o json has all"] if left_out else []
    yield from (Padding(Text(text), _INDENTED) for text in (first, *between, *newest))


def _said(event: FailedEvent, timeline: Timeline) -> str:
    message = event.message
    if timeline.cause == NOT_SCHEDULED and message == timeline.cause_detail:
        message = "the same as now"
    words = [_when(event, timeline), event.reporter]
    about = ", ".join(word for word in words if word)
    return f"{about}: {message}" if about else message


def _why_unknown(failed: FailedAttempts) -> str:
    if failed.unread is not None:
        return f"; why is not known: {failed.unread}"
    if failed.told_by == CountSource.CONDITION:
        return "."
    return "; no Event tells why: they are kept for an hour by default."


def _when(event: FailedEvent, timeline: Timeline) -> str:
    """Say when and how often, on the scale of the table where both clocks can be."""
    times = [_moment(text, timeline) for text in (event.first, event.last) if text]
    when = " to ".join(dict.fromkeys(times))
    if event.times == 1:
        return when
    return f"{when}, {event.times} times or more".removeprefix(", ")


def _moment(time: str, timeline: Timeline) -> str:
    at = unix_nanoseconds(time)
    first = timeline.steps[0] if timeline.steps else None
    begin = unix_nanoseconds(first.at) if first is not None else None
    if at is None or begin is None or first is None or first.step != Step.CREATED:
        return short_time(time)
    # From the middle of the second in which it was created, as the table does.
    seconds = (at - begin) / NANOSECONDS - first.resolution_seconds / 2
    if seconds < -_CLOCKS_APART_SECONDS:
        return short_time(time)
    return f"+{format_seconds(max(seconds, 0.0))}"


def _figures(timeline: Timeline) -> Iterator[str]:
    startup = timeline.startup
    if startup is not None:
        line = f"Startup: {_signed(startup.total_seconds)} in all"
        if startup.sli_seconds is not None:
            line += f", {_signed(startup.sli_seconds)} by the SLI"
        elif startup.sli_skipped is not None:
            line += f", no SLI ({in_words(startup.sli_skipped, WHY_NO_SLI)})"
        for what, seconds in (
            ("images", startup.image_pull_seconds),
            ("init containers", startup.init_seconds),
        ):
            if seconds:
                line += f"; {what} {_signed(seconds)}"
        yield f"{line}."
    skew = timeline.clock_skew
    if skew is not None:
        is_ahead = skew.node_minus_api_server_seconds >= 0
        size = format_seconds(abs(skew.node_minus_api_server_seconds))
        direction = "ahead of" if is_ahead else "behind"
        error = format_seconds(skew.error_seconds)
        yield f"Clocks: the node's is {size} {direction} the API server's (± {error})."
    yield from timeline.notes


def _signed(seconds: float) -> str:
    return format_seconds(seconds) if seconds >= 0 else f"-{format_seconds(-seconds)}"
