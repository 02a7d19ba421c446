"""What is alike in the life of every daemon of ours: exit codes, serving, signals, its name."""

import asyncio
import errno
import logging
import os
import platform
import resource
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from enum import IntEnum
from typing import Final

from kubeio.logs import fields
from kubeio.serving import HttpsServer
from kubeio.serving_options import ServingOptions

_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

_logger = logging.getLogger(__name__)


class ExitCode(IntEnum):
    """How a daemon ends."""

    STOPPED = 0
    FAILED = 1
    BAD_USAGE = 2


class UsageError(Exception):
    """What the user asked for cannot be done; the text says what to change."""


class ServingError(Exception):
    """The server could not be started; the text says where and why."""


def user_agent(version: str, component: str) -> str:
    """Give what the API server's audit log names us by: ``berthmaster/1.0 (linux/amd64) agent``."""
    machine = _MACHINES.get(platform.machine(), platform.machine())
    return f"berthmaster/{version} ({platform.system().lower()}/{machine}) {component}"


def allow_open_files() -> int:
    """Raise the limit of open files to what the system allows; gives it.

    As Go's programs do. Shells and containers begin with a low one for the sake of programs that
    use ``select``; each Binding that is under way has a connection.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return hard
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # macOS takes no "unlimited"
        return soft
    return hard


async def serve(server: HttpsServer, options: ServingOptions, stack: AsyncExitStack) -> None:
    """Have a server serve until `stack` is left, and tell where.

    Raises
    ------
    ServingError
        Where the address cannot be listened on.
    """
    try:
        await stack.enter_async_context(server)
    except OSError as error:
        where = f"{options.bind_address}:{options.port}"
        why = os.strerror(error.errno) if error.errno else str(error)
        if error.errno == errno.EADDRINUSE:
            why += "; choose another with --secure-port (0: any free one)"
        raise ServingError(f"cannot serve on {where}: {why}") from error
    _logger.info("Serving securely", extra=fields(address=options.bind_address, port=server.port))


def on_stop_signal(stop: Callable[[], None]) -> None:
    """Call `stop` at the first SIGTERM or SIGINT; a second one ends the process at once."""
    loop = asyncio.get_running_loop()

    def caught(number: signal.Signals) -> None:
        for each in _SIGNALS:
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)
        _logger.info("Stopping", extra=fields(signal=number.name))
        stop()

    for number in _SIGNALS:
        loop.add_signal_handler(number, caught, number)
