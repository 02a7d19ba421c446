"""Which existing volumes the claims of a Pod would get, on each Node.

Source: staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go
(`FindMatchingVolume`), v1.36.3. Differences: all Nodes at once; of volumes of one size those
of few Nodes come first, then by name, where upstream has no order.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.label_selectors import compile_selector
from scheduler_svc.core.labels import BoolArray, Int32Array
from scheduler_svc.core.storage_objects import PersistentVolume, PersistentVolumeClaim
from scheduler_svc.core.volumes.cluster_volumes import ClusterVolumes
from scheduler_svc.core.volumes.persistent_volumes import (
    AlikeVolumes,
    LocalVolumes,
    VolumeKind,
    kind_of,
)
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
        self._candidates: list[PersistentVolume] = []
        # Where the numbers of a kind's open volumes begin, and those of kept volumes.
        self._first_numbers: dict[tuple[str, VolumeKind], int] = {}
        self._numbers: dict[str, int] = {}
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
            is_there = volume.metadata.deletion_timestamp is None
            if is_there and _is_large_and_alike(claim, kind_of(volume)):
                number = self._number(volume)
                numbers[self._untaken(self._rows(volume, wanting), number)] = number
                # Where it cannot be reached, no other volume will do.
                wanting[self._untaken(np.flatnonzero(wanting), number)] = False
        for kind in sorted(of_class.open):
            if _is_large_and_alike(claim, kind) and _has_modes(claim, kind):
                self._match_open(claim, kind, of_class.open[kind], numbers, wanting)
        return numbers

    def _match_open(
        self,
        claim: PersistentVolumeClaim,
        kind: VolumeKind,
        alike: AlikeVolumes,
        numbers: Int32Array,
        wanting: BoolArray,
    ) -> None:
        """Give open volumes of one kind to the rows that want one."""
        local = alike.local(self._volumes.node_rows)
        first = self._first_numbers.get((claim.storage_class, kind))
        if first is None:
            first = self._first_numbers[claim.storage_class, kind] = len(self._candidates)
            self._candidates += local.volumes
        suits = _suiting(claim, local)
        chosen = wanting[local.rows] & suits[local.owners]
        rows, found = local.rows[chosen], local.owners[chosen] + first
        for match in self.matches:
            untaken = match.numbers[rows] != found
            rows, found = rows[untaken], found[untaken]
        # Backwards, since what is written last stays: the first volume of each row.
        numbers[rows[::-1]] = found[::-1]
        wanting[rows] = False
        for index in local.wide:
            if not wanting.any():
                return
            if suits[index]:
                number = first + index
                taken = self._untaken(self._rows(local.volumes[index], wanting), number)
                numbers[taken] = number
                wanting[taken] = False

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


def _suiting(claim: PersistentVolumeClaim, local: LocalVolumes) -> BoolArray:
    """Say which volumes are open and selected by the claim: bool by volume."""
    selector = compile_selector(claim.spec.selector)
    if selector is None:
        return local.is_open
    selected = [selector.matches(volume.metadata.labels or {}) for volume in local.volumes]
    return local.is_open & np.array(selected, dtype=np.bool_)


def _is_large_and_alike(claim: PersistentVolumeClaim, kind: VolumeKind) -> bool:
    wanted = (claim.mode, claim.spec.volume_attributes_class_name or "")
    return kind.nano_bytes >= claim.nano_bytes and wanted == (kind.mode, kind.attributes_class)


def _has_modes(claim: PersistentVolumeClaim, kind: VolumeKind) -> bool:
    return set(claim.spec.access_modes).issubset(kind.access_modes)
