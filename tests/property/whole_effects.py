"""Carries out what the scheduler asks for against an API server, as the shell's writers do."""

from collections import Counter
from typing import Any

import msgspec

from scheduler_svc.core.devices.writes import (
    BindClaims,
    ClaimWrite,
    Deallocate,
    DeleteClaim,
    ReleaseClaims,
)
from scheduler_svc.core.effects import (
    BindPod,
    EvictPods,
    PatchNomination,
    PatchPodCondition,
    PodReference,
    RunCleanup,
    RunPreBind,
)
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    EvictionFinished,
    PreBindFinished,
)
from scheduler_svc.core.storage_objects import SELECTED_NODE
from scheduler_svc.core.volumes.writes import KeepVolume, ObjectVersion, SelectNode, VolumeWrites
from tests.property.whole_objects import Manifest
from tests.property.whole_server import ApiServer, key_of

CONFLICT = "the object has been modified"


class Writers:
    """The writers of one scheduler. `bound` has the Node of each Pod that they have bound."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.bound: dict[str, str] = {}
        self.evicted_uids: set[str] = set()

    def bind(self, request: BindPod, *, refuses: bool) -> BindSucceeded | BindFailed:
        """Post a Binding."""
        uid, pod = request.pod.uid, self.pod(request.pod)
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return BindFailed(uid, BindFailure.GONE, "gone")
        if pod["spec"].get("nodeName"):
            return BindFailed(uid, BindFailure.BOUND_ELSEWHERE, "bound")
        if refuses:
            return BindFailed(uid, BindFailure.REFUSED, "HTTP 500")
        assert uid not in self.bound
        self.bound[uid] = request.node_name
        self.server.change("Pod", pod, lambda it: _place(it, request.node_name))
        return BindSucceeded(uid)

    def pod(self, reference: PodReference) -> Manifest | None:
        """Give a Pod, unless another one has its name by now."""
        found = self.server.get("Pod", reference.key)
        return found if found and found["metadata"]["uid"] == reference.uid else None

    def patch(self, patch: PatchPodCondition | PatchNomination) -> None:
        """Patch the status of a Pod that has no Node yet."""
        pod = self.pod(patch.pod)
        if pod is None or pod["spec"].get("nodeName"):
            return

        def change(manifest: Manifest) -> None:
            status = manifest["status"]
            if isinstance(patch, PatchPodCondition):
                condition = {"type": "PodScheduled", "status": "False"}
                condition |= {"reason": patch.reason, "message": patch.message}
                status["conditions"] = [condition]
            if patch.nominated_node_name is not None:
                status["nominatedNodeName"] = patch.nominated_node_name

        self.server.change("Pod", pod, change)

    def evict(self, effect: EvictPods, *, fails: bool) -> EvictionFinished:
        """Evict all victims, or no more of them."""
        for victim in effect.victims:
            if fails:
                return EvictionFinished(effect.eviction_id, "HTTP 500")
            pod = self.pod(victim.pod)
            if pod is not None:
                self.evicted_uids.add(victim.pod.uid)
                self.terminate(pod)
        return EvictionFinished(effect.eviction_id)

    def terminate(self, pod: Manifest) -> None:
        """Begin to delete a Pod; one without a Node is gone at once."""
        if not pod["spec"].get("nodeName"):
            self.server.delete("Pod", key_of(pod))
        elif "deletionTimestamp" not in pod["metadata"]:
            stamp = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
            self.server.change("Pod", pod, lambda it: it["metadata"].update(stamp))

    def prepare(self, effect: RunPreBind, *, fails_after: int | None) -> PreBindFinished:
        """Do a plugin's work; with `fails_after` the API server is lost after so many writes."""
        writes = _writes(effect.payload)
        error = ""
        for number, write in enumerate(writes):
            error = "no answer" if number == fails_after else self._write(effect.pod, write)
            if error:
                break
        return PreBindFinished(effect.pod.uid, effect.plugin, error)

    def _write(self, pod: PodReference, write: Any) -> str:
        match write:
            case KeepVolume():
                return self._keep(write)
            case SelectNode():
                return self._select(write)
            case _:
                return self._allocate(pod, write)

    def _versioned(self, kind: str, version: ObjectVersion) -> Manifest | None:
        key = f"{version.namespace}/{version.name}".removeprefix("/")
        found = self.server.get(kind, key)
        same = (version.uid, version.resource_version)
        if found is None:
            return None
        metadata = found["metadata"]
        return found if (metadata["uid"], metadata["resourceVersion"]) == same else None

    def _keep(self, write: KeepVolume) -> str:
        volume = self._versioned("PersistentVolume", write.volume)
        if volume is None:
            return CONFLICT
        claim = {k: getattr(write.claim, k) for k in ("namespace", "name", "uid")}
        self.server.change("PersistentVolume", volume, lambda it: it["spec"].update(claimRef=claim))
        return ""

    def _select(self, write: SelectNode) -> str:
        claim = self._versioned("PersistentVolumeClaim", write.claim)
        if claim is None:
            return CONFLICT

        def change(manifest: Manifest) -> None:
            manifest["metadata"].setdefault("annotations", {})[SELECTED_NODE] = write.node_name

        self.server.change("PersistentVolumeClaim", claim, change)
        return ""

    def _allocate(self, pod: PodReference, write: ClaimWrite) -> str:
        if write.made is not None:
            owner = {"kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
            name = f"{pod.name}-extended-{self.server.next_number()}"
            metadata: Manifest = {
                "name": name,
                "namespace": pod.namespace,
                "ownerReferences": [owner],
            }
            metadata["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
            spec = msgspec.to_builtins(write.made.spec)
            claim = {"metadata": metadata, "spec": spec, "status": {}}
            self.server.put("ResourceClaim", claim)
            stored = self.pod(pod)
            if stored is not None:
                told = {"extendedResourceClaimStatus": {"resourceClaimName": name}}
                self.server.change("Pod", stored, lambda it: it["status"].update(told))
        else:
            found = self.server.get("ResourceClaim", f"{pod.namespace}/{write.name}")
            if found is None or found["metadata"]["uid"] != write.uid:
                return "not found"
            claim = found
        allocation = None if write.allocation is None else msgspec.to_builtins(write.allocation)
        known = claim["status"].get("allocation")
        if allocation is not None and known is not None and known != allocation:
            return "field is immutable"
        user = {"resource": "pods", "name": pod.name, "uid": pod.uid}

        def change(manifest: Manifest) -> None:
            status = manifest["status"]
            if allocation is not None:
                status["allocation"] = allocation
            users = status.setdefault("reservedFor", [])
            if user not in users:
                users.append(user)

        self.server.change("ResourceClaim", claim, change)
        return ""

    def clean_up(self, effect: RunCleanup) -> None:
        """Undo a plugin's work."""
        work, namespace = effect.payload, effect.pod.namespace
        match work:
            case ReleaseClaims():
                for name, uid in work.claims:
                    claim = self.server.get("ResourceClaim", f"{namespace}/{name}")
                    if claim is not None and claim["metadata"]["uid"] == uid:
                        release(self.server, claim, {effect.pod.uid})
            case Deallocate():
                version = ObjectVersion(namespace, work.name, work.uid, work.resource_version)
                found = self._versioned("ResourceClaim", version)
                if found is not None:
                    self.server.change("ResourceClaim", found, lambda it: it["status"].clear())
            case DeleteClaim():
                found = self.server.get("ResourceClaim", f"{namespace}/{work.name}")
                if found is not None and found["metadata"]["uid"] == work.uid:
                    self.server.delete("ResourceClaim", key_of(found))
            case _:
                raise AssertionError(work)


def release(server: ApiServer, claim: Manifest, uids: set[str]) -> None:
    """Take Pods from the users of a claim."""
    users = claim["status"].get("reservedFor", [])
    kept = [user for user in users if user["uid"] not in uids]
    if kept != users:
        server.change("ResourceClaim", claim, lambda it: it["status"].update(reservedFor=kept))


def taken_devices(server: ApiServer) -> Counter[tuple[str, str]]:
    """Count the claims that have each device."""
    allocations = (claim["status"].get("allocation") for claim in server.all("ResourceClaim"))
    return Counter(
        (result["pool"], result["device"])
        for allocation in allocations
        if allocation
        for result in allocation["devices"]["results"]
    )


def _writes(payload: Any) -> list[Any]:
    match payload:
        case VolumeWrites():
            return [*payload.keep, *payload.select]
        case BindClaims():
            return list(payload.writes)
        case _:
            raise AssertionError(payload)


def _place(pod: Manifest, node: str) -> None:
    pod["spec"]["nodeName"] = node
    pod["status"].pop("nominatedNodeName", None)
