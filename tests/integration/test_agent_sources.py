"""The API server as a source of Pods: a real one, and a proxy that takes it away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.source import Timing
from node_agent.core.agent import NodeAgent
from node_agent.core.operations import Source
from node_agent.core.pod_workers import WorkerState
from node_agent.shell.api_source import ApiSource
from node_agent.shell.journal import Journal
from node_agent.shell.sync_loop import SyncLoop
from node_agent.shell.update_channel import UpdateChannel
from tests.faultproxy import wait_until
from tests.faultproxy.proxy import FaultProxy
from tests.integration.rest import create, request
from tests.unit.node_agent.shell.lists import Lists, stop

pytestmark = pytest.mark.integration

QUICK = Timing(idle_seconds=(5.0, 5.0), page_seconds=5.0, headers_seconds=5.0)


class Node:
    """A Node of a test's own, and its Pods."""

    def __init__(self, plane: ControlPlane, name: str) -> None:
        self.plane = plane
        self.name = name
        self.namespaces = [f"{name}-1", f"{name}-2"]
        for namespace in self.namespaces:
            create(plane, "/api/v1/namespaces", {"metadata": {"name": namespace}})

    def path(self, name: str = "", namespace: int = 0) -> str:
        return f"/api/v1/namespaces/{self.namespaces[namespace]}/pods/{name}".rstrip("/")

    def bind(self, name: str, *, node: str | None = None, namespace: int = 0) -> None:
        """Create a Pod that is bound from the beginning."""
        spec = {
            "nodeName": node or self.name,
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "i:1"}],
        }
        body: dict[str, Any] = {"metadata": {"name": name}, "spec": spec}
        create(self.plane, self.path(namespace=namespace), body)

    def patch(self, name: str, body: dict[str, Any]) -> None:
        """Change a Pod by writing it anew."""
        _, pod = request(self.plane, "GET", self.path(name))
        for key, value in body.items():
            pod["metadata"][key] = value
        status, answer = request(self.plane, "PUT", self.path(name), pod)
        assert status == 200, answer

    def delete(self, name: str, grace_seconds: int = 0) -> None:
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": grace_seconds,
        }
        status, answer = request(self.plane, "DELETE", self.path(name), options)
        assert status == 200, answer


@asynccontextmanager
async def watching(kubeconfig: Path, node: str, lists: Lists) -> AsyncIterator[ApiSource]:
    async with KubeClient(await Credentials.load(str(kubeconfig)), user_agent="test") as client:
        source = ApiSource(client, node, lists.emit, timing=QUICK)
        task = asyncio.create_task(source.run())
        try:
            yield source
        finally:
            await stop(task)


async def test_pods_of_the_node_come_change_and_go(control_plane: ControlPlane) -> None:
    node, lists = await asyncio.to_thread(Node, control_plane, "agent-source"), Lists()
    async with watching(control_plane.kubeconfig_path, node.name, lists) as source:
        assert source.problem() == "pods not listed yet"
        await lists.wait_for()
        assert lists.names == [[]]
        assert source.problem() is None
        await asyncio.to_thread(node.bind, "a")
        await lists.wait_for("a")
        await asyncio.to_thread(node.bind, "elsewhere", node="another-node")
        await asyncio.to_thread(node.bind, "a", namespace=1)
        await lists.wait_for("a", "a")
        assert {pod.metadata.namespace for pod in lists.events[-1].pods} == set(node.namespaces)
        await asyncio.to_thread(node.patch, "a", {"labels": {"x": "1"}})
        await wait_until(
            lambda: {"x": "1"} in [pod.metadata.labels for pod in lists.events[-1].pods],
            what="the label",
        )
        await asyncio.to_thread(node.delete, "a", 30)
        await wait_until(
            lambda: any(pod.metadata.deletion_timestamp for pod in lists.events[-1].pods),
            what="the graceful deletion",
        )
        await asyncio.to_thread(node.delete, "a")
        await lists.wait_for("a")
    assert not any("elsewhere" in names for names in lists.names)
    received = [event.received.monotonic_seconds for event in lists.events]
    assert received == sorted(received)


async def test_the_first_list_is_whole(control_plane: ControlPlane) -> None:
    node, lists = await asyncio.to_thread(Node, control_plane, "agent-whole"), Lists()
    for number in range(5):
        await asyncio.to_thread(node.bind, f"p{number}")
    async with watching(control_plane.kubeconfig_path, node.name, lists):
        await lists.wait_for(*(f"p{number}" for number in range(5)))
    assert len(lists.names[0]) == 5


async def test_the_selector_is_the_same_on_list_and_watch(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    lists = Lists()
    async with proxied(control_plane, tmp_path) as proxy:
        async with watching(proxy.kubeconfig_path, "agent-selector", lists):
            await lists.wait_for()
            await wait_until(lambda: len(proxy.requests) >= 2, what="list and watch")
        targets = [one.target for one in proxy.requests if one.target.startswith("/api/v1/pods")]
    assert len(targets) >= 2
    assert all("fieldSelector=spec.nodeName%3Dagent-selector" in target for target in targets)


async def test_while_the_api_server_is_away_what_is_known_stays(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    node, lists = await asyncio.to_thread(Node, control_plane, "agent-outage"), Lists()
    await asyncio.to_thread(node.bind, "stays")
    await asyncio.to_thread(node.bind, "goes")
    async with (
        proxied(control_plane, tmp_path) as proxy,
        watching(proxy.kubeconfig_path, node.name, lists) as source,
    ):
        await lists.wait_for("goes", "stays")
        await proxy.refuse_connections()
        await wait_until(
            lambda: source.reflector.problem(max_failing_seconds=0.0), what="the outage is told"
        )
        problem = source.reflector.problem(max_failing_seconds=0.0) or ""
        assert problem.startswith("nothing heard of pods for ")
        before = len(lists.events)
        await asyncio.to_thread(node.delete, "goes")
        await asyncio.to_thread(node.bind, "comes")
        assert len(lists.events) == before
        await proxy.accept_connections()
        await lists.wait_for("comes", "stays")
        await wait_until(lambda: source.problem() is None, what="all is well")
    uids = {
        pod.metadata.uid
        for event in lists.events
        for pod in event.pods
        if pod.metadata.name == "stays"
    }
    assert len(uids) == 1


async def test_a_pod_made_anew_under_its_name_in_an_outage_is_another(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    node, lists = await asyncio.to_thread(Node, control_plane, "agent-anew"), Lists()
    await asyncio.to_thread(node.bind, "a")
    async with (
        proxied(control_plane, tmp_path) as proxy,
        watching(proxy.kubeconfig_path, node.name, lists),
    ):
        await lists.wait_for("a")
        uid = lists.events[-1].pods[0].metadata.uid
        await proxy.refuse_connections()
        await asyncio.to_thread(node.delete, "a")
        await asyncio.to_thread(node.bind, "a")
        await proxy.accept_connections()
        await wait_until(
            lambda: [p.metadata.uid for p in lists.events[-1].pods] not in ([], [uid]),
            what="the new Pod",
        )
        assert lists.names[-1] == ["a"]


@asynccontextmanager
async def proxied(plane: ControlPlane, directory: Path) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(
        plane.url, ca_path=plane.ca_path, token=plane.token, directory=directory
    ) as proxy:
        yield proxy


async def test_the_shadow_follows_a_nodes_pods_from_bound_to_gone(
    control_plane_with_kwok: ControlPlane,
) -> None:
    plane, count = control_plane_with_kwok, 20
    node = await asyncio.to_thread(Node, plane, "agent-kwok")
    body = {
        "metadata": {"name": node.name, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }
    await asyncio.to_thread(create, plane, "/api/v1/nodes", body)
    agent, channel = NodeAgent([Source.API]), UpdateChannel()
    loop = SyncLoop(agent, channel, Journal())

    def states() -> list[WorkerState]:
        return [worker.state for worker in agent.workers.workers.values()]

    def phases() -> list[str]:
        return [pod.status.phase for pod in agent.known.pods()]

    credentials = await Credentials.load(str(plane.kubeconfig_path))
    async with KubeClient(credentials, user_agent="test") as client:
        source = ApiSource(client, node.name, channel.put, timing=QUICK)
        tasks = [asyncio.create_task(work) for work in (source.run(), loop.run())]
        names = [f"p{number}" for number in range(count)]
        for name in names:
            await asyncio.to_thread(node.bind, name)
        await wait_until(lambda: phases() == ["Running"] * count, what="all run")
        assert states() == [WorkerState.SYNC] * count
        for name in names:
            await asyncio.to_thread(node.delete, name, 30)
        await wait_until(lambda: states() == [], what="all workers have finished")
        assert phases() == []
        for task in tasks:
            await stop(task)
