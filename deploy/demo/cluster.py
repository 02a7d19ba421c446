"""Creates what the demonstration shows, many objects at a time.

What the API server refuses ends the demonstration, with its words: on a cluster that is made for
this nothing may be refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable

import msgspec

from deploy.demo import manifests
from deploy.demo.errors import DemoError
from deploy.demo.manifests import NAMESPACE, Manifest
from deploy.demo.plan import Plan, PlannedNode, PlannedPod
from kubeio.client import MERGE_PATCH
from kubeio.errors import from_response
from kubeio.resources import ResourcePath
from kubeio.response import Response
from kubeio.writes import WritePool

NAMESPACES = ResourcePath("", "v1", "namespaces")
NODES = ResourcePath("", "v1", "nodes")
PODS = ResourcePath("", "v1", "pods", NAMESPACE)
PRIORITY_CLASSES = ResourcePath("scheduling.k8s.io", "v1", "priorityclasses")
DEPLOYMENTS = ResourcePath("apps", "v1", "deployments", NAMESPACE)
WRITES_AT_ONCE = 16


class ClusterWriter:
    """Creates and changes the demonstration's objects through ``pool``."""

    def __init__(self, pool: WritePool) -> None:
        self._pool = pool
        self._gate = asyncio.Semaphore(WRITES_AT_ONCE)

    async def create_basics(self) -> None:
        """Create the namespace and the priority classes."""
        await self._create(NAMESPACES, manifests.namespace())
        await _all(
            self._create(PRIORITY_CLASSES, manifest) for manifest in manifests.priority_classes()
        )

    async def create_nodes(self, nodes: Iterable[PlannedNode]) -> None:
        """Create Nodes."""
        await _all(self._create(NODES, manifests.node(node)) for node in nodes)

    async def create_workload(self, plan: Plan) -> None:
        """Create all Pods in their order, and at the same time the Deployment."""
        replicas = plan.counts[manifests.DEPLOYMENT_SHAPE.name]
        await _all(
            [
                self._create(DEPLOYMENTS, manifests.deployment(replicas)),
                *(self.create_pod(pod) for pod in plan.pods),
            ]
        )

    async def create_pod(self, pod: PlannedPod) -> None:
        """Create one Pod."""
        await self._create(PODS, manifests.pod(pod))

    async def lift_gates(self, pods: Iterable[PlannedPod]) -> None:
        """Remove all scheduling gates of Pods."""
        await _all(self._lift_gates(pod) for pod in pods)

    async def _lift_gates(self, pod: PlannedPod) -> None:
        body = b'{"spec":{"schedulingGates":null}}'
        path = PODS.object(pod.name)
        async with self._gate:
            response = await self._pool.patch(path, body, resource="pods", content_type=MERGE_PATCH)
        _check(response, f"PATCH {path}")

    async def _create(self, resource: ResourcePath, manifest: Manifest) -> None:
        body = msgspec.json.encode(manifest)
        async with self._gate:
            response = await self._pool.post(resource.collection, body, resource=resource.plural)
        _check(response, f"{manifest['kind']} {manifest['metadata']['name']}")


async def _all(writes: Iterable[Awaitable[None]]) -> None:
    """Wait for all; the first failure is raised, and the others have ended by then."""
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    for outcome in outcomes:
        if outcome is not None:
            raise outcome


def _check(response: Response, request: str) -> None:
    if not response.ok:
        refusal = from_response(response.status, response.headers, response.body, request=request)
        raise DemoError(f"the API server refused what it should take: {refusal}")
