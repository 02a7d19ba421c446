"""A timeline as bars, for people.

The way to ready has one scale, what comes after it another: a Pod that has run for a week
would leave nothing to be seen of its start.
"""

from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import msgspec
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from berthmaster.cli.printing import printable
from berthmaster.cli.timeline_attempts import NOTHING_KNOWN, FailedAttempts, Scheduling
from berthmaster.cli.timeline_tail import tail
from berthmaster.cli.timeline_words import format_seconds, short_time, waited_for
from node_agent.core.journey.marks import Step
from node_agent.core.journey.timeline import SegmentView, StepView, Timeline, View

MOST_BAR_COLUMNS: Final = 40
FEWEST_BAR_COLUMNS: Final = 8
_OTHER_COLUMNS: Final = 106
"""What a line needs beside its bar, where every column is there."""
_SOURCE_COLUMNS: Final = 18
_ERROR_COLUMNS: Final = 8
_BLOCKS: Final = " ▏▎▍▌▋▊▉█"
_ASCII_BLOCK: Final = "#"
_HOLLOW: Final = "░"
_ASCII_HOLLOW: Final = "-"
_V = TypeVar("_V", bound=View)
_AFTERWARDS: Final = (Step.DELETED.value, Step.FINISHED.value, Step.GONE.value)
_NEGATIVE: Final = {
    "resolution": "rounded",
    "clocks": "clocks differ",
    "evidence": "contradicted",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """What fits on a line: how long bars are, and which columns there are."""

    bar_columns: int
    with_sources: bool
    with_errors: bool
    is_ascii: bool = False

    @property
    def hollow(self) -> str:
        """What a bar is made of that may have taken no time."""
        return _ASCII_HOLLOW if self.is_ascii else _HOLLOW

    @classmethod
    def of(cls, columns: int, *, is_ascii: bool = False) -> "Layout":
        """Fit a width: the bar shrinks first, then who told goes, then the errors."""
        others = _OTHER_COLUMNS
        with_sources = columns >= others + FEWEST_BAR_COLUMNS
        others -= 0 if with_sources else _SOURCE_COLUMNS
        with_errors = columns >= others + FEWEST_BAR_COLUMNS
        others -= 0 if with_errors else _ERROR_COLUMNS
        bar = min(max(columns - others, FEWEST_BAR_COLUMNS), MOST_BAR_COLUMNS)
        return cls(bar, with_sources, with_errors, is_ascii)


def render(
    timeline: Timeline, teller: str, console: Console, scheduling: Scheduling = NOTHING_KNOWN
) -> RenderableType:
    """Draw a timeline; the console says how wide, and whether blocks can be printed."""
    timeline = _printable(timeline)
    if scheduling.failed is not None:
        scheduling = replace(scheduling, failed=_printable(scheduling.failed))
    parts: list[RenderableType] = [_head(timeline, teller), Text()]
    first = [s for s in timeline.segments if s.end not in _AFTERWARDS]
    after = [s for s in timeline.segments if s.end in _AFTERWARDS]
    layout = Layout.of(console.width, is_ascii=console.options.ascii_only)
    if timeline.segments:
        table = _table(layout)
        _add_rows(table, first, timeline, layout, scheduling.failed)
        if first and after:
            table.add_section()
        _add_rows(table, after, timeline, layout)
        parts.append(table)
    else:
        parts.append(Text("Nothing else is known of its way so far."))
    parts.append(Text())
    parts += tail(timeline, scheduling)
    if any(map(is_rounding, timeline.segments)):
        parts.append(Text(f"{layout.hollow} no longer than its times are rounded (±).", "dim"))
    return Group(*parts)


def _printable(view: _V) -> _V:
    return msgspec.convert(_printable_values(msgspec.to_builtins(view)), type(view))


def _printable_values(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {key: _printable_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_printable_values(item) for item in value]
    return value


def _head(timeline: Timeline, teller: str) -> Text:
    text = Text.assemble((f"Pod {timeline.namespace}/{timeline.name}", "bold"))
    text.append(f" on {timeline.node}" if timeline.node else "")
    about = (timeline.qos_class, timeline.scheduler_name)
    text.append("".join(f", {word}" for word in about if word) + "\n")
    if timeline.steps:
        first = timeline.steps[0]
        step = first.step.replace("_", " ").capitalize()
        text.append(f"{step} at {short_time(first.at)}. ", "dim")
    text.append(f"Told by {teller}.", "dim")
    return text


def _table(layout: Layout) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("from", justify="right", no_wrap=True)
    table.add_column("waited for", no_wrap=True)
    table.add_column("", width=layout.bar_columns, no_wrap=True)
    table.add_column("took", justify="right", no_wrap=True)
    if layout.with_errors:
        table.add_column("±", justify="right", no_wrap=True, style="dim")
    table.add_column("until", no_wrap=True)
    if layout.with_sources:
        table.add_column("told by", no_wrap=True, style="dim")
    return table


def _add_rows(
    table: Table,
    segments: list[SegmentView],
    timeline: Timeline,
    layout: Layout,
    failed: FailedAttempts | None = None,
) -> None:
    steps = {step.step: step for step in timeline.steps}
    total = sum(max(segment.seconds, 0.0) for segment in segments)
    begin = 0.0
    sure = [segment.seconds for segment in segments if not is_rounding(segment)]
    longest = max(sure, default=0.0)
    for segment in segments:
        is_hollow = is_rounding(segment)
        is_longest = segment.seconds == longest > 0 and len(segments) > 1 and not is_hollow
        cells: list[RenderableType] = [
            f"+{format_seconds(begin)}",
            waited_for(segment, timeline.scheduling_attempt, failed),
            bar(begin, segment.seconds, total, layout, is_hollow=is_hollow),
            Text(_took(segment), style="bold" if is_longest else ""),
        ]
        if layout.with_errors:
            error = segment.error_seconds
            cells.append(format_seconds(error) if error >= 1e-6 else "")
        cells.append(segment.end)
        if layout.with_sources:
            cells.append(_sources(steps.get(segment.begin), steps.get(segment.end)))
        table.add_row(*cells)
        begin += max(segment.seconds, 0.0)


def is_rounding(segment: SegmentView) -> bool:
    """Whether a segment is no longer than its times are rounded: it may have taken no time."""
    return segment.negative is None and 0 < segment.seconds <= segment.error_seconds


def bar(
    begin: float, seconds: float, total: float, layout: Layout, *, is_hollow: bool = False
) -> str:
    """Draw a segment at its place, to an eighth of a column; what took any time is seen.

    Hollow, in whole columns, where it may have taken none.
    """
    if total <= 0 or seconds <= 0:
        return ""
    columns = layout.bar_columns
    eighths = max(round(seconds / total * columns * 8), 1)
    offset = min(int(begin / total * columns), columns - 1)
    full, rest = divmod(eighths, 8)
    full = min(full, columns - offset)
    if is_hollow:
        return " " * offset + layout.hollow * max(full, 1)
    if layout.is_ascii:
        return " " * offset + _ASCII_BLOCK * max(full, 1)
    is_cut = offset + full >= columns
    return " " * offset + _BLOCKS[8] * full + ("" if is_cut or not rest else _BLOCKS[rest])


def _took(segment: SegmentView) -> str:
    if segment.negative is None:
        return format_seconds(segment.seconds)
    why = _NEGATIVE.get(segment.negative, segment.negative)
    return f"-{format_seconds(-segment.seconds)} ({why})"


def _sources(begin: StepView | None, end: StepView | None) -> str:
    names = [step.source for step in (begin, end) if step is not None]
    return "/".join(dict.fromkeys(names))
