"""PersistentVolumes by class: those that may be given to a claim, and those kept for one.

Source: pkg/scheduler/framework/plugins/volumebinding/assume_cache.go, v1.36.3.
"""

from scheduler_svc.core.cluster_objects import ObjectStore, object_key
from scheduler_svc.core.storage_objects import PersistentVolume, PersistentVolumeClaim
from scheduler_svc.core.volumes.assumed import AssumedObjects


class VolumesOfClass:
    """The volumes of one class; `version` changes with each of them.

    `open` may be given to any claim; `kept` are bound to a claim or wait for one, by its key.
    """

    __slots__ = ("kept", "open", "version")

    def __init__(self) -> None:
        self.version = 0
        self.open: dict[str, PersistentVolume] = {}
        self.kept: dict[str, dict[str, PersistentVolume]] = {}

    def kept_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Give the volumes that are kept for a claim, by name."""
        kept = self.kept.get(claim.key, {})
        return [kept[name] for name in sorted(kept) if kept[name].is_kept_for(claim)]


class PersistentVolumes:
    """All volumes, assumed ones in place of those they were made of. A change costs O(1)."""

    def __init__(self, store: ObjectStore) -> None:
        self._indexed: dict[str, PersistentVolume] = {}
        self._classes: dict[str, VolumesOfClass] = {}
        self.assumed = AssumedObjects[PersistentVolume](store, self._reindex)

    def get(self, name: str) -> PersistentVolume | None:
        """Give the newest version of a volume."""
        return self.assumed.get(name)

    def of_class(self, name: str) -> VolumesOfClass:
        """Give the volumes of a class."""
        volumes = self._classes.get(name)
        if volumes is None:
            volumes = self._classes[name] = VolumesOfClass()
        return volumes

    def _reindex(self, name: str) -> None:
        old, new = self._indexed.pop(name, None), self.assumed.get(name)
        if old is not None:
            self._drop(old)
        if new is not None:
            self._indexed[name] = new
            self._put(new)

    def _put(self, volume: PersistentVolume) -> None:
        volumes = self.of_class(volume.storage_class)
        volumes.version += 1
        key = _claim_key(volume)
        if key is not None:
            volumes.kept.setdefault(key, {})[volume.name] = volume
        elif _is_open(volume):
            volumes.open[volume.name] = volume

    def _drop(self, volume: PersistentVolume) -> None:
        volumes = self.of_class(volume.storage_class)
        volumes.version += 1
        key = _claim_key(volume)
        if key is None:
            volumes.open.pop(volume.name, None)
            return
        del volumes.kept[key][volume.name]
        if not volumes.kept[key]:
            del volumes.kept[key]


def _claim_key(volume: PersistentVolume) -> str | None:
    reference = volume.spec.claim_ref
    return None if reference is None else object_key(reference.namespace, reference.name)


def _is_open(volume: PersistentVolume) -> bool:
    return volume.status.phase == "Available" and volume.metadata.deletion_timestamp is None
