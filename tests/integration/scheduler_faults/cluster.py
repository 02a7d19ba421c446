"""Nodes and Pods of one test, apart from those of all others."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from kubeio.client import MERGE_PATCH
from tests.integration.rest import TIMEOUT_SECONDS, wait_for
from tests.integration.scheduler_faults.server import Object, Server

SCHEDULER = "berthmaster"
NODES = "/api/v1/nodes"
STAGE = "berthmaster.test/stage"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}


class Cluster:
    """A namespace, and Nodes that only its Pods select.

    Nodes have 64 CPUs and room for 500 Pods unless a test says otherwise, so that only what a
    test is about can be short. Pods request 10m of CPU.
    """

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name
        self.pods_path = f"/api/v1/namespaces/{name}/pods"
        server.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    @classmethod
    @contextmanager
    def create(cls, server: Server) -> Iterator[Self]:
        """Give an empty one, and remove it with all that is in it."""
        made = cls(server, f"t-{secrets.token_hex(4)}")
        yield made
        made.remove()

    def remove(self) -> None:
        """Delete everything, and wait until it is gone."""
        self.server.send("DELETE", self.pods_path, AT_ONCE)
        self.server.send("DELETE", f"{NODES}?labelSelector={STAGE}={self.name}", AT_ONCE)
        wait_for("all Pods are gone", lambda: not self.pods())

    def create_nodes(self, *names: str, **options: Any) -> list[str]:
        """Create Nodes; give the names that they have in the cluster."""
        made = [self.node(name, **options) for name in names]
        statuses = self.server.send_each("POST", [(NODES, node) for node in made])
        assert statuses == [201] * len(names)
        return [self.node_name(name) for name in names]

    def node_name(self, name: str) -> str:
        """Give the name in the cluster of what a test calls `name`."""
        return f"{name}.{self.name}"

    def node(
        self,
        name: str,
        *,
        cpu: str = "64",
        pods: str = "500",
        labels: dict[str, str] | None = None,
        **spec: Any,
    ) -> Object:
        """Write a Node."""
        return {
            "metadata": {
                "name": self.node_name(name),
                "labels": {STAGE: self.name, **(labels or {})},
            },
            "spec": spec,
            "status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": pods}},
        }

    def patch_node(self, name: str, patch: Object, *, subresource: str = "") -> None:
        """Merge a patch into a Node."""
        path = f"{NODES}/{self.node_name(name)}{subresource}"
        self.server.send("PATCH", path, patch, content_type=MERGE_PATCH)

    def delete_node(self, name: str) -> None:
        """Delete a Node; nobody deletes its Pods."""
        self.server.send("DELETE", f"{NODES}/{self.node_name(name)}", AT_ONCE)

    def create_pods(self, names: Iterable[str], **options: Any) -> list[str]:
        """Create Pods, in any order; give the names."""
        made = [self.pod(name, **options) for name in names]
        statuses = self.server.send_each("POST", [(self.pods_path, pod) for pod in made])
        assert statuses == [201] * len(made)
        return [pod["metadata"]["name"] for pod in made]

    def pod(
        self,
        name: str,
        *,
        cpu: str = "10m",
        selector: dict[str, str] | None = None,
        host_port: int = 0,
        **spec: Any,
    ) -> Object:
        """Write a Pod."""
        container: Object = {"name": "c", "image": "registry.example/c"}
        container["resources"] = {"requests": {"cpu": cpu}}
        if host_port:
            container["ports"] = [{"containerPort": host_port, "hostPort": host_port}]
        return {
            "metadata": {"name": name},
            "spec": {
                "schedulerName": SCHEDULER,
                "nodeSelector": {STAGE: self.name, **(selector or {})},
                "containers": [container],
                **spec,
            },
        }

    def patch_pod(self, name: str, patch: Object, *, subresource: str = "") -> None:
        """Merge a patch into a Pod."""
        path = f"{self.pods_path}/{name}{subresource}"
        self.server.send("PATCH", path, patch, content_type=MERGE_PATCH)

    def delete_pods(self, names: Sequence[str]) -> None:
        """Delete Pods at once, in any order."""
        bodies = [(f"{self.pods_path}/{name}", AT_ONCE) for name in names]
        assert self.server.send_each("DELETE", bodies) == [200] * len(names)

    def bind(self, names: Sequence[str], node_names: Sequence[str]) -> list[int]:
        """Bind as another scheduler does; give the statuses."""
        bodies: list[tuple[str, Object]] = []
        for name, node_name in zip(names, node_names, strict=True):
            target = {"kind": "Node", "name": node_name}
            binding = {"metadata": {"name": name}, "target": target}
            bodies.append((f"{self.pods_path}/{name}/binding", binding))
        return self.server.send_each("POST", bodies)

    def nodes(self) -> list[Object]:
        """Read all Nodes of this cluster."""
        found: list[Object] = self.server.get(NODES, labelSelector=f"{STAGE}={self.name}")["items"]
        return found

    def pods(self) -> list[Object]:
        """Read all Pods of this cluster."""
        found: list[Object] = self.server.get(self.pods_path)["items"]
        return found

    def nodes_by_pod(self) -> dict[str, str]:
        """Give where each Pod is, "" if it is pending."""
        return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in self.pods()}

    def wait_bound(
        self, names: Iterable[str] | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        """Wait until Pods are bound: all, or those named."""
        wanted = None if names is None else set(names)

        def is_done() -> bool:
            pending = self.pending_names()
            return not (pending if wanted is None else pending & wanted)

        wait_for("all are bound", is_done, timeout_seconds=timeout_seconds)

    def pending_names(self) -> set[str]:
        """Give the names of the Pods that are not bound."""
        found = self.server.get(self.pods_path, fieldSelector="spec.nodeName=")["items"]
        return {pod["metadata"]["name"] for pod in found}

    def wait_unschedulable(self, names: Iterable[str]) -> None:
        """Wait until Pods are said to fit nowhere."""
        wanted = set(names)
        wait_for("all are unschedulable", lambda: wanted <= self._unschedulable_names())

    def _unschedulable_names(self) -> set[str]:
        return {
            pod["metadata"]["name"]
            for pod in self.pods()
            for condition in pod["status"].get("conditions", [])
            if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable"
        }
