"""The cluster as the API server lists it, and Pods as it would admit them."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

import msgspec

from kubeio.client import KubeClient
from kubeio.errors import ForbiddenError, InvalidError, NotFoundError
from kubeio.resources import ResourcePath
from scheduler_svc.core.errors import InputError
from scheduler_svc.shell.explain.documents import Document
from scheduler_svc.shell.explain.kinds import (
    NODE,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
    SCHEDULER_PROFILE,
)
from scheduler_svc.shell.explain.reading import read_snapshot
from scheduler_svc.shell.explain.snapshot import Snapshot
from scheduler_svc.shell.scheduler_profiles.objects import RESOURCE
from scheduler_svc.shell.views.decode import UNFINISHED_PODS
from scheduler_svc.shell.views.object_views import WATCHED_KINDS

PODS: Final = ResourcePath("", "v1", "pods")
_NODES: Final = ResourcePath("", "v1", "nodes")
_PRIORITY_CLASSES: Final = ResourcePath("scheduling.k8s.io", "v1", "priorityclasses")
_OPTIONAL: Final = frozenset({POD_GROUP, SCHEDULER_PROFILE})
_PAGE_SIZE: Final = 500
_TIMEOUT_SECONDS: Final = 60.0

# What RBAC says, as opposed to admission, which answers 403 as well.
_NOT_ALLOWED: Final = 'cannot create resource "pods"'

Note = Callable[[str], None]


class _ListMetadata(msgspec.Struct):
    continue_token: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: list[dict[str, Any]] | None = None


async def list_cluster(
    client: KubeClient, *, note: Note, annotations: frozenset[str] = frozenset()
) -> Snapshot:
    """Read everything that decisions depend on, of Pods' annotations those that are named.

    Nodes and Pods must be readable; of other kinds those that the API server does not know or
    does not show are left out, and `note` is told.

    Raises
    ------
    KubeError
        Where Nodes or Pods cannot be listed.
    SnapshotError
        For objects that cannot be used.
    """
    kinds: list[tuple[str, ResourcePath]] = [(NODE, _NODES), (POD, PODS)]
    kinds += [(PRIORITY_CLASS, _PRIORITY_CLASSES), (SCHEDULER_PROFILE, RESOURCE)]
    kinds += [(watched.api_kind, watched.resource) for watched in WATCHED_KINDS]
    documents = []
    for kind, resource in kinds:
        try:
            documents += [document async for document in _list(client, kind, resource)]
        except (ForbiddenError, NotFoundError) as error:
            if kind in (NODE, POD):
                raise
            # Few clusters have them, and none needs to be told that it has not.
            if kind not in _OPTIONAL or isinstance(error, ForbiddenError):
                note(f"{resource}: left out: {error}")
    return read_snapshot(documents, note=note, annotations=annotations)


async def _list(client: KubeClient, kind: str, resource: ResourcePath) -> AsyncIterator[Document]:
    version = f"{resource.group}/{resource.version}" if resource.group else resource.version
    parameters = {"limit": str(_PAGE_SIZE)}
    if resource == PODS:
        parameters["fieldSelector"] = UNFINISHED_PODS
    while True:
        page = await client.get_json(
            resource.collection, _Page, params=parameters, timeout_seconds=_TIMEOUT_SECONDS
        )
        for item in page.items or ():
            yield Document(str(resource), {"apiVersion": version, "kind": kind, **item})
        if not page.metadata.continue_token:
            return
        parameters = {**parameters, "continue": page.metadata.continue_token}


async def admit_by_server(
    client: KubeClient, manifests: Sequence[dict[str, Any]], namespace: str
) -> list[dict[str, Any]] | None:
    """Have the API server fill in what it would in new Pods, which are not created.

    None where we may not create Pods.

    Raises
    ------
    InputError
        Where it refuses a Pod.
    KubeError
        Where it does not answer.
    """
    admitted = []
    for manifest in manifests:
        metadata = manifest.get("metadata") or {}
        target = PODS.in_namespace(metadata.get("namespace") or namespace)
        if not metadata.get("name") and not metadata.get("generateName"):
            manifest = {**manifest, "metadata": {**metadata, "generateName": "new-"}}
        try:
            answer = await client.call(
                "POST",
                target.collection,
                body=msgspec.json.encode(manifest),
                params={"dryRun": "All"},
            )
        except (ForbiddenError, InvalidError, NotFoundError) as error:
            if _NOT_ALLOWED in error.message:
                return None
            raise InputError(f"the API server would not take the Pod: {error}") from error
        pod = msgspec.json.decode(answer.body, type=dict[str, Any])
        admitted.append({"apiVersion": "v1", "kind": POD, **pod})
    return admitted
