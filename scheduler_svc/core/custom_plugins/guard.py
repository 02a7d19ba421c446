"""How a user's code is called: whatever it does, the scheduler goes on.

Only a KeyboardInterrupt passes: it is the operator's. SystemExit is a failure like others.
"""

import re
from collections.abc import Callable
from typing import Any, Final, Protocol

MAX_TEXT_CHARACTERS: Final = 500
"""How much of what a plugin says is kept; the note of an Event has 1024 bytes."""

_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")


class PluginFailedError(Exception):
    """A plugin raised, took too long, or gave an answer that is none; the text names it."""


class NoAnswerError(Exception):
    """Raised in a plugin that does not end; its text says how long was waited."""


class Guard(Protocol):
    """Calls a plugin's methods; the shell's watches the time besides."""

    def call(self, plugin: str, point: str, method: Callable[[], Any]) -> Any:
        """Give what `method` gives. Raises `PluginFailedError` where it fails."""


class PlainGuard:
    """Turns exceptions into `PluginFailedError` and does nothing else."""

    def call(self, plugin: str, point: str, method: Callable[[], Any]) -> Any:
        """Give what `method` gives. Raises `PluginFailedError` where it fails."""
        try:
            return method()
        except (PluginFailedError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise PluginFailedError(failure_text(plugin, point, error)) from error


def failure_text(plugin: str, point: str, error: BaseException) -> str:
    """Say in one line which plugin failed where, and how."""
    what = _text_of(error) if isinstance(error, NoAnswerError) else raised(error)
    return f'plugin "{plugin}" failed in {point}: {what}'


def raised(error: BaseException) -> str:
    """Say what has been raised."""
    text = _text_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def cut(text: str) -> str:
    """Cut a plugin's text to a length that people read; what is no Unicode becomes "?"."""
    text = text.encode(errors="replace").decode()
    return text if len(text) <= MAX_TEXT_CHARACTERS else f"{text[: MAX_TEXT_CHARACTERS - 4]} ..."


def shown(value: Any) -> str:
    """Show a plugin's value, the same each time: without its address."""
    return cut(_ADDRESS.sub("", repr(value)))


def _text_of(error: BaseException) -> str:
    try:
        return cut(_ADDRESS.sub("", str(error)))
    except Exception as another:  # noqa: BLE001 - a plugin's exception may do anything
        return f"its text cannot be told ({type(another).__name__})"
