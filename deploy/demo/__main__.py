"""The command line: ``python -m deploy.demo``.

Exit code 0 if everything was as it should be, 1 if not, 2 for bad usage, 130 after Ctrl-C (128 plus
the signal's number after another signal).
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import shlex
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from deploy.controlplane import ControlPlane, Reporter
from deploy.demo.demonstration import Demonstration
from deploy.demo.hosting import down_command, run_control_plane
from deploy.demo.manifests import NAMESPACE
from deploy.demo.plan import (
    FEWEST_NODES,
    FEWEST_PODS,
    MOST_NODES,
    MOST_PODS_PER_NODE,
    PODS_PER_NODE,
    Plan,
    make_plan,
)
from deploy.demo.replicas import PROJECT, Replica, run_replicas
from deploy.programs.command_line import end_with
from deploy.programs.private_files import write_private
from kubeio.errors import KubeError

DEFAULT_STATE_DIRECTORY = PROJECT / ".state" / "demo"
REPLICA_COUNT = 2

_EXAMPLES = """\
examples:
  python -m deploy.demo
      100 Nodes, 500 Pods, two schedulers; less than a minute, once the control plane's programs
      have been found, downloaded or built
  python -m deploy.demo --nodes 300 --pods 2000 --no-kill
      more of everything; the leader is left alive
  python -m deploy.demo --keep
      leaves the cluster up, and says how to look around in it and how to end it
  python -m deploy.demo | tee demo.log
      plain lines instead of a live table; so does NO_COLOR=1

environment:
  KUBEBUILDER_ASSETS, KUBERNETES_VERSION, XDG_CACHE_HOME
                       as for `python -m deploy.controlplane`
  NO_COLOR             no colours, no live table
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    reporter = Reporter(console)
    return end_with(partial(_run, options, console, reporter), reporter, failures=(KubeError,))


def _run(options: argparse.Namespace, console: Console, reporter: Reporter) -> int:
    began_seconds = time.monotonic()
    plan = make_plan(options.nodes, options.pods)
    with run_control_plane(options.state_dir, reporter, keep=options.keep) as plane:
        _log_to(plane.log_path("demo"))
        reporter.step(f"starting {REPLICA_COUNT} schedulers: python -m berthmaster scheduler")
        with run_replicas(plane, REPLICA_COUNT, keep=options.keep) as replicas:
            is_good = _show(plan, plane, replicas, options, console, reporter)
            console.print()
            if options.keep:
                _tell_how_to_look(plane, replicas, options.state_dir, reporter)
            elif not is_good:
                reporter.plain("Logs of the schedulers go with the cluster: --keep leaves them.")
                for replica in replicas:
                    reporter.plain(replica.log_tail())
    elapsed_seconds = time.monotonic() - began_seconds
    result = "all as it should be" if is_good else "NOT as it should be"
    reporter.plain(f"{result}; {elapsed_seconds:.0f} s in all")
    return 0 if is_good else 1


def _log_to(path: Path) -> None:
    """Keep what libraries log out of the picture."""
    write_private(path, "")
    logging.basicConfig(filename=path, format="%(asctime)s %(levelname)s %(name)s %(message)s")


def _show(
    plan: Plan,
    plane: ControlPlane,
    replicas: list[Replica],
    options: argparse.Namespace,
    console: Console,
    reporter: Reporter,
) -> bool:
    demonstration = Demonstration(plan, plane, replicas, console=console, reporter=reporter)
    return asyncio.run(demonstration.run(kills_leader=options.kill))


def _tell_how_to_look(
    plane: ControlPlane, replicas: Sequence[Replica], state_dir: Path, reporter: Reporter
) -> None:
    ca_path = shlex.quote(str(plane.ca_path))
    reporter.plain("The cluster is kept. To look around:")
    reporter.plain(f"  export KUBECONFIG={shlex.quote(str(plane.kubeconfig_path))}")
    reporter.plain("  alias kubectl=$(python -m deploy.controlplane binaries kubectl)")
    reporter.plain(f"  kubectl get pods -n {NAMESPACE} -o wide")
    reporter.plain(f"  kubectl describe pod -n {NAMESPACE} too-large-0000")
    for replica in replicas:
        reporter.plain(f"  tail -f {shlex.quote(str(replica.log_path))}")
        reporter.plain(
            f'  curl --cacert {ca_path} -H "Authorization: Bearer $(kubectl config view --raw '
            f"-o jsonpath='{{.users[0].user.token}}')\" {replica.url}/metrics"
        )
    reporter.plain("To end it and remove its files:")
    reporter.plain(f"  {down_command(state_dir)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.demo",
        description="Fills a real control plane on this machine's loopback with Nodes and Pods, "
        "shows how Berthmaster places them, kills its leader, and checks all of it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--nodes",
        type=int,
        default=100,
        metavar="N",
        help=f"Nodes to create, {FEWEST_NODES} to {MOST_NODES} (default: 100)",
    )
    parser.add_argument(
        "--pods",
        type=int,
        metavar="N",
        help=f"Pods to create, {FEWEST_PODS} and more, at most {MOST_PODS_PER_NODE} a Node "
        f"(default: {PODS_PER_NODE} a Node)",
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave the cluster and the schedulers up"
    )
    parser.add_argument(
        "--no-kill", dest="kill", action="store_false", help="don't kill the leader"
    )
    parser.add_argument(
        "--state-dir",
        type=Path,
        default=DEFAULT_STATE_DIRECTORY,
        metavar="DIR",
        help="where the files are while it runs (default: .state/demo of this checkout)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
