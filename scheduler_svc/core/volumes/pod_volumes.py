"""What a Pod's claims demand of each Node, and what would become of them there.

Source: pkg/scheduler/framework/plugins/volumebinding/binder.go (`FindPodVolumes`), v1.36.3.
Difference: all Nodes at once; the answer is kept until some Node's specification changes.
"""

from collections.abc import Mapping, Sequence
from enum import IntFlag
from types import MappingProxyType
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.label_syntax import selector_fault
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.objects import Requirement
from scheduler_svc.core.storage_objects import (
    CSIDriver,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from scheduler_svc.core.volumes.cluster_volumes import ClusterVolumes
from scheduler_svc.core.volumes.matching import NO_VOLUME, VolumeMatching
from scheduler_svc.core.volumes.reach import Reach, reach_of

ObstacleArray = npt.NDArray[np.uint8]


class Obstacle(IntFlag):
    """What stands in the way on a Node; several may."""

    UNREACHABLE = 1
    NO_VOLUME = 2
    NO_ROOM = 4
    VOLUME_GONE = 8


REASONS: Final[Mapping[Obstacle, str]] = MappingProxyType(
    {
        Obstacle.UNREACHABLE: "node(s) didn't match PersistentVolume's node affinity",
        Obstacle.NO_VOLUME: "node(s) didn't find available persistent volumes to bind",
        Obstacle.NO_ROOM: "node(s) did not have enough free storage",
        Obstacle.VOLUME_GONE: (
            "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
        ),
    }
)


class PodClaims(msgspec.Struct, frozen=True, gc=False):
    """A Pod's claims: those that have their volume, and those that wait for the Pod's Node."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]


class StaticBinding(msgspec.Struct, frozen=True, gc=False):
    """A volume that a claim is to get."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume


class NodeDecision(msgspec.Struct, frozen=True, gc=False):
    """What is to be done for a Pod on one Node: bind volumes, have others made."""

    bindings: tuple[StaticBinding, ...] = ()
    provisions: tuple[PersistentVolumeClaim, ...] = ()


class PodVolumes:
    """The claims of one Pod over all Nodes.

    `obstacles` is uint8 `(N,)`, flags of `Obstacle`; `errors` has what goes wrong, and on which
    Nodes: bool `(N,)`, disjoint; `asked`, bool `(N,)`, is for whoever asks to note where.
    """

    def __init__(self, volumes: ClusterVolumes, claims: PodClaims) -> None:
        self._volumes = volumes
        self._claims = claims
        self._position = -1
        self.obstacles: ObstacleArray = np.zeros(0, dtype=np.uint8)
        self.errors: list[tuple[BoolArray, str]] = []
        self.asked: BoolArray = np.zeros(0, dtype=np.bool_)
        self._matching = VolumeMatching(volumes, (), np.zeros(0, dtype=np.bool_))

    @property
    def has_unbound(self) -> bool:
        """Whether some claim has no volume yet."""
        return bool(self._claims.delayed)

    @property
    def columns(self) -> NodeColumns:
        """The Nodes."""
        return self._volumes.columns

    def refresh(self) -> None:
        """Bring the answer up to date with the Nodes."""
        columns = self.columns
        if columns.spec_log.position == self._position:
            return
        self._position = columns.spec_log.position
        self.obstacles = np.zeros(columns.capacity, dtype=np.uint8)
        self.errors = []
        self.asked = np.zeros(columns.capacity, dtype=np.bool_)
        self._find_for_bound()
        if self._claims.delayed:
            self._find_for_delayed()

    def decision(self, row: int) -> NodeDecision:
        """Say what is to be done on the Node of `row`, which has no obstacle."""
        self.refresh()
        provisions = [claim for claim in self._claims.delayed if claim.selected_node is not None]
        bindings = []
        for match in self._matching.matches:
            number = int(match.numbers[row])
            if number == NO_VOLUME:
                provisions.append(match.claim)
            else:
                bindings.append(StaticBinding(match.claim, self._matching.volume(number)))
        return NodeDecision(tuple(bindings), tuple(provisions))

    def _find_for_bound(self) -> None:
        pending = np.ones(len(self.obstacles), dtype=np.bool_)
        for claim in self._claims.bound:
            volume = self._volumes.persistent_volumes.get(claim.spec.volume_name)
            if volume is None:
                self._hinder(pending, Obstacle.VOLUME_GONE)
                return
            reached = self._reached(volume, pending)
            self._hinder(pending & ~reached, Obstacle.UNREACHABLE)
            pending &= reached

    def _reached(self, volume: PersistentVolume, pending: BoolArray) -> BoolArray:
        """Say from which Nodes a volume is reached; takes those where that fails out of pending."""
        reach = reach_of(volume)
        mask = self._mask(reach.own)
        if reach.plugin is not None:
            moved = self._volumes.migrating_nodes.mask(reach.plugin)
            if reach.migrated is None:
                self.errors.append((pending & moved, reach.error))
                pending &= ~moved
            else:
                mask = np.where(moved, self._mask(reach.migrated), mask)
        return mask

    def _mask(self, reach: Reach) -> BoolArray:
        if reach.terms is None:
            return np.ones(len(self.obstacles), dtype=np.bool_)
        mask = np.zeros(len(self.obstacles), dtype=np.bool_)
        mask[self._volumes.node_rows.rows_for(reach, reach.terms)] = True
        return mask

    def _find_for_delayed(self) -> None:
        active = np.ones(len(self.obstacles), dtype=np.bool_)
        for rows, _ in self.errors:
            active &= ~rows
        chosen = [claim for claim in self._claims.delayed if claim.selected_node is not None]
        for claim in chosen:
            others = active.copy()
            others[self._volumes.columns.rows_of([claim.selected_node or ""])] = False
            self._hinder(others, Obstacle.NO_VOLUME)
            active &= ~others
        open_claims = [claim for claim in self._claims.delayed if claim.selected_node is None]
        fault = _selector_fault(open_claims)
        if fault:
            self.errors.append((active, fault))
            return
        self._matching = VolumeMatching(self._volumes, open_claims, active)
        for claim in chosen:
            active &= ~self._refuse(claim, active)
        for match in self._matching.matches:
            active &= ~self._refuse(match.claim, active & (match.numbers == NO_VOLUME))

    def _refuse(self, claim: PersistentVolumeClaim, nodes: BoolArray) -> BoolArray:
        """Note on which of some Nodes no volume can be made for a claim; gives those."""
        storage_class = self._volumes.storage_class(claim.storage_class)
        if storage_class is None or not storage_class.has_provisioner:
            self._hinder(nodes, Obstacle.NO_VOLUME)
            return nodes
        elsewhere = nodes & ~self._allowed(storage_class)
        self._hinder(elsewhere, Obstacle.NO_VOLUME)
        full = nodes & ~elsewhere & ~self._roomy(claim, storage_class)
        self._hinder(full, Obstacle.NO_ROOM)
        return elsewhere | full

    def _allowed(self, storage_class: StorageClass) -> BoolArray:
        mask = np.ones(len(self.obstacles), dtype=np.bool_)
        if storage_class.allowed_topologies:
            mask[:] = False
            rows = self._volumes.node_rows.rows_for(storage_class, _conjunctions(storage_class))
            mask[rows] = True
        return mask

    def _roomy(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> BoolArray:
        drivers: dict[str, CSIDriver] = self._volumes.objects[ObjectKind.CSI_DRIVER].by_key
        driver = drivers.get(storage_class.provisioner)
        if driver is None or not driver.tells_capacity or not claim.has_size:
            return np.ones(len(self.obstacles), dtype=np.bool_)
        return self._volumes.capacities.enough(
            storage_class.metadata.name,
            claim.nano_bytes,
            self._volumes.node_rows,
            len(self.obstacles),
        )

    def _hinder(self, nodes: BoolArray, obstacle: Obstacle) -> None:
        self.obstacles[nodes] |= np.uint8(obstacle)


def _selector_fault(claims: Sequence[PersistentVolumeClaim]) -> str:
    """Give what is wrong with the selector of the smallest claim that has a faulty one, or ""."""
    for claim in sorted(claims, key=lambda claim: claim.nano_bytes):
        fault = selector_fault(claim.spec.selector)
        if fault:
            return f"error creating internal label selector for claim: {claim.key}: {fault}"
    return ""


def _conjunctions(storage_class: StorageClass) -> list[tuple[Requirement, ...]]:
    return [
        tuple(Requirement(r.key, "In", r.values) for r in term.match_label_expressions)
        for term in storage_class.allowed_topologies
        if term.match_label_expressions and all(r.values for r in term.match_label_expressions)
    ]
