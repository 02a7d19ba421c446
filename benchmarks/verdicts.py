"""Figures of several runs side by side, and whether they reach what they are to reach.

A figure that is not there (NaN) reaches nothing.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from benchmarks.distributions import spread

RunT = TypeVar("RunT")
Figure = Callable[[RunT], float | None]

NOTHING: Final = "-"


class Comparison(Generic[RunT]):
    """The runs of each contestant, in the order of the columns."""

    def __init__(self, runs: Mapping[str, Sequence[RunT]]) -> None:
        self._runs = runs

    def row(
        self, name: str, figure: Figure[RunT], digits: int = 1, verdict: str = ""
    ) -> tuple[str, ...]:
        """Make a row: a figure of each contestant, with so many decimals."""
        return (name, *(cell(runs, figure, digits) for runs in self._runs.values()), verdict)

    def middle(self, contestant: str, figure: Figure[RunT]) -> float:
        """Give the median of a contestant's figure."""
        return middle(self._runs[contestant], figure)

    def ratio(self, figure: Figure[RunT], contestant: str, other: str) -> float:
        """Give how many times the other's figure a contestant's is."""
        return ratio(self.middle(contestant, figure), self.middle(other, figure))


def middle(runs: Sequence[RunT], figure: Figure[RunT]) -> float:
    """Give the median of the runs that have the figure; NaN if none has."""
    values = _values(runs, figure)
    return spread(values).median if values else math.nan


def cell(runs: Sequence[RunT], figure: Figure[RunT], digits: int = 1) -> str:
    """Write the median, and with several runs the lowest and highest in parentheses."""
    values = _values(runs, figure)
    if not values:
        return NOTHING
    of_all = spread(values)
    text = f"{of_all.median:,.{digits}f}"
    if len(values) > 1:
        text += f" ({of_all.minimum:,.{digits}f} to {of_all.maximum:,.{digits}f})"
    return text


def ratio(value: float, basis: float) -> float:
    """Divide; NaN where there is nothing to divide by."""
    return value / basis if basis else math.nan


def at_most(value: float, limit: float) -> str:
    """Judge a figure that is to be small."""
    return f"≤ {limit:g}: {word(value <= limit)}"


def at_most_times(value: float, limit: float, other: str) -> str:
    """Judge a ratio to another contestant that is to be small."""
    return f"≤ {limit:g} times {other}: {value:.2f}, {word(value <= limit)}"


def at_least_times(value: float, limit: float, other: str) -> str:
    """Judge a ratio to another contestant that is to be large."""
    return f"≥ {limit:g} times {other}: {value:.2f}, {word(value >= limit)}"


def word(is_reached: bool) -> str:
    """Say it."""
    return "reached" if is_reached else "missed"


def _values(runs: Sequence[RunT], figure: Figure[RunT]) -> list[float]:
    return [value for value in map(figure, runs) if value is not None]
