"""What the volumes of Pods are to CSI drivers: how claims become volumes that are counted.

A claim that has no volume yet counts as one of its class's driver. Which volume a claim is
depends on three objects, any of which may come, change or go while Pods use the claim.

Source: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go (`getCSIDriverInfo`,
`getCSIDriverInfoFromSC`), v1.36.3.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from scheduler_svc.core.cluster_objects import ClusterObjects, ObjectKind, object_key
from scheduler_svc.core.storage_objects import PersistentVolumeClaim
from scheduler_svc.core.volumes.migration import (
    DRIVERS,
    NOT_MIGRATED,
    CSIVolume,
    csi_volume,
)

# No handle of a driver's begins like this.
_UNBOUND: Final = "\0"


class Resolution(msgspec.Struct, frozen=True, gc=False):
    """The volume that a claim counts as (None: as none), and the names that decided it."""

    volume: CSIVolume | None
    persistent_volume: str = ""
    storage_class: str = ""


def resolve_claim(objects: ClusterObjects, key: str) -> Resolution:
    """Find out which volume a claim counts as, on Nodes that have a CSINode."""
    claim: PersistentVolumeClaim | None
    claim = objects[ObjectKind.PERSISTENT_VOLUME_CLAIM].by_key.get(key)
    if claim is None:
        return Resolution(None)
    name = claim.spec.volume_name
    if name:
        bound = objects[ObjectKind.PERSISTENT_VOLUME].by_key.get(name)
        if bound is not None:
            volume = csi_volume(bound)
            is_counted = isinstance(volume, CSIVolume) and volume.driver and volume.handle
            return Resolution(volume if is_counted else None, name)  # type: ignore[arg-type]
    return Resolution(_volume_to_be(objects, claim), name, claim.storage_class)


def _volume_to_be(objects: ClusterObjects, claim: PersistentVolumeClaim) -> CSIVolume | None:
    storage_class = objects[ObjectKind.STORAGE_CLASS].by_key.get(claim.storage_class)
    if storage_class is None or storage_class.provisioner in ("", *NOT_MIGRATED):
        return None
    provisioner: str = storage_class.provisioner
    return CSIVolume(DRIVERS.get(provisioner, provisioner), _UNBOUND + claim.key)


class ResolvedClaims:
    """Claims in use and the volumes they count as, kept up to date with their objects.

    `on_change` is told of a claim whose volume has changed, with the former one and the new.
    """

    def __init__(
        self,
        objects: ClusterObjects,
        on_change: Callable[[str, CSIVolume | None, CSIVolume | None], None],
    ) -> None:
        self._objects = objects
        self._on_change = on_change
        self._resolutions: dict[str, Resolution] = {}
        self._by_volume: dict[str, dict[str, None]] = {}
        self._by_class: dict[str, dict[str, None]] = {}
        for kind, affected in (
            (ObjectKind.PERSISTENT_VOLUME_CLAIM, self._one),
            (ObjectKind.PERSISTENT_VOLUME, self._by_volume.get),
            (ObjectKind.STORAGE_CLASS, self._by_class.get),
        ):
            objects[kind].listeners.append(self._listener(affected))

    def hold(self, key: str) -> CSIVolume | None:
        """Give the volume of a claim that is in use from now on."""
        resolution = self._resolutions.get(key)
        if resolution is None:
            resolution = self._keep(key)
        return resolution.volume

    def release(self, key: str) -> None:
        """Forget a claim that nobody uses any more."""
        resolution = self._resolutions.pop(key)
        for table, name in (
            (self._by_volume, resolution.persistent_volume),
            (self._by_class, resolution.storage_class),
        ):
            if name:
                del table[name][key]
                if not table[name]:
                    del table[name]

    def _keep(self, key: str) -> Resolution:
        resolution = self._resolutions[key] = resolve_claim(self._objects, key)
        for table, name in (
            (self._by_volume, resolution.persistent_volume),
            (self._by_class, resolution.storage_class),
        ):
            if name:
                table.setdefault(name, {})[key] = None
        return resolution

    def _one(self, key: str) -> Iterable[str]:
        return (key,) if key in self._resolutions else ()

    def _listener(
        self, affected: Callable[[str], Iterable[str] | None]
    ) -> Callable[[Any, Any], None]:
        def listen(old: Any, new: Any) -> None:
            metadata = (new or old).metadata
            for key in tuple(affected(object_key(metadata.namespace, metadata.name)) or ()):
                before = self._resolutions[key].volume
                self.release(key)
                after = self._keep(key).volume
                if after != before:
                    self._on_change(key, before, after)

        return listen
