"""What is shown while Pods are placed: a live table, or in a pipe a line each second."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from deploy.demo.figures import count_states
from deploy.demo.plan import Plan
from deploy.demo.records import PodRecord, PodState
from deploy.demo.shapes import POD_SHAPES

LINE_SECONDS = 1.0
FRAME_SECONDS = 0.2
BAR_WIDTH = 15
WIDE_COLUMNS = 130
RATE_WINDOW_SECONDS = 1.0


class PlacementView:
    """Shows how far the placement has come, from entering the context to leaving it.

    Parameters
    ----------
    console
        A terminal gets a table that is redrawn in place; a pipe, a dumb terminal, or one whose
        user has set NO_COLOR, gets plain lines.
    """

    def __init__(self, console: Console, plan: Plan) -> None:
        self._console = console
        self._plan = plan
        self._began_seconds = time.monotonic()
        self._shown_seconds = 0.0
        is_live = console.is_terminal and not console.is_dumb_terminal and not console.no_color
        self._live = Live(console=console, auto_refresh=False) if is_live else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, records: Sequence[PodRecord], *, is_last: bool = False) -> None:
        """Show the state of things, unless the last one was shown only a moment ago."""
        now_seconds = time.monotonic()
        interval_seconds = FRAME_SECONDS if self._live is not None else LINE_SECONDS
        if now_seconds - self._shown_seconds < interval_seconds and not is_last:
            return
        shown_seconds = self._shown_seconds or self._began_seconds
        self._shown_seconds = now_seconds
        summary = summarize(records, now_seconds, since_seconds=shown_seconds)
        line = f"{now_seconds - self._began_seconds:5.1f} s  {summary}"
        if self._live is not None:
            table = make_table(self._plan, records, width=self._console.width)
            self._live.update(Group(table, Text(line, style="bold")), refresh=True)
        else:
            self._console.print(Text(f"  {line}"))


def make_table(plan: Plan, records: Sequence[PodRecord], *, width: int) -> Table:
    """Make a table of shapes and of how far their Pods are, of one line each.

    What a shape asks for is left out where ``width``, in columns, is too small for it.
    """
    is_wide = width >= WIDE_COLUMNS
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("shape", no_wrap=True)
    if is_wide:
        table.add_column("what it asks for", style="dim", no_wrap=True)
    for name in ("Pods", "bound", "running"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("waiting", no_wrap=True)
    by_shape: dict[str, list[PodRecord]] = {}
    for record in records:
        by_shape.setdefault(record.shape, []).append(record)
    for shape in POD_SHAPES:
        own = by_shape.get(shape.name, [])
        planned = plan.counts[shape.name]
        bound = sum(1 for record in own if record.node)
        states = count_states(own)
        table.add_row(
            shape.name,
            *([shape.what] if is_wide else []),
            f"{len(own)}/{planned}",
            str(bound),
            str(states[PodState.RUNNING]),
            _bar(bound, planned),
            _waiting(states),
        )
    return table


def summarize(records: Sequence[PodRecord], now_seconds: float, *, since_seconds: float) -> str:
    """Say in one line how many Pods are in which state, and how fast Pods are bound just now.

    That is since ``since_seconds``, when the last line was shown, or in the last second if that was
    less than a second ago.
    """
    states = count_states(records)
    window_seconds = max(now_seconds - since_seconds, RATE_WINDOW_SECONDS)
    began_seconds = now_seconds - window_seconds
    recent = sum(
        1 for r in records if r.bound_seconds is not None and r.bound_seconds > began_seconds
    )
    rate = recent / window_seconds
    bound = sum(1 for record in records if record.node)
    parts = [f"{len(records)} Pods", f"{bound} bound", f"{states[PodState.RUNNING]} running"]
    waiting = _waiting(states)
    if waiting:
        parts.append(waiting)
    return f"{', '.join(parts)}; {rate:.0f} bound a second"


def _waiting(states: Counter[str]) -> str:
    waiting = (PodState.PENDING, PodState.GATED, PodState.UNSCHEDULABLE)
    return ", ".join(f"{states[state]} {state.lower()}" for state in waiting if states[state])


def _bar(done: int, whole: int) -> Text:
    filled = BAR_WIDTH * min(done, whole) // whole
    return Text.assemble(("█" * filled, "green"), ("·" * (BAR_WIDTH - filled), "dim"))
