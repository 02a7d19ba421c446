"""Ctrl-C and SIGTERM at moments that suit: never between a program's start and its being known.

Signal handlers belong to the main thread; in others the functions here change nothing, and in the
main thread they leave handlers alone that are not Python functions (ignored signals stay ignored).
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedBySignalError(KeyboardInterrupt):
    """The command was told to end by SIGTERM or SIGHUP; handled wherever Ctrl-C is."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number


def raise_on_termination() -> None:
    """Let SIGTERM and SIGHUP end the command as Ctrl-C does, so that it cleans up."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        del frame
        raise InterruptedBySignalError(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, interrupt)


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Hold back the signals that interrupt until the block has ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[tuple[int, FrameType | None]] = []
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    held = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in held:
        signal.signal(number, lambda number, frame: pending.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for received, frame in pending[:1]:
            held[signal.Signals(received)](received, frame)
