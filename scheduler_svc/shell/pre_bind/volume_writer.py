"""Writes what binds a Pod's volumes: PV kept for a claim, Node selected for a claim.

Merge patches that name the version they are made for: where somebody else was faster, the
API server refuses (409), and the Pod is tried again. A write whose answer was lost is sent
once more, and refused in the same way if it had been done: the next attempt finds it.

Source: pkg/scheduler/framework/plugins/volumebinding/binder.go (`bindAPIUpdate`),
v1.36.3. Difference: patches instead of whole objects.
"""

import asyncio
from typing import Any, Final
from zlib import crc32

import msgspec

from kubeio.backoff import Backoff, Jitter
from kubeio.client import MERGE_PATCH, KubeClient, Lane
from kubeio.resources import ResourcePath
from scheduler_svc.core.effects import RunPreBind
from scheduler_svc.core.storage_objects import BOUND_BY_CONTROLLER, SELECTED_NODE
from scheduler_svc.core.volumes.writes import KeepVolume, ObjectVersion, SelectNode, VolumeWrites
from scheduler_svc.shell.writes.write_outcome import WriteVerdict, settle

TRY_COUNT: Final = 4
TIMEOUT_SECONDS: Final = 10.0
RETRY_FIRST_SECONDS: Final = 0.2

_VOLUMES: Final = ResourcePath("", "v1", "persistentvolumes")
_CLAIMS: Final = ResourcePath("", "v1", "persistentvolumeclaims")


class VolumeWriter:
    """Carries out `VolumeWrites`, one write after the other, up to the first that fails."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def __call__(self, effect: RunPreBind) -> str:
        """Write; give what went wrong, "" for nothing."""
        work: VolumeWrites = effect.payload
        writes = [
            *((_VOLUMES.object(keep.volume.name), _keeping(keep)) for keep in work.keep),
            *(
                (
                    _CLAIMS.in_namespace(select.claim.namespace).object(select.claim.name),
                    _selecting(select),
                )
                for select in work.select
            ),
        ]
        for path, patch in writes:
            error = await self._patch(path, patch, seed=crc32(effect.pod.uid.encode()))
            if error:
                return error
        return ""

    async def _patch(self, path: str, patch: dict[str, Any], *, seed: int) -> str:
        backoff = Backoff(Jitter(seed), first_seconds=RETRY_FIRST_SECONDS)
        text = ""
        for left in reversed(range(TRY_COUNT)):
            outcome = await settle(
                self._client.request(
                    "PATCH",
                    path,
                    body=msgspec.json.encode(patch),
                    content_type=MERGE_PATCH,
                    timeout_seconds=TIMEOUT_SECONDS,
                    lane=Lane.WRITES,
                )
            )
            text = outcome.message
            if outcome.verdict is WriteVerdict.WRITTEN:
                return ""
            if outcome.verdict is not WriteVerdict.FAILED or left == 0:
                break
            await asyncio.sleep(backoff.next_delay(outcome.retry_after_seconds))
        return text


def _keeping(keep: KeepVolume) -> dict[str, Any]:
    claim, metadata = keep.claim, _metadata(keep.volume)
    if keep.by_controller:
        metadata["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.uid,
        "resourceVersion": claim.resource_version,
    }
    return {"metadata": metadata, "spec": {"claimRef": reference}}


def _selecting(select: SelectNode) -> dict[str, Any]:
    metadata = _metadata(select.claim)
    metadata["annotations"] = {SELECTED_NODE: select.node_name}
    return {"metadata": metadata}


def _metadata(version: ObjectVersion) -> dict[str, Any]:
    return {"uid": version.uid, "resourceVersion": version.resource_version}
