"""Awaits users' coroutines: what they raise is their failure, what ends the task is not."""

import asyncio


def is_meant_for_task(error: BaseException) -> bool:
    """Whether it ends the task that awaits, rather than being raised by the plugin.

    A plugin raises CancelledError itself where it awaits what somebody has cancelled.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)
