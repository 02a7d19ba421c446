"""How a user's code is called: whatever it does, the scheduler goes on."""

from collections.abc import Callable
from typing import Any, Protocol


class PluginFailedError(Exception):
    """A plugin raised, took too long, or gave an answer that is none; the text names it."""


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
        except PluginFailedError:
            raise
        except Exception as error:
            raise PluginFailedError(failure_text(plugin, point, error)) from error


def failure_text(plugin: str, point: str, error: BaseException) -> str:
    """Say in one line which plugin failed where, and how."""
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f'plugin "{plugin}" failed in {point}: {what}'
