"""The command line: ``python -m deploy.controlplane up|down|status|binaries``.

Exit code 0 for success, 1 for failure, 2 for bad usage, 130 after Ctrl-C (128 plus the signal's
number after another signal).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from deploy.controlplane import commands
from deploy.controlplane.layout import DEFAULT_STATE_DIRECTORY
from deploy.programs.binaries import SOURCE_KINDS
from deploy.programs.catalogue import PROGRAMS
from deploy.programs.command_line import end_with
from deploy.programs.reporting import Reporter
from deploy.programs.versions import DEFAULT_KUBERNETES_VERSION

DEFAULT_PROGRAMS = ("kube-apiserver", "kube-controller-manager", "etcd", "kwok")

_EXAMPLES = """\
examples:
  python -m deploy.controlplane up
      etcd, kube-apiserver, kube-controller-manager and kwok on 127.0.0.1; found on this machine,
      downloaded, or built once (minutes) and cached
  python -m deploy.controlplane status
  python -m deploy.controlplane down
      ends all of it, also what an interrupted `up` has left, and removes its files
  KUBERNETES_VERSION=1.35.2 python -m deploy.controlplane up --state-dir /tmp/other
      a second one, of another version, beside the first
  python -m deploy.controlplane binaries kube-scheduler kubectl
      prints the paths of programs, built or downloaded if they aren't there

environment:
  KUBEBUILDER_ASSETS   a directory with programs to use
  KUBERNETES_VERSION   the version to use, and no other (1.34 to 1.37)
  XDG_CACHE_HOME       programs are cached in $XDG_CACHE_HOME/berthmaster (default ~/.cache)
  NO_COLOR             no colours
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    # The result of `binaries` is for other programs: its progress goes to standard error.
    is_listing = options.command == "binaries"
    reporter = Reporter(Console(highlight=False, soft_wrap=True, stderr=is_listing))
    return end_with(partial(_run, options, reporter), reporter)


def _run(options: argparse.Namespace, reporter: Reporter) -> int:
    if options.command == "up":
        commands.up(
            commands.UpOptions(
                state_dir=options.state_dir,
                kubernetes_version=options.kubernetes_version,
                with_kwok=not options.no_kwok,
                apiserver_args=tuple(options.apiserver_arg),
                kinds=options.sources,
            ),
            reporter,
        )
    elif options.command == "down":
        commands.down(options.state_dir, reporter)
    elif options.command == "status":
        return 0 if commands.status(options.state_dir, reporter) else 1
    else:
        found = commands.binaries(
            options.names or DEFAULT_PROGRAMS, options.kubernetes_version, options.sources, reporter
        )
        reporter.end_progress()
        sys.stdout.write("".join(f"{binary.path}\n" for binary in found))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.controlplane",
        description="A real Kubernetes control plane on this machine's loopback, for trying and "
        "testing: no container, no cluster.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = parsers.add_parser("up", help="start what doesn't run yet, and wait until it is ready")
    down = parsers.add_parser("down", help="end everything and remove its files")
    status = parsers.add_parser("status", help="show what runs; exit code 1 unless all is ready")
    binaries = parsers.add_parser("binaries", help="find, download or build programs")
    for subparser in (up, down, status):
        subparser.add_argument(
            "--state-dir",
            type=Path,
            default=DEFAULT_STATE_DIRECTORY,
            metavar="DIR",
            help="where its files are (default: .state/controlplane of this checkout)",
        )
    for subparser in (up, binaries):
        _add_source_options(subparser)
    up.add_argument("--no-kwok", action="store_true", help="without kwok: no Node has a kubelet")
    up.add_argument(
        "--apiserver-arg",
        action="append",
        default=[],
        metavar="ARG",
        help="an argument to kube-apiserver after the usual ones, e.g. --apiserver-arg=-v=4",
    )
    binaries.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"some of {', '.join(PROGRAMS)} (default: what `up` needs)",
    )
    return parser


def _add_source_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kubernetes-version",
        metavar="VERSION",
        help="the version to use and no other "
        f"(default: KUBERNETES_VERSION, else what is found, else {DEFAULT_KUBERNETES_VERSION})",
    )
    parser.add_argument(
        "--sources",
        type=_source_kinds,
        default=SOURCE_KINDS,
        metavar="KINDS",
        help=f"where to look (default: {','.join(SOURCE_KINDS)})",
    )


def _source_kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(text.split(","))
    unknown = [kind for kind in kinds if kind not in SOURCE_KINDS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown source {unknown[0]!r}; there are {', '.join(SOURCE_KINDS)}"
        )
    return kinds


if __name__ == "__main__":
    sys.exit(main())
