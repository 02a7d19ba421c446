"""The controller beside many groups: ``python -m benchmarks.controller``.

A real API server has groups of Pods, half of which run while the others do not fit. A
controller that has never seen them writes their statuses; then it is ended, and another one
starts, as after an upgrade: when has it judged all of them, what has it written, and what
memory does it take? It runs as in a Pod, without a kubeconfig. The table goes to standard
output, progress to standard error.
"""

import argparse
import asyncio
import re
import ssl
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
import yaml
from rich.console import Console

from benchmarks.cluster import PODS, Cluster, each_of, encode
from benchmarks.errors import BenchmarkError
from benchmarks.footprint import mebibytes
from benchmarks.machine import Quietness, describe_quietness, look_around, use_cores
from benchmarks.pod_entry import as_in_a_pod
from benchmarks.processes import Memory, read_cpu, read_memory
from benchmarks.scheduler_process import SchedulerProcess, running
from benchmarks.tables import Table, show
from benchmarks.verdicts import at_most, cell, middle
from deploy.controlplane import ControlPlane, DeployError, Reporter
from deploy.programs import interrupts
from kubeio.client import MERGE_PATCH
from kubeio.errors import KubeError
from kubeio.resources import ResourcePath

ROOT: Final = Path(__file__).resolve().parents[1]
DEFINITION: Final = ROOT / "charts/berthmaster/crds/podgroups.scheduling.x-k8s.io.yaml"
STATE_DIRECTORY: Final = ROOT / ".state" / "benchmarks" / "control-plane"
GROUPS: Final = ResourcePath("scheduling.x-k8s.io", "v1alpha1", "podgroups", "default")
MEMBERS: Final = PODS.in_namespace("default")
GOAL_RESTART_SECONDS: Final = 30.0
GOAL_MEMORY_MEBIBYTES: Final = 150.0
TIMEOUT_SECONDS: Final = 600.0
_CONCURRENCY: Final = 16
_POLL_SECONDS: Final = 0.25
_SETTLE_SECONDS: Final = 60.0
_MESSAGE: Final = (
    "pod group {group}: needs 8, 6 fit: 2 lack nvidia.com/gpu; 0/500 nodes are available: "
    "500 Insufficient nvidia.com/gpu. preemption: 0/500 nodes are available: 500 No preemption "
    "victims found for incoming pod."
)


class Start(msgspec.Struct, frozen=True):
    """One start of the controller.

    Attributes
    ----------
    known_seconds
        From the process's begin until all groups have been judged.
    write_count
        Statuses that it has written by then.
    changed_count
        Groups whose resourceVersion is another than before.
    memory
        A minute later.
    """

    known_seconds: float
    cpu_seconds: float
    write_count: int
    changed_count: int
    memory: Memory


class ControllerRun(msgspec.Struct, frozen=True):
    """A first start, and one after it."""

    quietness: Quietness
    first: Start
    again: Start


class Contestant:
    """Runs ``berthmaster controller`` as in a Pod; each start has a name, and so a log."""

    scheduler_name = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def command(self, plane: ControlPlane) -> Sequence[str | Path]:
        """Give its command line."""
        return (
            *as_in_a_pod(plane, "controller"),
            *("--bind-address", "127.0.0.1", "--secure-port", "0"),
            *("--authorization", "none", "--leader-elect=false"),
        )


def measure_controller(
    group_count: int, member_count: int, *, state_dir: Path, tell: Callable[[str], None]
) -> ControllerRun:
    """Make one run on a control plane of its own."""
    with ControlPlane(state_dir, with_controller_manager=False) as plane:
        quietness = look_around(tell)
        tell(f"controller: creating {group_count} groups of {member_count} Pods")
        asyncio.run(_fill(plane, group_count, member_count))
        starts = []
        for name in ("controller-first", "controller-again"):
            with running(Contestant(name), plane) as process:
                starts.append(asyncio.run(_watch(plane, process, group_count)))
            tell(
                f"{name}: {starts[-1].known_seconds:.1f} s, "
                f"{starts[-1].write_count} written, "
                f"{mebibytes(starts[-1].memory.resident):.1f} MiB"
            )
    return ControllerRun(quietness, *starts)


async def _fill(plane: ControlPlane, group_count: int, member_count: int) -> None:
    """Create groups and members; every second group runs, the others do not fit."""
    async with Cluster.connect(plane.kubeconfig_path) as cluster:
        definition = yaml.safe_load(DEFINITION.read_text())
        await cluster.create_at(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", encode(definition)
        )
        await _wait_served(cluster)
        names = [f"group-{number}" for number in range(group_count)]
        await each_of(
            names, lambda name: _create_group(cluster, name, member_count), concurrency=_CONCURRENCY
        )


async def _wait_served(cluster: Cluster) -> None:
    deadline_seconds = time.monotonic() + TIMEOUT_SECONDS
    while not (await cluster.client.request("GET", GROUPS.collection)).ok:
        if time.monotonic() > deadline_seconds:
            raise BenchmarkError("PodGroups are not served")
        await asyncio.sleep(_POLL_SECONDS)


async def _create_group(cluster: Cluster, group: str, member_count: int) -> None:
    body = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": group},
        "spec": {"minMember": member_count},
    }
    await cluster.create(GROUPS, encode(body))
    is_running = int(group.rpartition("-")[2]) % 2 == 0
    for number in range(member_count):
        await _create_member(cluster, group, f"{group}-{number}", is_running=is_running)


async def _create_member(cluster: Cluster, group: str, name: str, *, is_running: bool) -> None:
    """Create a Pod as a scheduler and a kubelet leave it."""
    spec = {
        "schedulerName": "berthmaster",
        "automountServiceAccountToken": False,
        "containers": [{"name": "app", "image": "app"}],
    }
    labels = {"scheduling.x-k8s.io/pod-group": group}
    pod = {"metadata": {"name": name, "labels": labels}, "spec": spec}
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": _MESSAGE.format(group=group),
    }
    status: dict[str, Any] = {"conditions": [condition]}
    if is_running:
        spec["nodeName"], status = "node-1", {"phase": "Running"}
    await cluster.create(MEMBERS, encode(pod))
    await cluster.client.send_json(
        "PATCH",
        MEMBERS.object(name, "status"),
        {"status": status},
        dict[str, Any],
        content_type=MERGE_PATCH,
    )


async def _watch(plane: ControlPlane, process: SchedulerProcess, group_count: int) -> Start:
    """Wait until all groups have been judged and nothing is left to do."""
    log = plane.directory.log(process.name)
    async with Cluster.connect(plane.kubeconfig_path) as cluster, aiohttp.ClientSession() as web:
        before = await _versions(cluster)
        port = await _port(process, log)
        scrape = await _until_known(web, port, process, group_count)
        known_seconds = time.perf_counter() - process.started_at_seconds
        cpu_seconds = read_cpu({"controller": process.pid})["controller"]
        await asyncio.sleep(_SETTLE_SECONDS)
        process.check_alive()
        memory = read_memory(process.pid)
        after = await _versions(cluster)
    return Start(
        known_seconds=known_seconds,
        cpu_seconds=cpu_seconds,
        write_count=round(_sum(scrape, "berthmaster_controller_status_writes_total")),
        changed_count=sum(before[name] != version for name, version in after.items()),
        memory=memory,
    )


async def _until_known(
    web: aiohttp.ClientSession, port: int, process: SchedulerProcess, group_count: int
) -> str:
    """Give the metrics as soon as they tell of all groups, and of nothing left to do."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    deadline_seconds = time.monotonic() + TIMEOUT_SECONDS
    while True:
        process.check_alive()
        if time.monotonic() > deadline_seconds:
            raise BenchmarkError(f"not all groups are judged after {TIMEOUT_SECONDS:.0f} s")
        async with web.get(f"https://127.0.0.1:{port}/metrics", ssl=context) as answer:
            scrape = await answer.text()
        is_idle = _sum(scrape, "berthmaster_controller_queue_depth") == 0
        if is_idle and _sum(scrape, "berthmaster_pod_groups") == group_count:
            return scrape
        await asyncio.sleep(_POLL_SECONDS)


async def _port(process: SchedulerProcess, log: Path) -> int:
    """Give the port that the log names."""
    deadline_seconds = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline_seconds:
        process.check_alive()
        if (port := _read_port(log)) is not None:
            return port
        await asyncio.sleep(_POLL_SECONDS)
    raise BenchmarkError("the controller does not serve")


def _read_port(log: Path) -> int | None:
    found = re.search(r"Serving securely.*port=(\d+)", log.read_text())
    return int(found[1]) if found else None


async def _versions(cluster: Cluster) -> dict[str, str]:
    listed = await cluster.client.get_json(GROUPS.collection, dict[str, Any])
    return {
        item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in listed["items"]
    }


def _sum(scrape: str, name: str) -> float:
    """Add up all samples of a metric."""
    pattern = re.compile(rf"^{name}(?:{{[^}}]*}})? (\S+)$", re.MULTILINE)
    return sum(float(value) for value in pattern.findall(scrape))


def controller_table(
    runs: Sequence[ControllerRun], *, group_count: int, member_count: int
) -> Table:
    """Show the figures of all runs."""

    def row(
        name: str, figure: Callable[[ControllerRun], float], digits: int, limit: float | None = None
    ) -> tuple[str, ...]:
        verdict = "" if limit is None else at_most(middle(runs, figure), limit)
        return name, cell(runs, figure, digits), verdict

    rows = (
        row("first start: all statuses written after, s", lambda r: r.first.known_seconds, 1),
        row("first start: statuses written", lambda r: r.first.write_count, 0),
        row("first start: CPU, s", lambda r: r.first.cpu_seconds, 1),
        row(
            "restart: all groups judged after, s",
            lambda r: r.again.known_seconds,
            1,
            GOAL_RESTART_SECONDS,
        ),
        row("restart: statuses written", lambda r: r.again.write_count, 0, 0),
        row("restart: groups that changed", lambda r: r.again.changed_count, 0, 0),
        row("restart: CPU, s", lambda r: r.again.cpu_seconds, 1),
        row(
            "restart: resident a minute later, MiB",
            lambda r: mebibytes(r.again.memory.resident),
            1,
            GOAL_MEMORY_MEBIBYTES,
        ),
        row("restart: PSS, MiB", lambda r: mebibytes(r.again.memory.proportional), 1),
        row(
            "restart: resident, most, MiB",
            lambda r: mebibytes(r.again.memory.peak_resident),
            1,
            GOAL_MEMORY_MEBIBYTES,
        ),
        row(
            "first start: resident, most, MiB",
            lambda r: mebibytes(r.first.memory.peak_resident),
            1,
            GOAL_MEMORY_MEBIBYTES,
        ),
    )
    title = f"Controller: {group_count:,} groups of {member_count} Pods"
    return Table(title, ("", "controller", "to reach"), rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    reporter = Reporter(Console(highlight=False, soft_wrap=True, stderr=True))
    interrupts.raise_on_termination()
    use_cores(2)
    try:
        runs = [
            measure_controller(
                options.groups, options.members, state_dir=options.state_dir, tell=reporter.step
            )
            for _ in range(options.runs)
        ]
    except (BenchmarkError, DeployError, KubeError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    console = Console(highlight=False)
    quietness = describe_quietness([run.quietness for run in runs])
    console.print(f"- Before the runs: {quietness}", soft_wrap=True, markup=False)
    show(
        [controller_table(runs, group_count=options.groups, member_count=options.members)], console
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.controller", description=__doc__)
    parser.add_argument("--groups", type=int, default=1000, metavar="N", help="default: 1000")
    parser.add_argument("--members", type=int, default=8, metavar="N", help="each; default: 8")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument(
        "--state-dir",
        type=Path,
        default=STATE_DIRECTORY,
        metavar="DIRECTORY",
        help="for the control plane while it runs",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
