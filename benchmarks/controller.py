"""The controller beside many groups: what it costs to begin again, and to be there.

A real API server has groups of Pods, half of which run while the others do not fit. A
controller that has never seen them writes their statuses; then it is ended, and another one
starts, as after an upgrade: when has it judged all of them, what has it written, and what
memory does it take? It runs as in a Pod, without a kubeconfig.
"""

import asyncio
import re
import ssl
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
import yaml

from benchmarks.cluster import PODS, Cluster, each_of, encode
from benchmarks.errors import BenchmarkError
from benchmarks.footprint import mebibytes
from benchmarks.machine import Quietness, look_around
from benchmarks.processes import Memory, read_cpu, read_memory
from benchmarks.scheduler_process import SchedulerProcess, running
from benchmarks.service_account import as_in_a_pod
from benchmarks.workloads import ControllerWorkload, Workloads
from deploy.controlplane import ControlPlane
from kubeio.client import MERGE_PATCH
from kubeio.resources import ResourcePath

ROOT: Final = Path(__file__).resolve().parents[1]
DEFINITION: Final = ROOT / "charts/berthmaster/crds/podgroups.scheduling.x-k8s.io.yaml"
GROUPS: Final = ResourcePath("scheduling.x-k8s.io", "v1alpha1", "podgroups", "default")
MEMBERS: Final = PODS.in_namespace("default")
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


class ControllerResult(msgspec.Struct, frozen=True):
    """All runs."""

    workload: ControllerWorkload
    runs: tuple[ControllerRun, ...]


def measure_controller(
    workloads: Workloads, *, repetitions: int, state_dir: Path, tell: Callable[[str], None]
) -> ControllerResult:
    """Make all runs, each on a control plane of its own."""
    workload = workloads.controller
    return ControllerResult(
        workload, tuple(_run(workload, state_dir, tell) for _ in range(repetitions))
    )


def _run(
    workload: ControllerWorkload, state_dir: Path, tell: Callable[[str], None]
) -> ControllerRun:
    with ControlPlane(state_dir, with_controller_manager=False) as plane:
        quietness = look_around(tell)
        tell(f"controller: creating {workload.group_count} groups of {workload.member_count} Pods")
        asyncio.run(_fill(plane, workload.group_count, workload.member_count))
        starts = []
        for name in ("controller-first", "controller-again"):
            with running(Contestant(name), plane) as process:
                starts.append(asyncio.run(_watch(plane, process, workload.group_count)))
            tell(
                f"{name}: {starts[-1].known_seconds:.1f} s, {starts[-1].write_count} written, "
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
        write_count=round(add_up(scrape, "berthmaster_controller_status_writes_total")),
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
        is_idle = add_up(scrape, "berthmaster_controller_queue_depth") == 0
        if is_idle and add_up(scrape, "berthmaster_pod_groups") == group_count:
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


def add_up(scrape: str, name: str) -> float:
    """Add up all samples of a metric."""
    pattern = re.compile(rf"^{name}(?:{{[^}}]*}})? (\S+)$", re.MULTILINE)
    return sum(float(value) for value in pattern.findall(scrape))
