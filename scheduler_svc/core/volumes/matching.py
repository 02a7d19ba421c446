"""Which existing volumes the claims of a Pod would get, on each Node.

Source: staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go
(`FindMatchingVolume`), v1.36.3. Differences: all Nodes at once; volumes of one size are
tried by name, where upstream has no order.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.label_selectors import compile_selector
from scheduler_svc.core.labels import BoolArray, Int32Array
from scheduler_svc.core.storage_objects import PersistentVolume, PersistentVolumeClaim
from scheduler_svc.core.volumes.cluster_volumes import ClusterVolumes
from scheduler_svc.core.volumes.reach import reach_of

NO_VOLUME: Final = -1


class ClaimMatch(msgspec.Struct, frozen=True, gc=False):
    """A claim and the volume it would get on each row: int32 `(N,)`, `NO_VOLUME` for none."""

    claim: PersistentVolumeClaim
    numbers: Int32Array


class VolumeMatching:
    """The volumes for some claims of one Pod; no volume is given to two of them on a Node."""

    def __init__(
        self, volumes: ClusterVolumes, claims: Sequence[PersistentVolumeClaim], nodes: BoolArray
    ) -> None:
        self._volumes = volumes
        self._numbers: dict[str, int] = {}
        self._candidates: list[PersistentVolume] = []
        self.matches: list[ClaimMatch] = []
        for claim in sorted(claims, key=lambda claim: claim.nano_bytes):
            self.matches.append(ClaimMatch(claim, self._match(claim, nodes)))

    def volume(self, number: int) -> PersistentVolume:
        """Give a volume by its number."""
        return self._candidates[number]

    def _match(self, claim: PersistentVolumeClaim, nodes: BoolArray) -> Int32Array:
        """Give each row the volume that is kept for the claim, else the smallest that will do."""
        numbers = np.full(len(nodes), NO_VOLUME, dtype=np.int32)
        wanting = nodes.copy()
        of_class = self._volumes.persistent_volumes.of_class(claim.storage_class)
        for volume in of_class.kept_for(claim):
            if volume.metadata.deletion_timestamp is None and _is_large_and_alike(claim, volume):
                number = self._number(volume)
                numbers[self._untaken(self._rows(volume, wanting), number)] = number
                # Where it cannot be reached, no other volume will do.
                wanting[self._untaken(np.flatnonzero(wanting), number)] = False
        left = np.count_nonzero(wanting)
        for volume in _suitable(claim, of_class.open.values()):
            if left == 0:
                break
            number = self._number(volume)
            taken = self._untaken(self._rows(volume, wanting), number)
            numbers[taken] = number
            wanting[taken] = False
            left -= len(taken)
        return numbers

    def _number(self, volume: PersistentVolume) -> int:
        number = self._numbers.get(volume.name)
        if number is None:
            number = self._numbers[volume.name] = len(self._candidates)
            self._candidates.append(volume)
        return number

    def _untaken(self, rows: RowArray, number: int) -> RowArray:
        """Leave out the rows where an earlier claim has taken the volume."""
        for match in self.matches:
            rows = rows[match.numbers[rows] != number]
        return rows

    def _rows(self, volume: PersistentVolume, wanting: BoolArray) -> RowArray:
        """Give the rows that want a volume and reach this one."""
        reach = reach_of(volume).own
        if reach.terms is None:
            return np.flatnonzero(wanting)
        rows = self._volumes.node_rows.rows_for(reach, reach.terms)
        return rows[wanting[rows]]


def _suitable(
    claim: PersistentVolumeClaim, candidates: Iterable[PersistentVolume]
) -> list[PersistentVolume]:
    """Give the open volumes that would do for a claim, the smallest first."""
    selector = compile_selector(claim.spec.selector)
    modes = frozenset(claim.spec.access_modes)
    suitable = [
        volume
        for volume in candidates
        if _is_large_and_alike(claim, volume)
        and modes.issubset(volume.spec.access_modes)
        and (selector is None or selector.matches(volume.metadata.labels or {}))
    ]
    return sorted(suitable, key=lambda volume: (volume.nano_bytes, volume.name))


def _is_large_and_alike(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    wanted, offered = (
        (side.mode, side.spec.volume_attributes_class_name or "") for side in (claim, volume)
    )
    return volume.nano_bytes >= claim.nano_bytes and wanted == offered
