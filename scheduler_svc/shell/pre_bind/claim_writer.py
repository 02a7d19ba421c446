"""Writes what claims are given before a Pod is bound, and takes it back.

Strategic merge patches that name the claim's uid: finalizers and users of a claim are merged
with what others wrote, and an allocation that somebody else wrote is refused by the API
server, as fields of it must not change. Each may be sent again after a lost answer.

Source: pkg/scheduler/framework/plugins/dynamicresources/{dynamicresources,
extendeddynamicresources}.go (`bindClaim`, `deleteClaim`), v1.36.3. Difference: patches
instead of whole objects, so that there are no conflicts to be retried.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final
from zlib import crc32

import msgspec
from prometheus_client import Metric

from kubeio.backoff import Backoff, Jitter
from kubeio.client import JSON, MERGE_PATCH, STRATEGIC_MERGE_PATCH, KubeClient, Lane
from kubeio.errors import KubeError
from kubeio.instruments import Counter
from kubeio.resources import ResourcePath
from scheduler_svc.core.device_objects import EXTENDED_CLAIM_ANNOTATION, Allocation
from scheduler_svc.core.devices.writes import (
    BindClaims,
    ClaimWrite,
    Deallocate,
    DeleteClaim,
    MadeClaim,
    ReleaseClaims,
)
from scheduler_svc.core.effects import (
    EventType,
    PodReference,
    RecordEvent,
    RunCleanup,
    RunPreBind,
)
from scheduler_svc.core.objects import ObjectMeta
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.metrics.plugin_metric_table import CLAIMS_CREATED
from scheduler_svc.shell.timestamps import format_time
from scheduler_svc.shell.writes.write_outcome import WriteOutcome, WriteVerdict, settle

TRY_COUNT: Final = 4
TIMEOUT_SECONDS: Final = 10.0
RETRY_FIRST_SECONDS: Final = 0.2
FINALIZER: Final = "resource.kubernetes.io/delete-protection"

_API_VERSION: Final = "resource.k8s.io/v1"
_CLAIMS: Final = ResourcePath("resource.k8s.io", "v1", "resourceclaims")
_PODS: Final = ResourcePath("", "v1", "pods")


class _Created(msgspec.Struct):
    metadata: ObjectMeta


class ClaimWriter:
    """Carries out `BindClaims` before a Binding, and the cleanups for which nobody waits."""

    def __init__(self, client: KubeClient, *, record: Callable[[RecordEvent], None]) -> None:
        self._client = client
        self._record = record
        self._created = Counter(CLAIMS_CREATED)

    def collect(self) -> list[Metric]:
        """Give how many claims were made (`MetricSource`)."""
        return [self._created.collect()]

    async def bind(self, effect: RunPreBind) -> str:
        """Write one claim after the other; give what went wrong, "" for nothing."""
        work: BindClaims = effect.payload
        for write in work.writes:
            if write.made is None:
                error = await self._reserve(effect.pod, write.name, write)
            else:
                error = await self._make(effect.pod, write, write.made)
            if error:
                return error
        if work.announcement:
            self._record(_pending(effect.pod, work))
        return ""

    async def _reserve(self, pod: PodReference, name: str, write: ClaimWrite) -> str:
        """Write the allocation, if there is one, and the Pod as a user, of a claim."""
        path = _CLAIMS.in_namespace(pod.namespace).object(name)
        claim = f"{pod.namespace}/{name}"
        uid, status = {"uid": write.uid}, _reserved_for(pod)
        if write.allocation is None:
            error = await self._patch(f"{path}/status", {"metadata": uid, "status": status}, pod)
            return f"add reservation to claim {claim}: {error}" if error else ""
        protect = {"metadata": {**uid, "finalizers": [FINALIZER]}}
        error = await self._patch(path, protect, pod)
        if error:
            return f"add finalizer to claim {claim}: {error}"
        status |= {"allocation": _written(write.allocation)}
        error = await self._patch(f"{path}/status", {"metadata": uid, "status": status}, pod)
        return f"add allocation and reservation to claim {claim}: {error}" if error else ""

    async def _make(self, pod: PodReference, write: ClaimWrite, made: MadeClaim) -> str:
        """Make the claim for extended resources, and tell the Pod which one it is."""
        path = _CLAIMS.in_namespace(pod.namespace).collection
        try:
            created = await self._client.send_json("POST", path, _manifest(pod, made), _Created)
        except KubeError as failure:
            self._created.add(("failure",))
            return f"create claim for extended resources of {pod.key}: {failure}"
        self._created.add(("success",))
        name = created.metadata.name
        known = msgspec.structs.replace(write, uid=created.metadata.uid)
        error = await self._reserve(pod, name, known) or await self._tell(pod, name, made)
        if error:
            await self._delete(pod, name, created.metadata.uid)
        return error

    async def _tell(self, pod: PodReference, claim_name: str, made: MadeClaim) -> str:
        path = f"{_PODS.in_namespace(pod.namespace).object(pod.name)}/status"
        mappings = msgspec.to_builtins(made.mappings)
        told = {"resourceClaimName": claim_name, "requestMappings": mappings}
        status = {"extendedResourceClaimStatus": told}
        error = await self._patch(path, {"metadata": {"uid": pod.uid}, "status": status}, pod)
        return f"update pod {pod.key} ExtendedResourceClaimStatus: {error}" if error else ""

    async def release(self, effect: RunCleanup) -> str:
        """Take the Pod from the users of claims, as far as they are there."""
        work: ReleaseClaims = effect.payload
        namespace = effect.pod.namespace
        for name, uid in work.claims:
            path = f"{_CLAIMS.in_namespace(namespace).object(name)}/status"
            gone = {"$patch": "delete", "uid": effect.pod.uid}
            patch = {"metadata": {"uid": uid}, "status": {"reservedFor": [gone]}}
            error = await self._patch(path, patch, effect.pod)
            if error:
                return f"release claim {namespace}/{name}: {error}"
        return ""

    async def deallocate(self, effect: RunCleanup) -> str:
        """Take the devices from a claim, unless somebody has changed it meanwhile."""
        work: Deallocate = effect.payload
        path = f"{_CLAIMS.in_namespace(effect.pod.namespace).object(work.name)}/status"
        patch = {
            "metadata": {"uid": work.uid, "resourceVersion": work.resource_version},
            "status": {"allocation": None, "reservedFor": None, "devices": None},
        }
        error = await self._patch(path, patch, effect.pod, content_type=MERGE_PATCH)
        return f"deallocate claim {effect.pod.namespace}/{work.name}: {error}" if error else ""

    async def delete(self, effect: RunCleanup) -> str:
        """Delete a claim that was made for extended resources, if it is there."""
        work: DeleteClaim = effect.payload
        return await self._delete(effect.pod, work.name, work.uid)

    async def _delete(self, pod: PodReference, name: str, uid: str) -> str:
        path = _CLAIMS.in_namespace(pod.namespace).object(name)
        unprotected = {"uid": uid, "$deleteFromPrimitiveList/finalizers": [FINALIZER]}
        outcome = await self._settle(
            "PATCH", path, {"metadata": unprotected}, pod, STRATEGIC_MERGE_PATCH
        )
        if outcome.verdict is WriteVerdict.WRITTEN:
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
            outcome = await self._settle("DELETE", path, options, pod)
        if outcome.verdict in (WriteVerdict.WRITTEN, WriteVerdict.NOT_FOUND):
            return ""
        return f"delete claim {pod.namespace}/{name}: {outcome.message}"

    async def _patch(
        self,
        path: str,
        patch: dict[str, Any],
        pod: PodReference,
        content_type: str = STRATEGIC_MERGE_PATCH,
    ) -> str:
        outcome = await self._settle("PATCH", path, patch, pod, content_type)
        return "" if outcome.verdict is WriteVerdict.WRITTEN else outcome.message

    async def _settle(
        self,
        method: str,
        path: str,
        body: dict[str, Any],
        pod: PodReference,
        content_type: str = JSON,
    ) -> WriteOutcome:
        """Send until it is written or refused, so many times at most; the last outcome."""
        backoff = Backoff(Jitter(crc32(pod.uid.encode())), first_seconds=RETRY_FIRST_SECONDS)
        outcome = WriteOutcome(WriteVerdict.FAILED)
        for left in reversed(range(TRY_COUNT)):
            outcome = await settle(
                self._client.request(
                    method,
                    path,
                    body=msgspec.json.encode(body),
                    content_type=content_type,
                    timeout_seconds=TIMEOUT_SECONDS,
                    lane=Lane.WRITES,
                )
            )
            if outcome.verdict is not WriteVerdict.FAILED or left == 0:
                break
            await asyncio.sleep(backoff.next_delay(outcome.retry_after_seconds))
        return outcome


def _reserved_for(pod: PodReference) -> dict[str, Any]:
    return {"reservedFor": [{"resource": "pods", "name": pod.name, "uid": pod.uid}]}


def _written(allocation: Allocation) -> dict[str, Any]:
    stamp = format_time(read_now().wall_seconds)
    stamped = msgspec.structs.replace(allocation, allocation_timestamp=stamp)
    result: dict[str, Any] = msgspec.to_builtins(stamped)
    return result


def _manifest(pod: PodReference, made: MadeClaim) -> dict[str, Any]:
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod.name,
        "uid": pod.uid,
        "controller": True,
    }
    requests = [
        {
            "name": request.name,
            "exactly": {
                "deviceClassName": request.exactly.device_class_name,
                "allocationMode": request.exactly.allocation_mode,
                "count": request.exactly.count,
            },
        }
        for request in made.spec.devices.requests
        if request.exactly is not None
    ]
    return {
        "apiVersion": _API_VERSION,
        "kind": "ResourceClaim",
        "metadata": {
            "namespace": pod.namespace,
            "generateName": f"{pod.name}-extended-resources-",
            "annotations": {EXTENDED_CLAIM_ANNOTATION: "true"},
            "ownerReferences": [owner],
        },
        "spec": {"devices": {"requests": requests}},
    }


def _pending(pod: PodReference, work: BindClaims) -> RecordEvent:
    return RecordEvent(
        pod=pod,
        scheduler_name=work.scheduler_name,
        type=EventType.NORMAL,
        reason="BindingConditionsPending",
        action="Scheduling",
        note=work.announcement,
    )
