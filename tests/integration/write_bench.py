"""A real API server behind the fault proxy, for tests of what writes to it."""

import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from deploy.controlplane import ControlPlane
from kubeio.client import KubeClient, Lane
from kubeio.credentials import Credentials
from kubeio.errors import NotFoundError
from kubeio.resources import ResourcePath
from kubeio.writes import WritePool
from scheduler_svc.core.effects import PodReference
from tests.faultproxy import FaultProxy, Match, RequestRecord, wait_until

PODS = ResourcePath("", "v1", "pods", "default")
EVENTS = ResourcePath("events.k8s.io", "v1", "events", "default")
SCHEDULER_NAME = "berthmaster"


@dataclass
class WriteBench:
    """`pool` and `client` go through the proxy, `direct` does not."""

    proxy: FaultProxy
    direct: KubeClient
    pool: WritePool
    client: KubeClient
    made: list[PodReference] = field(default_factory=list)

    async def create_pod(self, **spec: Any) -> PodReference:
        """Create a Pod that nobody schedules."""
        metadata = {"name": f"pod-{secrets.token_hex(5)}", **spec.pop("metadata", {})}
        pod = {
            "metadata": metadata,
            "spec": {
                "schedulerName": SCHEDULER_NAME,
                "containers": [{"name": "a", "image": "registry.example/a"}],
                **spec,
            },
        }
        stored = await self._send("POST", PODS.collection, pod)
        made = PodReference("default", metadata["name"], stored["metadata"]["uid"])
        self.made.append(made)
        return made

    async def read_pod(self, pod: PodReference) -> dict[str, Any]:
        """Read a Pod that has to be there."""
        return await self.direct.get_json(PODS.object(pod.name), dict)

    async def node_name(self, pod: PodReference) -> str | None:
        """Give the Node that a Pod is bound to."""
        name: str | None = (await self.read_pod(pod))["spec"].get("nodeName")
        return name

    async def delete_pod(self, pod: PodReference) -> None:
        """Delete a Pod that is not bound: at once, unless it has a finalizer."""
        await self._send("DELETE", PODS.object(pod.name), {})

    async def clear(self) -> None:
        """Remove the Pods that were made, finalizers or not: others use this control plane too."""
        for name in {pod.name for pod in self.made}:
            with contextlib.suppress(NotFoundError):
                await self.direct.call(
                    "PATCH",
                    PODS.object(name),
                    body=b'{"metadata": {"finalizers": null}}',
                    content_type="application/merge-patch+json",
                )
                await self._send("DELETE", PODS.object(name), {"gracePeriodSeconds": 0})

    async def bind(self, pod: PodReference, node_name: str) -> None:
        """Bind a Pod as somebody else would."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node_name}
        binding = {"metadata": {"name": pod.name}, "target": target}
        await self._send("POST", PODS.object(pod.name, "binding"), binding)

    async def condition(self, pod: PodReference) -> dict[str, Any]:
        """Give a Pod's PodScheduled condition; empty if it has none."""
        conditions = (await self.read_pod(pod))["status"].get("conditions", [])
        return next((c for c in conditions if c["type"] == "PodScheduled"), {})

    async def events(self, pod: PodReference) -> list[dict[str, Any]]:
        """Give the Events of a Pod, oldest first."""
        found = await self.direct.get_json(
            EVENTS.collection, dict, params={"fieldSelector": f"regarding.uid={pod.uid}"}
        )
        return sorted(found["items"], key=lambda event: str(event["eventTime"]))

    async def exists(self, path: str) -> bool:
        """Tell whether an object is there."""
        try:
            await self.direct.call("GET", path)
        except NotFoundError:
            return False
        return True

    def count(self, match: Match) -> int:
        """Count the requests that came through the proxy."""
        return self.proxy.count(lambda request: match.matches(request.method, request.target))

    def seen(self, predicate: Callable[[RequestRecord], bool]) -> list[str]:
        """Give the methods of the requests that came through the proxy, in order."""
        return [request.method for request in self.proxy.requests if predicate(request)]

    async def _send(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self.direct.call(
            method, path, body=msgspec.json.encode(body), lane=Lane.WRITES
        )
        decoded: dict[str, Any] = msgspec.json.decode(answer.body)
        return decoded


def count_sockets() -> int:
    """Count the sockets that this process has open."""
    names = []
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the listing is closed by now
            names.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return sum(name.startswith("socket:") for name in names)


@asynccontextmanager
async def write_bench(control_plane: ControlPlane, directory: Path) -> AsyncIterator[WriteBench]:
    """Start a proxy, and clients on both sides of it."""
    socket_count = count_sockets()
    async with (
        FaultProxy(
            control_plane.url,
            ca_path=control_plane.ca_path,
            token=control_plane.token,
            directory=directory,
        ) as proxy,
        KubeClient(
            await Credentials.load(str(control_plane.kubeconfig_path)), user_agent="test"
        ) as direct,
        WritePool(await Credentials.load(str(proxy.kubeconfig_path)), user_agent="test") as pool,
        KubeClient(await Credentials.load(str(proxy.kubeconfig_path)), user_agent="test") as client,
    ):
        bench = WriteBench(proxy, direct, pool, client)
        try:
            yield bench
        finally:
            await bench.clear()
    # A TLS connection that was broken off needs some rounds of the event loop to be closed.
    await wait_until(lambda: count_sockets() <= socket_count, what="all sockets are closed")
