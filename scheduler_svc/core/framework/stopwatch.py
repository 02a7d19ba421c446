"""How long plugins take: measured for metrics, by a clock that the caller lends.

Nothing that a stopwatch tells decides anything, and most attempts have none.
"""

from collections.abc import Callable
from typing import Final, ParamSpec, Protocol, TypeVar

from scheduler_svc.core.status import Code, Status

_P = ParamSpec("_P")
_T = TypeVar("_T")

SUCCEEDED: Final = Code.SUCCESS.text


class Stopwatch(Protocol):
    """A clock, and a place to note the time that one plugin took at one extension point."""

    def read(self) -> float:
        """Give seconds on a clock that does not go back."""

    def note(
        self, extension_point: str, plugin: str, seconds: float, status: str = SUCCEEDED
    ) -> None:
        """Take a measurement; several of one plugin and point in a step belong together."""


class PointStopwatch(Stopwatch, Protocol):
    """For plugins that are asked outside of an attempt."""

    def finish(self) -> None:
        """Note that all have been asked."""


class Measuring(Protocol):
    """Measures what is done between attempts."""

    def begin(self, profile: str) -> PointStopwatch:
        """Give a stopwatch for plugins of a profile; asked for now and then only."""

    def read(self) -> float:
        """Give seconds on a clock that does not go back."""

    def note_hint(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        """Take how long a queueing hint took, with upstream's words for event and answer."""


def timed(
    stopwatch: Stopwatch | None,
    extension_point: str,
    plugin: str,
    method: Callable[_P, _T],
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> _T:
    """Call `method`, and note the time and the status it gave if there is a stopwatch."""
    if stopwatch is None:
        return method(*args, **kwargs)
    start = stopwatch.read()
    result = method(*args, **kwargs)
    stopwatch.note(extension_point, plugin, stopwatch.read() - start, _status_text(result))
    return result


def _status_text(result: object) -> str:
    """Give the status in a plugin's answer; what has none succeeded."""
    match result:
        case Status() | (Status(), _):
            status = result[0] if isinstance(result, tuple) else result
        case _:
            status = getattr(result, "status", None)
    return status.code.text if isinstance(status, Status) else SUCCEEDED
