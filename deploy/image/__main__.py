"""The command line: ``python -m deploy.image build|base|size|sbom|docker``.

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

from deploy.image import base, build, sbom
from deploy.image.engine import ensure_docker
from deploy.programs.command_line import end_with
from deploy.programs.reporting import Reporter

_EXAMPLES = f"""\
examples:
  python -m deploy.image build
      {build.DEFAULT_TAG} of this checkout: on {base.OFFICIAL_IMAGE} where that can be pulled,
      else on Debian's Python, unpacked from packages (as root, on Debian or Ubuntu)
  python -m deploy.image build --tag registry.example/berthmaster:1.0 --base python:3.14-slim
  docker build -t {build.DEFAULT_TAG} .
      the same by Docker alone, where its containers reach a package index
  python -m deploy.image size
      how large it is, and how much of that is ours; exit code 1 over {build.LIMIT_MIB} MiB
  python -m deploy.image sbom --output dist/berthmaster.cdx.json
      every Python distribution and Debian package in it, as CycloneDX
  python -m deploy.image docker --install
      for a machine made for one run: installs Docker and starts its daemon if need be
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    # The results of `size` and `sbom` are for other programs: their progress goes elsewhere.
    is_result = options.command in ("size", "sbom")
    reporter = Reporter(Console(highlight=False, soft_wrap=True, stderr=is_result))
    return end_with(partial(_run, options, reporter), reporter)


def _run(options: argparse.Namespace, reporter: Reporter) -> int:
    if options.command == "docker":
        ensure_docker(reporter, install=options.install)
        return 0
    ensure_docker(reporter)
    if options.command == "build":
        build.build_image(options.tag, base_image=options.base, reporter=reporter)
    elif options.command == "base":
        base.make_base(options.tag, reporter)
    elif options.command == "sbom":
        sbom.write(options.tag, options.output, reporter)
    else:
        own_mib = build.measure_own(options.tag)
        total_mib = build.measure(options.tag)
        reporter.end_progress()
        sys.stdout.write(
            f"{options.tag}: {total_mib:.0f} MiB, {own_mib:.0f} of them over the base "
            f"(limit {build.LIMIT_MIB})\n"
        )
        return 0 if own_mib <= build.LIMIT_MIB else 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.image",
        description="Berthmaster's container image: built with and without a network that reaches "
        "registries of images.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    building = parsers.add_parser("build", help="build the image")
    base_making = parsers.add_parser("base", help="make a base image of Debian's packages, anew")
    size = parsers.add_parser("size", help="tell how large the image is")
    bill = parsers.add_parser("sbom", help="list what is in the image")
    docker = parsers.add_parser("docker", help="check that Docker works; asked to, make it work")
    for subparser, tag in (
        (building, build.DEFAULT_TAG),
        (base_making, base.UNPACKED_IMAGE),
        (size, build.DEFAULT_TAG),
        (bill, build.DEFAULT_TAG),
    ):
        subparser.add_argument(
            "--tag", default=tag, metavar="IMAGE", help=f"the image's name (default: {tag})"
        )
    building.add_argument(
        "--base",
        metavar="IMAGE",
        help="an image with Python 3.11 or later and its venv module "
        f"(default: {base.OFFICIAL_IMAGE}, else {base.UNPACKED_IMAGE}, made here)",
    )
    bill.add_argument(
        "--output", type=Path, metavar="FILE", help="where to write it (default: standard output)"
    )
    docker.add_argument(
        "--install",
        action="store_true",
        help="install it and start its daemon where it is missing (root, Debian or Ubuntu)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
