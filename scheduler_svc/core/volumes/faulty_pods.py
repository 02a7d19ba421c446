"""Pods on Nodes whose volumes make no sense: another Pod's claim, or no name, a malformed id.

Source: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go (`filterAttachableVolumes`),
v1.36.3.
"""

from collections.abc import Collection
from typing import Any, Final

from scheduler_svc.core.cluster_objects import ObjectStore, object_key
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.storage_objects import PersistentVolumeClaim
from scheduler_svc.core.volumes.claims import claims_of, ownership_error
from scheduler_svc.core.volumes.migration import Untranslatable, inline_csi_volume

NO_NAME: Final = "PersistentVolumeClaim had no name"
_Place = tuple[int, str]  # row, uid


class FaultyPods:
    """What is wrong with the volumes of Pods, by row; kept with each Pod and claim that changes."""

    def __init__(self, claims: ObjectStore) -> None:
        self._claims = claims
        # Pods by claims that are made for them, whether or not there are such claims.
        self._by_claim: dict[str, dict[_Place, PodInfo]] = {}
        self._faults: dict[int, dict[str, str]] = {}
        claims.listeners.append(self._claim_changed)

    @property
    def rows(self) -> Collection[int]:
        """The rows of Nodes that have such Pods."""
        return self._faults.keys()

    def fault(self, row: int) -> str:
        """Say what is wrong with the first such Pod of a Node; "" if there is none."""
        return next(iter(self._faults.get(row, {}).values()), "")

    def count(self, pod: PodInfo, row: int, sign: int) -> None:
        """Take in that a Pod came to a Node (`sign` 1) or left it (-1). O(its volumes)."""
        for claim in claims_of(pod):
            if claim.is_ephemeral:
                key = object_key(pod.namespace, claim.name)
                holders = self._by_claim.setdefault(key, {})
                if sign > 0:
                    holders[row, pod.uid] = pod
                else:
                    holders.pop((row, pod.uid), None)
                    if not holders:
                        del self._by_claim[key]
        self._set(pod, row, self._fault_of(pod) if sign > 0 else "")

    def _claim_changed(self, old: Any, new: PersistentVolumeClaim | None) -> None:
        for (row, _), pod in self._by_claim.get((new or old).key, {}).items():
            self._set(pod, row, self._fault_of(pod))

    def _set(self, pod: PodInfo, row: int, fault: str) -> None:
        if fault:
            self._faults.setdefault(row, {})[pod.uid] = fault
        elif row in self._faults:
            self._faults[row].pop(pod.uid, None)
            if not self._faults[row]:
                del self._faults[row]

    def _fault_of(self, pod: PodInfo) -> str:
        claims = iter(claims_of(pod))
        for volume in pod.volumes:
            if volume.persistent_volume_claim is not None:
                if not next(claims).name:
                    return NO_NAME
            elif volume.ephemeral is not None:
                claim = self._claims.by_key.get(object_key(pod.namespace, next(claims).name))
                fault = "" if claim is None else ownership_error(pod, claim)
                if fault:
                    return fault
            else:
                counted = inline_csi_volume(volume)
                if isinstance(counted, Untranslatable):
                    return f"converting volume({volume.name}) from inline to csi: {counted.reason}"
        return ""
