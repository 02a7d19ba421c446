"""Ctrl-C while a command is still being imported: exit code 130, and nothing else.

Imports take a second on a slow machine. What is raised in the middle of one shows as a traceback,
or as a library's idea of what it means. Nothing has been begun then, so the process may just end.
"""

import os
import signal
from types import FrameType
from typing import Final, NoReturn

INTERRUPTED: Final = 130
"""What shells show for a process that SIGINT has ended."""


def end_on_interrupt() -> None:
    """End the process at once on SIGINT from now on; where it is ignored, it stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_on_interrupt() -> None:
    """Have SIGINT raise KeyboardInterrupt again: what runs from now on may have to clean up."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    os._exit(INTERRUPTED)
