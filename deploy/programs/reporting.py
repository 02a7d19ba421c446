"""Progress for a person: one line a step, with the seconds since the command began.

On a terminal a long step also shows a status line that is rewritten in place. In a pipe there are
only whole lines, without colours, and a long step says that it is alive every half minute.
"""

from __future__ import annotations

import time

from rich.console import Console
from rich.live import Live
from rich.text import Text

PIPE_UPDATE_SECONDS = 30.0


class Reporter:
    """Writes steps and the progress of the step that is under way.

    Parameters
    ----------
    console
        Where to write. Rich's console drops colours when it is no terminal or NO_COLOR is set.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._began_seconds = time.monotonic()
        self._live: Live | None = None
        self._progress_written_seconds = self._began_seconds

    def step(self, text: str) -> None:
        """Write a line that stays: ``[  12.3 s] text``."""
        self.end_progress()
        self._progress_written_seconds = time.monotonic()
        self._console.print(self._stamped(text))

    def plain(self, text: str = "") -> None:
        """Write text without the elapsed time, for results and what to do next."""
        self.end_progress()
        self._console.print(Text(text))

    def progress(self, text: str) -> None:
        """Show how far the step under way is; in a pipe at most every 30 seconds."""
        if self._console.is_terminal:
            if self._live is None:
                self._live = Live(console=self._console, transient=True, refresh_per_second=4)
                self._live.start()
            self._live.update(self._stamped(text))
            return
        now_seconds = time.monotonic()
        if now_seconds - self._progress_written_seconds >= PIPE_UPDATE_SECONDS:
            self._progress_written_seconds = now_seconds
            self._console.print(self._stamped(text))

    def end_progress(self) -> None:
        """Remove the status line, if one is shown."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _stamped(self, text: str) -> Text:
        elapsed_seconds = time.monotonic() - self._began_seconds
        return Text.assemble((f"[{elapsed_seconds:7.1f} s] ", "dim"), text)


class SilentReporter(Reporter):
    """Says nothing: for use as a library."""

    def __init__(self) -> None:
        super().__init__(Console(quiet=True))

    def progress(self, text: str) -> None:
        """Say nothing."""
