"""How long plugins take: measured for metrics, by a clock that the caller lends for one step.

Nothing that a stopwatch tells decides anything, and most steps have none.
"""

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Stopwatch(Protocol):
    """A clock, and a place to note the time that one plugin took at one extension point."""

    def read(self) -> float:
        """Give seconds on a clock that does not go back."""

    def note(self, extension_point: str, plugin: str, seconds: float) -> None:
        """Take a measurement; several of one plugin and point in a step belong together."""


def timed(
    stopwatch: Stopwatch | None,
    extension_point: str,
    plugin: str,
    method: Callable[_P, _T],
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> _T:
    """Call `method`, and note the time if there is a stopwatch."""
    if stopwatch is None:
        return method(*args, **kwargs)
    start = stopwatch.read()
    result = method(*args, **kwargs)
    stopwatch.note(extension_point, plugin, stopwatch.read() - start)
    return result
