"""The command line: ``python -m deploy.image docker``.

Exit code 0 for success, 1 for failure, 2 for bad usage, 130 after Ctrl-C (128 plus the signal's
number after another signal).
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from rich.console import Console

from deploy.image.engine import ensure_docker
from deploy.programs import interrupts
from deploy.programs.errors import DeployError, UsageError
from deploy.programs.reporting import Reporter


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    reporter = Reporter(Console(highlight=False, soft_wrap=True))
    interrupts.raise_on_termination()
    try:
        ensure_docker(reporter, install=options.install)
    except (DeployError, OSError) as error:
        reporter.end_progress()
        sys.stdout.flush()
        sys.stderr.write(f"error: {error}\n")
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt as error:
        reporter.end_progress()
        number = getattr(error, "number", signal.SIGINT)
        sys.stderr.write(f"{signal.Signals(number).name}: ended\n")
        return 128 + number
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deploy.image")
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    docker = parsers.add_parser("docker", help="check that Docker works; asked to, make it work")
    docker.add_argument("--install", action="store_true", help="install and start it if need be")
    return parser


if __name__ == "__main__":
    sys.exit(main())
