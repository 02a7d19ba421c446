"""Waiting for what must come true, instead of sleeping and hoping."""

import asyncio
import time
from collections.abc import Awaitable, Callable

POLL_SECONDS = 0.005


async def wait_until(
    is_true: Callable[[], object], *, what: str, deadline_seconds: float = 20.0
) -> None:
    """Come back as soon as `is_true`; fail the test with `what` if it does not come."""
    end = time.monotonic() + deadline_seconds
    while not is_true():
        if time.monotonic() > end:
            raise AssertionError(f"did not come true in {deadline_seconds:g} s: {what}")
        await asyncio.sleep(POLL_SECONDS)


async def wait_until_async(
    is_true: Callable[[], Awaitable[object]], *, what: str, deadline_seconds: float = 20.0
) -> None:
    """Do as `wait_until` with a question that takes asking somebody."""
    end = time.monotonic() + deadline_seconds
    while not await is_true():
        if time.monotonic() > end:
            raise AssertionError(f"did not come true in {deadline_seconds:g} s: {what}")
        await asyncio.sleep(10 * POLL_SECONDS)
