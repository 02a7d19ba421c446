"""PersistentVolumes by class: those that may be given to a claim, and those kept for one.

Open volumes are grouped by what claims ask for, so that a claim looks at groups rather
than at volumes, of which there may be one for each disk of each Node.

Source: pkg/scheduler/framework/plugins/volumebinding/assume_cache.go, v1.36.3.
"""

from bisect import insort
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.cluster_objects import ObjectStore, object_key
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.storage_objects import PersistentVolume, PersistentVolumeClaim
from scheduler_svc.core.volumes.assumed import AssumedObjects
from scheduler_svc.core.volumes.node_rows import NodeRows
from scheduler_svc.core.volumes.reach import reach_of

LOCAL_NODE_COUNT: Final = 8
"""A volume that more Nodes than these reach is looked at by itself."""


class VolumeKind(msgspec.Struct, frozen=True, order=True):
    """What claims ask of a volume, its class and labels aside."""

    nano_bytes: int
    mode: str
    attributes_class: str
    access_modes: tuple[str, ...]


class LocalVolumes(msgspec.Struct, frozen=True):
    """Volumes and the Nodes that reach them: pairs of `rows` and `owners`, both intp `(K,)`.

    `owners` index `volumes`, in ascending order. Those that more than a few Nodes reach are
    listed in `wide` instead. `is_open` is bool by volume, written to as volumes are taken.
    """

    position: int
    volumes: list[PersistentVolume]
    index_of: dict[str, int]
    rows: RowArray
    owners: RowArray
    wide: list[int]
    is_open: BoolArray


class AlikeVolumes:
    """The open volumes of one class and kind, by name."""

    __slots__ = ("_local", "_names", "_volumes")

    def __init__(self) -> None:
        self._names: list[str] = []
        self._volumes: dict[str, PersistentVolume] = {}
        self._local: LocalVolumes | None = None

    def __len__(self) -> int:
        return len(self._names)

    def add(self, volume: PersistentVolume) -> None:
        """Take in a volume."""
        insort(self._names, volume.name)
        self._volumes[volume.name] = volume
        self._local = None

    def remove(self, name: str) -> None:
        """Leave out a volume. O(1), as it is what a decision does."""
        self._names.remove(name)
        del self._volumes[name]
        if self._local is not None:
            self._local.is_open[self._local.index_of[name]] = False

    def local(self, node_rows: NodeRows) -> LocalVolumes:
        """Give the volumes by the Nodes that reach them. O(volumes) if Nodes or volumes came."""
        if self._local is None or self._local.position != node_rows.position:
            self._local = self._find(node_rows)
        return self._local

    def _find(self, node_rows: NodeRows) -> LocalVolumes:
        volumes = [self._volumes[name] for name in self._names]
        rows: list[RowArray] = [np.zeros(0, dtype=np.intp)]
        owners: list[int] = []
        wide = []
        for index, volume in enumerate(volumes):
            own = reach_of(volume).own
            reached = None if own.terms is None else node_rows.rows_for(own, own.terms)
            if reached is None or len(reached) > LOCAL_NODE_COUNT:
                wide.append(index)
            else:
                rows.append(reached)
                owners += [index] * len(reached)
        return LocalVolumes(
            node_rows.position,
            volumes,
            {volume.name: index for index, volume in enumerate(volumes)},
            np.concatenate(rows),
            np.array(owners, dtype=np.intp),
            wide,
            np.ones(len(volumes), dtype=np.bool_),
        )


class VolumesOfClass:
    """The volumes of one class; `version` changes with each of them.

    `open` may be given to any claim; `kept` are bound to a claim or wait for one, by its key.
    """

    __slots__ = ("kept", "open", "version")

    def __init__(self) -> None:
        self.version = 0
        self.open: dict[VolumeKind, AlikeVolumes] = {}
        self.kept: dict[str, dict[str, PersistentVolume]] = {}

    def kept_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Give the volumes that are kept for a claim, by name."""
        kept = self.kept.get(claim.key, {})
        return [kept[name] for name in sorted(kept) if kept[name].is_kept_for(claim)]

    def put(self, volume: PersistentVolume) -> None:
        """Take in a volume."""
        self.version += 1
        key = _claim_key(volume)
        if key is not None:
            self.kept.setdefault(key, {})[volume.name] = volume
        elif _is_open(volume):
            kind = kind_of(volume)
            if kind not in self.open:
                self.open[kind] = AlikeVolumes()
            self.open[kind].add(volume)

    def drop(self, volume: PersistentVolume) -> None:
        """Forget a volume that was put."""
        self.version += 1
        key = _claim_key(volume)
        if key is not None:
            del self.kept[key][volume.name]
            if not self.kept[key]:
                del self.kept[key]
        elif _is_open(volume):
            kind = kind_of(volume)
            self.open[kind].remove(volume.name)
            if not len(self.open[kind]):
                del self.open[kind]


class PersistentVolumes:
    """All volumes, assumed ones in place of those they were made of."""

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
            self.of_class(old.storage_class).drop(old)
        if new is not None:
            self._indexed[name] = new
            self.of_class(new.storage_class).put(new)


def kind_of(volume: PersistentVolume) -> VolumeKind:
    """Give what claims ask of a volume."""
    spec = volume.spec
    attributes_class = spec.volume_attributes_class_name or ""
    return VolumeKind(volume.nano_bytes, volume.mode, attributes_class, spec.access_modes)


def _claim_key(volume: PersistentVolume) -> str | None:
    reference = volume.spec.claim_ref
    return None if reference is None else object_key(reference.namespace, reference.name)


def _is_open(volume: PersistentVolume) -> bool:
    return volume.status.phase == "Available" and volume.metadata.deletion_timestamp is None
