"""Nodes and Pods with all their fields, as extenders want them that keep no view of their own.

The view of Nodes is kept only where some extender needs it. Pods are read when they are asked
about, but for those that the watch has just told of.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from kubeio.changes import Deleted, ReflectorEvent, Upserted
from kubeio.client import KubeClient
from kubeio.decoding import Query
from kubeio.errors import ApiError, KubeError, NotFoundError
from kubeio.resources import ResourcePath
from scheduler_svc.core.effects import PodReference
from scheduler_svc.shell.extenders.pending_pods import PendingPods
from scheduler_svc.shell.extenders.wire import ExtenderError
from scheduler_svc.shell.views.view import View
from scheduler_svc.shell.writes.binding_request import pod_path

VIEW_NAME: Final = "nodes-for-extenders"
READ_CONCURRENCY: Final = 16

_NODES: Final = ResourcePath("", "v1", "nodes")
_encode: Final = msgspec.json.Encoder().encode


class _FullMetadata(msgspec.Struct, rename="camel", omit_defaults=True):
    """All metadata but managedFields, which kube-scheduler leaves out, too."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[Any] | None = None
    finalizers: list[str] | None = None


class _FullNode(msgspec.Struct, omit_defaults=True):
    metadata: _FullMetadata
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")


class FullNode(msgspec.Struct, frozen=True, gc=False):
    """A Node's name and its JSON."""

    name: str
    json: bytes


class _Identity(msgspec.Struct):
    uid: str = ""


class _Identified(msgspec.Struct):
    metadata: _Identity = msgspec.field(default_factory=_Identity)


class FullObjects:
    """What is known of Nodes in full, and how Pods are read."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._nodes: dict[str, bytes] = {}
        self.pending = PendingPods()
        self._turns = asyncio.Semaphore(READ_CONCURRENCY)

    def node_view(self) -> View[FullNode]:
        """Give the view that keeps the Nodes here, and tells the core nothing."""
        query = Query(resource=_NODES, object_type=_FullNode, convert=_to_json)
        return View(query, self._note)

    def _note(self, change: ReflectorEvent[FullNode]) -> None:
        match change:
            case Upserted(node):
                self._nodes[node.name] = node.json
            case Deleted():
                self._nodes.pop(change.name, None)
            case _:
                return

    async def nodes(self, names: Iterable[str]) -> dict[str, msgspec.Raw]:
        """Give Nodes in full; one that is new is read, one that is gone is left out.

        Raises
        ------
        ExtenderError
            Where a Node cannot be read.
        """
        found: dict[str, msgspec.Raw] = {}
        for name in names:
            body = self._nodes.get(name) or await self._read(_NODES.object(name))
            if body is not None:
                found[name] = msgspec.Raw(body)
        return found

    async def pod(self, pod: PodReference, version: str = "") -> msgspec.Raw:
        """Give a Pod as the watch told of it in a `version`; else read it, not older than that.

        Raises
        ------
        ExtenderError
            Where it cannot be read, is gone, or another one has its name.
        """
        kept = self.pending.take(pod.uid, version)
        if kept is not None:
            return kept
        body = await self._read(pod_path(pod), version)
        if body is None or msgspec.json.decode(body, type=_Identified).metadata.uid != pod.uid:
            raise ExtenderError(f'pods "{pod.name}" not found')
        return msgspec.Raw(body)

    async def pods(self, pods: Iterable[PodReference]) -> dict[str, msgspec.Raw]:
        """Read Pods, by uid; of one that is gone there is no more than its name."""

        async def read(pod: PodReference) -> msgspec.Raw:
            try:
                return await self.pod(pod)
            except ExtenderError:
                identity = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
                return msgspec.Raw(_encode({"metadata": identity}))

        wanted = list(pods)
        read_pods = await asyncio.gather(*map(read, wanted))
        return {pod.uid: raw for pod, raw in zip(wanted, read_pods, strict=True)}

    async def _read(self, path: str, version: str = "") -> bytes | None:
        params = {"resourceVersion": version} if version else None
        try:
            async with self._turns:
                return (await self._client.call("GET", path, params=params)).body
        except NotFoundError:
            return None
        except KubeError as error:
            text = error.message if isinstance(error, ApiError) else str(error)
            raise ExtenderError(text) from error


def _to_json(node: _FullNode) -> FullNode:
    return FullNode(node.metadata.name, _encode(node))
