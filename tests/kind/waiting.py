"""Waiting for what a cluster shall show, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TypeVar

from tests.kind.api import ApiAwayError

TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.2

Answer = TypeVar("Answer")


class _Nothing:
    """True while there is nothing in it."""

    def __init__(self, found: Collection[object]) -> None:
        self._found = found

    def __bool__(self) -> bool:
        return not self._found

    def __repr__(self) -> str:
        return repr(self._found)


def wait_none(
    what: str, ask: Callable[[], Collection[object]], *, timeout_seconds: float = TIMEOUT_SECONDS
) -> None:
    """Ask until there is nothing in the answer; the failure shows what there is."""
    wait_for(f"gone: {what}", lambda: _Nothing(ask()), timeout_seconds=timeout_seconds)


def wait_for(
    what: str, ask: Callable[[], Answer | None], *, timeout_seconds: float = TIMEOUT_SECONDS
) -> Answer:
    """Ask until the answer is true, and give it; fail the test when the time is over.

    An API server that is away has not answered yet. The failure shows the last answer.
    """
    deadline_seconds = time.monotonic() + timeout_seconds
    while True:
        try:
            answer = ask()
        except ApiAwayError as error:
            answer, last = None, str(error)
        else:
            last = repr(answer)
        if answer:
            return answer
        assert time.monotonic() < deadline_seconds, (
            f"not within {timeout_seconds:g} s: {what}; last answer: {last[:2000]}"
        )
        time.sleep(POLL_SECONDS)
