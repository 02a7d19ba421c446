"""The demonstration's course: create, watch, lift the gates halfway, kill the leader, judge."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass

from rich.console import Console

from deploy.controlplane import ControlPlane, Reporter
from deploy.demo import report
from deploy.demo.access import USER_AGENT, fixed_credentials
from deploy.demo.api_server import count_accepted_bindings
from deploy.demo.cluster import ClusterWriter
from deploy.demo.figures import measure_loads, measure_speed
from deploy.demo.leader_kill import Takeover, kill_leader
from deploy.demo.plan import Plan
from deploy.demo.records import PodRecord, PodState
from deploy.demo.replicas import Replica, wait_for_leader
from deploy.demo.shapes import POD_SHAPES
from deploy.demo.verdict import Evidence, judge
from deploy.demo.view import PlacementView
from deploy.demo.watcher import Watcher
from kubeio.client import KubeClient
from kubeio.errors import KubeError
from kubeio.writes import WritePool

START_SECONDS = 60.0
EVENTS_SECONDS = 40.0
"""The scheduler may write an event up to 30 s late."""
RUNNING_SECONDS = 15.0
OBJECTS_A_SECOND = 10
"""Slower than this, on any machine, is taken for standing still."""

_POSSIBLE = tuple(shape.name for shape in POD_SHAPES if not shape.is_impossible)


@dataclass(slots=True)
class Placement:
    """What came of placing the Pods."""

    records: list[PodRecord]
    gates_lifted_seconds: float | None = None


class Demonstration:
    """One demonstration, on a control plane and with schedulers that run.

    Parameters
    ----------
    replicas
        The schedulers; one that is killed is taken out of the list.
    """

    def __init__(
        self,
        plan: Plan,
        plane: ControlPlane,
        replicas: list[Replica],
        *,
        console: Console,
        reporter: Reporter,
    ) -> None:
        self._plan = plan
        self._plane = plane
        self._replicas = replicas
        self._console = console
        self._reporter = reporter

    async def run(self, *, kills_leader: bool) -> bool:
        """Show it all; True if everything was as it should be.

        The leader is killed only if all is bound: else a Pod's waiting would have other reasons.

        Raises
        ------
        DemoError, KubeError
            If it could not be shown to its end.
        """
        credentials = fixed_credentials(
            self._plane.url, token=self._plane.token, ca_path=self._plane.ca_path
        )
        async with (
            KubeClient(credentials, user_agent=USER_AGENT) as client,
            WritePool(credentials, user_agent=USER_AGENT) as pool,
            Watcher(client, check=self._check_replicas) as watcher,
        ):
            writer = ClusterWriter(pool)
            leader = await self._prepare(writer, watcher)
            placement = await self._place(writer, watcher)
            await self._show_results(placement, watcher, leader)
            takeover = None
            if kills_leader and watcher.bound_count(_POSSIBLE) == self._plan.bound_count:
                takeover = await self._kill(leader, writer, watcher)
            accepted_count = await count_accepted_bindings(client)
        checks = judge(
            Evidence(
                plan=self._plan,
                records=watcher.pods,
                gates_lifted_seconds=placement.gates_lifted_seconds,
                accepted_binding_count=accepted_count,
                refusals=watcher.refusals,
                lapsed_nodes=frozenset(watcher.lapsed_nodes),
                takeover_seconds=None if takeover is None else takeover.seconds,
            )
        )
        report.show_checks(self._console, checks)
        return all(check.is_met for check in checks)

    def _check_replicas(self) -> None:
        for replica in self._replicas:
            replica.check_alive()

    async def _prepare(self, writer: ClusterWriter, watcher: Watcher) -> Replica:
        """Create everything but Pods, and wait until Pods can be placed; give the leader."""
        nodes = self._plan.nodes
        self._reporter.step(f"creating {len(nodes)} Nodes")
        await writer.create_basics()
        await writer.create_nodes(nodes)
        await watcher.require(
            lambda: (
                watcher.listed
                and watcher.has_service_account
                and len(watcher.ready_nodes) == len(nodes)
            ),
            timeout_seconds=START_SECONDS + len(nodes) / OBJECTS_A_SECOND,
            problem=lambda: f"only {len(watcher.ready_nodes)} of {len(nodes)} Nodes are ready",
        )
        self._reporter.step(f"{len(nodes)} Nodes are ready")
        leader = await wait_for_leader(self._replicas, timeout_seconds=START_SECONDS)
        self._reporter.step(f"{len(self._replicas)} schedulers are ready, {leader.name} leads")
        return leader

    async def _place(self, writer: ClusterWriter, watcher: Watcher) -> Placement:
        """Create all Pods and show how they are placed."""
        plan = self._plan
        self._reporter.step(f"creating {plan.pod_count} Pods")
        placement = Placement([])
        end_seconds = time.monotonic() + START_SECONDS + plan.pod_count / OBJECTS_A_SECOND
        with PlacementView(self._console, plan) as view:

            async def wait_bound(count: int) -> bool:
                def is_bound() -> bool:
                    view.show(watcher.pods)
                    return watcher.bound_count(_POSSIBLE) >= count

                return await watcher.wait(is_bound, timeout_seconds=end_seconds - time.monotonic())

            async def lift_gates_halfway() -> None:
                if await wait_bound(plan.bound_count // 2):
                    placement.gates_lifted_seconds = time.monotonic()
                    await writer.lift_gates(plan.gated)

            await _both(writer.create_workload(plan), lift_gates_halfway())
            if await wait_bound(plan.bound_count):
                await self._wait_for_followers(watcher, view)
            placement.records = watcher.pods
            view.show(placement.records, is_last=True)
        return placement

    async def _wait_for_followers(self, watcher: Watcher, view: PlacementView) -> None:
        """Wait for what follows the bindings: Pods that run, and events of those that can't."""

        def all_run() -> bool:
            view.show(watcher.pods)
            return all(pod.state is PodState.RUNNING for pod in watcher.pods if pod.node)

        def all_refused() -> bool:
            view.show(watcher.pods)
            return all(pod.name in watcher.refusals for pod in self._plan.impossible)

        running_seconds = RUNNING_SECONDS + self._plan.bound_count / OBJECTS_A_SECOND
        await watcher.wait(all_run, timeout_seconds=running_seconds)
        await watcher.wait(all_refused, timeout_seconds=EVENTS_SECONDS)

    async def _show_results(self, placement: Placement, watcher: Watcher, leader: Replica) -> None:
        console, records = self._console, placement.records
        report.show_states(console, records)
        report.show_speed(console, measure_speed(records))
        report.show_spread(console, measure_loads(self._plan.nodes, records))
        names = [pod.name for pod in self._plan.impossible]
        report.show_refusals(console, watcher.refusals, names)
        try:
            exposition = await leader.get("/metrics")
        except KubeError as error:
            exposition = ""
            self._reporter.step(f"{leader.name} does not show its metrics: {error}")
        report.show_metrics(console, exposition, url=leader.url)

    async def _kill(self, leader: Replica, writer: ClusterWriter, watcher: Watcher) -> Takeover:
        def show(seconds: float) -> None:
            self._reporter.progress(
                f"{leader.name}, the leader, was killed {seconds:.0f} s ago: waiting until "
                "another replica binds a Pod"
            )

        self._console.print()
        self._reporter.step(f"killing {leader.name}, the leader")
        takeover = await kill_leader(self._replicas, leader, writer, watcher, show=show)
        self._reporter.end_progress()
        report.show_takeover(self._console, takeover)
        return takeover


async def _both(first: Awaitable[None], second: Awaitable[None]) -> None:
    """Do two things at the same time; when one fails the other is given up."""
    tasks = [asyncio.ensure_future(first), asyncio.ensure_future(second)]
    try:
        for finished in asyncio.as_completed(tasks):
            await finished
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
