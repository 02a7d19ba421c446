"""The node agent on a real API server: how soon it sees Pods, what it costs at rest, its memory.

The agent starts on an empty Node, as a DaemonSet's Pod does. Pods are created, then bound within
one second, and the agent's log says when it has added each. They run; all is left alone, and the
agent's CPU is read. Then for minutes Pods are deleted and others come in their place, and its
memory is read. Beside it, in this process, operations go through its core alone.
"""

import asyncio
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import uvloop

from benchmarks.agent_operations import OperationsRun, measure_operations
from benchmarks.agent_process import NODE_NAME, AgentContestant, is_ready, seen_at_seconds
from benchmarks.cluster import PODS, Cluster, each_of, encode
from benchmarks.distributions import Distribution, distribution
from benchmarks.errors import BenchmarkError
from benchmarks.machine import Quietness, look_around
from benchmarks.manifests import ReplicaSetPods
from benchmarks.processes import Memory, read_cpu, read_memory, wait_quiet
from benchmarks.scheduler_process import SchedulerProcess, running
from benchmarks.workloads import AgentWorkload, PodTemplate, Workloads
from deploy.controlplane import ControlPlane
from kubeio.client import MERGE_PATCH

NAMESPACE: Final = "bench"
READY_TIMEOUT_SECONDS: Final = 60.0
QUIET_TIMEOUT_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.1
_CLASS_COUNT: Final = 20
_POD_LIST: Final = PODS.in_namespace(NAMESPACE)


class AgentRun(msgspec.Struct, frozen=True, kw_only=True):
    """One start of the agent.

    Attributes
    ----------
    bind_seconds
        From the first Binding sent to the last one answered.
    seen_milliseconds
        From a Binding's answer to the agent's line about the Pod; 0 where that came before.
    seen_from_request_milliseconds
        The same from when the Binding was sent.
    rest_cpu_percent
        Of one core, while nothing happened.
    memory
        After the churn.
    """

    quietness: Quietness
    bind_seconds: float
    seen_milliseconds: Distribution
    seen_from_request_milliseconds: Distribution
    rest_cpu_percent: float
    churned_pod_count: int
    memory_before_churn: Memory
    memory: Memory
    operations: OperationsRun


class AgentResult(msgspec.Struct, frozen=True):
    """All starts; `pod_bytes` is a listed Pod's mean size."""

    workload: AgentWorkload
    pod_bytes: float
    runs: tuple[AgentRun, ...]


def measure_agent(
    workloads: Workloads, *, repetitions: int, state_dir: Path, tell: Callable[[str], None]
) -> AgentResult:
    """Make all runs, each on a control plane of its own."""
    workload = workloads.agent
    runs, pod_bytes = [], 0.0
    for repetition in range(repetitions):
        with ControlPlane(state_dir, with_controller_manager=False) as plane:
            start = _Start(plane, workload, workloads.pod_pools[workload.pod_pool])
            run = start.measure(tell)
            pod_bytes = start.pod_bytes
        runs.append(run)
        tell(
            f"agent, {repetition + 1} of {repetitions}: seen p99 "
            f"{run.seen_milliseconds.p99:.0f} ms, {run.rest_cpu_percent:.2f} % at rest, "
            f"{run.memory.proportional / 2**20:.1f} MiB PSS, "
            f"{run.operations.seconds:.2f} s for {run.operations.operation_count} operations"
        )
    return AgentResult(workload, pod_bytes, tuple(runs))


class _Start:
    """One start of the agent on an empty Node."""

    def __init__(
        self, plane: ControlPlane, workload: AgentWorkload, pool: tuple[PodTemplate, ...]
    ) -> None:
        self._plane = plane
        self._workload = workload
        self._contestant = AgentContestant()
        self._log = plane.directory.log(self._contestant.name)
        self._pods = ReplicaSetPods(
            pool,
            scheduler_name="nobody",
            environment_variable_count=workload.environment_variable_count,
        )
        self._numbers = itertools.count()
        self.pod_bytes = 0.0

    def measure(self, tell: Callable[[str], None]) -> AgentRun:
        """Do it."""
        quietness = look_around(tell)
        with running(self._contestant, self._plane) as process:
            return uvloop.run(self._measure(process, quietness, tell))

    async def _measure(
        self, process: SchedulerProcess, quietness: Quietness, tell: Callable[[str], None]
    ) -> AgentRun:
        workload = self._workload
        async with Cluster.connect(self._plane.kubeconfig_path) as cluster:
            await self._wait_for("the agent is ready", process, lambda: is_ready(self._log))
            await cluster.create_namespace(NAMESPACE)
            names = [await self._create(cluster) for _ in range(workload.pod_count)]
            tell(f"agent: binding {len(names)} Pods in a second")
            sent, answered = await self._bind(cluster, names)
            await self._wait_for(
                "all Pods are seen",
                process,
                lambda: seen_at_seconds(self._log).keys() >= set(names),
            )
            seen = seen_at_seconds(self._log)
            await each_of(names, lambda name: self._run(cluster, name), concurrency=8)
            self.pod_bytes = await cluster.mean_pod_bytes()
            alone_seconds = workload.settle_seconds + workload.rest_seconds
            tell(f"agent: leaving it alone for {alone_seconds} s")
            rest_cpu_percent = await self._rest(process)
            before = read_memory(process.pid)
            tell(f"agent: {workload.churn_seconds} s of Pods that come and go")
            churned = await self._churn(cluster, names)
            process.check_alive()
            await self._rest_quietly(process)
            memory = read_memory(process.pid)
        return AgentRun(
            quietness=quietness,
            bind_seconds=max(answered.values()) - min(sent.values()),
            seen_milliseconds=_milliseconds(answered, seen),
            seen_from_request_milliseconds=_milliseconds(sent, seen),
            rest_cpu_percent=rest_cpu_percent,
            churned_pod_count=churned,
            memory_before_churn=before,
            memory=memory,
            operations=measure_operations(workload.pod_count, workload.operation_count),
        )

    async def _create(self, cluster: Cluster, node: str = "") -> str:
        """Create a Pod, bound if a Node is given; give its name."""
        number = next(self._numbers)
        pod = self._pods.pod(number % _CLASS_COUNT, namespace=NAMESPACE, node_name=node)
        await cluster.create(_POD_LIST, encode(pod))
        return str(pod["metadata"]["name"])

    async def _bind(
        self, cluster: Cluster, names: list[str]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Bind Pods at an even pace, all in one second; give when each was sent and answered."""
        sent: dict[str, float] = {}
        answered: dict[str, float] = {}
        began = time.monotonic()

        async def bind(number: int, name: str) -> None:
            await asyncio.sleep(max(0.0, began + number / len(names) - time.monotonic()))
            sent[name] = time.time()
            await cluster.bind(_POD_LIST, name, NODE_NAME)
            answered[name] = time.time()

        async with asyncio.TaskGroup() as group:
            for number, name in enumerate(names):
                group.create_task(bind(number, name))
        return sent, answered

    async def _run(self, cluster: Cluster, name: str) -> None:
        """Write the status of a Pod that runs, as its kubelet would."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
        container = {
            "name": "app",
            "image": "app",
            "imageID": "app",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": at}},
        }
        status = {
            "phase": "Running",
            "startTime": at,
            "podIP": "10.0.0.1",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": at} for kind in kinds
            ],
            "containerStatuses": [container],
        }
        await cluster.client.send_json(
            "PATCH",
            _POD_LIST.object(name, "status"),
            {"status": status},
            dict[str, Any],
            content_type=MERGE_PATCH,
        )

    async def _churn(self, cluster: Cluster, names: list[str]) -> int:
        """Have the oldest Pod deleted and another come, again and again; give how many did."""
        workload, count = self._workload, 0
        began = time.monotonic()
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        while time.monotonic() < began + workload.churn_seconds:
            await cluster.client.send_json(
                "DELETE", _POD_LIST.object(names.pop(0)), options, dict[str, Any]
            )
            names.append(await self._create(cluster, NODE_NAME))
            await self._run(cluster, names[-1])
            count += 1
            due = began + count / workload.churned_pods_per_second
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        return count

    async def _rest(self, process: SchedulerProcess) -> float:
        """Give the agent's CPU, in percent of a core, while nothing happens."""
        await asyncio.sleep(self._workload.settle_seconds)
        await self._rest_quietly(process)
        began, before = time.monotonic(), read_cpu({"agent": process.pid})["agent"]
        await asyncio.sleep(self._workload.rest_seconds)
        used_seconds = read_cpu({"agent": process.pid})["agent"] - before
        return 100 * used_seconds / (time.monotonic() - began)

    async def _rest_quietly(self, process: SchedulerProcess) -> None:
        pids = {**self._plane.pids, "agent": process.pid}
        if await wait_quiet(pids, timeout_seconds=QUIET_TIMEOUT_SECONDS) is None:
            raise BenchmarkError("the processes do not come to rest")

    async def _wait_for(
        self, what: str, process: SchedulerProcess, is_true: Callable[[], bool]
    ) -> None:
        deadline_seconds = time.monotonic() + READY_TIMEOUT_SECONDS
        while not is_true():
            process.check_alive()
            if time.monotonic() > deadline_seconds:
                raise BenchmarkError(f"not within {READY_TIMEOUT_SECONDS:.0f} s: {what}")
            await asyncio.sleep(_POLL_SECONDS)


def _milliseconds(since: dict[str, float], seen: dict[str, float]) -> Distribution:
    return distribution([1000 * max(0.0, seen[name] - at) for name, at in since.items()])
