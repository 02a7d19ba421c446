"""The command line: ``python -m deploy.kind up|down|status|image|load|kubeconfig``.

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

from deploy.kind import commands
from deploy.kind.layout import DEFAULT_STATE_DIRECTORY
from deploy.programs.command_line import end_with
from deploy.programs.reporting import Reporter
from deploy.programs.versions import DEFAULT_KUBERNETES_VERSION

_EXAMPLES = """\
examples:
  python -m deploy.kind up
      a control plane and two workers in containers, Berthmaster installed from its chart; a minute,
      once the images are there; interrupted, it goes on where it was
  python -m deploy.kind up --build --values my-values.yaml
      the same with the image built anew, and values of one's own for the chart
  python -m deploy.kind up --name second --state-dir .state/second
      another cluster beside it
  export KUBECONFIG=$(python -m deploy.kind kubeconfig)
  python -m deploy.kind load my-image:dev
      puts an image of the Docker engine into the nodes; Pods use it with
      imagePullPolicy: IfNotPresent
  python -m deploy.kind down
      removes the cluster, also a half made one; images stay for the next time

environment:
  KUBERNETES_VERSION   the version of the nodes, and no other (1.34 to 1.37)
  XDG_CACHE_HOME       programs are cached in $XDG_CACHE_HOME/berthmaster (default ~/.cache)
  NO_COLOR             no colours
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    # The result of these is for other programs: their progress goes to standard error.
    is_answer = options.command in ("image", "kubeconfig")
    reporter = Reporter(Console(highlight=False, soft_wrap=True, stderr=is_answer))
    return end_with(
        partial(_run, options, reporter),
        reporter,
        when_interrupted="`up` goes on, `down` removes what there is",
    )


def _run(options: argparse.Namespace, reporter: Reporter) -> int:
    answer: object = None
    match options.command:
        case "up":
            commands.up(_up_options(options), reporter)
        case "down":
            commands.down(options.state_dir, options.name, reporter, removes_images=options.image)
        case "status":
            return 0 if commands.status(options.state_dir, reporter) else 1
        case "image":
            answer = commands.image(
                options.kubernetes_version, reporter, built=options.build_node_image
            )
        case "load":
            commands.load(options.state_dir, options.images, reporter)
        case "kubeconfig":
            answer = commands.kubeconfig(options.state_dir)
    if answer is not None:
        reporter.end_progress()
        sys.stdout.write(f"{answer}\n")
    return 0


def _up_options(options: argparse.Namespace) -> commands.UpOptions:
    return commands.UpOptions(
        state_dir=options.state_dir,
        name=options.name,
        kubernetes_version=options.kubernetes_version,
        with_chart=not options.no_chart,
        values=tuple(options.values),
        builds_image=options.build,
        builds_node_image=options.build_node_image,
        installs_docker=options.install_docker,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.kind",
        description="A real Kubernetes cluster in containers on this machine, by kind, with "
        "Berthmaster installed in it. Needs Docker; needs no registry of images.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = parsers.add_parser("up", help="make what isn't there yet, and wait until it is ready")
    down = parsers.add_parser("down", help="remove the cluster and its files")
    status = parsers.add_parser("status", help="show what runs; exit code 1 unless all is well")
    image = parsers.add_parser("image", help="have the nodes' image, and print its name")
    load = parsers.add_parser("load", help="put images of the Docker engine into the nodes")
    kubeconfig = parsers.add_parser("kubeconfig", help="print the path of the kubeconfig")
    for subparser in (up, down, status, load, kubeconfig):
        subparser.add_argument(
            "--state-dir",
            type=Path,
            default=DEFAULT_STATE_DIRECTORY,
            metavar="DIR",
            help="where its files are (default: .state/kind of this checkout)",
        )
    for subparser in (up, down):
        subparser.add_argument(
            "--name",
            metavar="NAME",
            help="the cluster's name (default: that of the one that is there, else "
            f"{commands.DEFAULT_NAME})",
        )
    for subparser in (up, image):
        _add_image_options(subparser)
    _add_up_options(up)
    down.add_argument(
        "--image", action="store_true", help="also remove the nodes' images that were made here"
    )
    load.add_argument("images", nargs="+", metavar="IMAGE", help="e.g. my-image:dev")
    return parser


def _add_image_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kubernetes-version",
        metavar="VERSION",
        help="the nodes' version and no other (default: KUBERNETES_VERSION, else that of kind's "
        f"own image, else {DEFAULT_KUBERNETES_VERSION})",
    )
    parser.add_argument(
        "--build-node-image",
        action="store_true",
        help="make the nodes' image here even where kind's own can be pulled",
    )


def _add_up_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-chart", action="store_true", help="don't install Berthmaster")
    parser.add_argument(
        "--values",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="values for the chart; may be given more than once",
    )
    parser.add_argument(
        "--build", action="store_true", help="build Berthmaster's image even if there is one"
    )
    parser.add_argument(
        "--install-docker",
        action="store_true",
        help="install and start Docker if it is missing (root on Debian or Ubuntu)",
    )


if __name__ == "__main__":
    sys.exit(main())
