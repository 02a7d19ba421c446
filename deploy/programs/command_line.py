"""How our commands end: messages for the person who typed them, and exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

from deploy.programs import interrupts
from deploy.programs.errors import DeployError, UsageError
from deploy.programs.reporting import Reporter

NOTHING_RUNS = "nothing is left running"


def end_with(
    run: Callable[[], int],
    reporter: Reporter,
    *,
    failures: tuple[type[Exception], ...] = (),
    when_interrupted: str = NOTHING_RUNS,
) -> int:
    """Run a command and give its exit code, errors told on standard error.

    2 after a `UsageError`, 1 after another `DeployError`, an `OSError` or one of `failures`, 128
    plus the signal's number after Ctrl-C, SIGTERM and SIGHUP. Others are not caught.

    Parameters
    ----------
    when_interrupted
        What a signal leaves behind, for the person who sent it.
    """
    told: tuple[type[Exception], ...] = (DeployError, OSError, *failures)
    interrupts.raise_on_termination()
    try:
        return run()
    except told as error:
        reporter.end_progress()
        sys.stdout.flush()
        sys.stderr.write(f"error: {error}\n")
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt as error:
        reporter.end_progress()
        number = getattr(error, "number", signal.SIGINT)
        sys.stderr.write(f"{signal.Signals(number).name}: ended; {when_interrupted}\n")
        return 128 + number
