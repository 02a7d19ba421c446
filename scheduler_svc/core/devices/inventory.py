"""What is known of devices: slices, classes, claims and what of them is taken, in one place.

It listens to the stores of objects, so that nothing is looked up for a decision that has
not changed since the last.
"""

import weakref
from typing import Any, Final

import msgspec

from scheduler_svc.core.cluster_objects import ClusterObjects, ObjectKind
from scheduler_svc.core.device_objects import (
    DeviceClass,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceSlice,
)
from scheduler_svc.core.devices.allocated import AllocatedDevices
from scheduler_svc.core.devices.demands import ClaimDemand
from scheduler_svc.core.devices.extended_resources import classes_by_resource
from scheduler_svc.core.devices.selectors import Selectors
from scheduler_svc.core.devices.slice_index import SliceIndex

_MAX_DEMANDS: Final = 4096


class DeviceInventory:
    """The devices of a cluster.

    `states` is what plugins keep of classes of Pods, for as long as somebody uses it; `kept` what
    they keep of Pods on their way, by plugin, whichever profile is asked.
    """

    def __init__(self, objects: ClusterObjects) -> None:
        self.selectors = Selectors()
        self.allocated = AllocatedDevices()
        self.slices = SliceIndex(self.selectors, self.allocated.code)
        self.claims = objects[ObjectKind.RESOURCE_CLAIM]
        self.states: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()
        self.kept: dict[str, Any] = {}
        self._classes = objects[ObjectKind.DEVICE_CLASS]
        self._class_of_resource: dict[str, DeviceClass] = {}
        self._demands: dict[bytes, ClaimDemand] = {}
        self._made_for_pods: dict[str, ResourceClaim] = {}
        self._encode = msgspec.msgpack.Encoder().encode
        self.claims.listeners.append(self._claim_changed)
        self._classes.listeners.append(self._class_changed)
        objects[ObjectKind.RESOURCE_SLICE].listeners.append(self._slice_changed)

    @property
    def class_version(self) -> int:
        """A number that changes with every class."""
        return self._classes.version

    def class_of(self, name: str) -> DeviceClass | None:
        """Give a class by name, None if there is none."""
        found: DeviceClass | None = self._classes.by_key.get(name)
        return found

    def class_of_resource(self, name: str) -> DeviceClass | None:
        """Give the class that stands for an extended resource, None if none does."""
        return self._class_of_resource.get(name)

    def claim(self, namespace: str, name: str) -> ResourceClaim | None:
        """Give a claim, None if there is none of that name."""
        found: ResourceClaim | None = self.claims.get(namespace, name)
        return found

    def claim_made_for(self, pod_uid: str) -> ResourceClaim | None:
        """Give the claim that was made for a Pod's extended resources in an earlier attempt."""
        return self._made_for_pods.get(pod_uid)

    def demand(self, spec: ResourceClaimSpec) -> ClaimDemand:
        """Give what a claim asks for, one object for all that ask for the same."""
        key = self._encode(spec)
        demand = self._demands.get(key)
        if demand is None:
            if len(self._demands) == _MAX_DEMANDS:
                self._demands.clear()
            demand = self._demands[key] = ClaimDemand(spec, self.class_of)
        return demand

    def _claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        self.allocated.claim_changed(old, new)
        for claim, is_new in ((old, False), (new, True)):
            if claim is None or not claim.is_for_extended_resources:
                continue
            for owner in claim.metadata.owner_references:
                if owner.controller and is_new:
                    self._made_for_pods[owner.uid] = claim
                elif owner.controller:
                    self._made_for_pods.pop(owner.uid, None)

    def _class_changed(self, old: DeviceClass | None, new: DeviceClass | None) -> None:
        del old, new
        self._demands.clear()
        self._class_of_resource = classes_by_resource(self._classes.by_key.values())

    def _slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        self.slices.change(old, new)
