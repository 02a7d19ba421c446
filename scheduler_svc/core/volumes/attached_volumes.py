"""How many volumes of each CSI driver are on each Node, and how many it takes.

A volume is on a Node if a Pod there uses it or a VolumeAttachment says so, and counts
once. VolumeAttachments and CSINodes name their Node, whose row is only looked for when
somebody asks (`refresh`): they may come before it, and outlive it.

Invariant: the counts equal a recount over Pods, VolumeAttachments and what they resolve to.
Source: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go, v1.36.3.
"""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from scheduler_svc.core.cluster_objects import ClusterObjects, ObjectKind
from scheduler_svc.core.columns import Int64Array, NodeColumns
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.storage_objects import CSINode, PersistentVolume, VolumeAttachment
from scheduler_svc.core.volumes.claims import claims_of
from scheduler_svc.core.volumes.counted_volumes import ResolvedClaims
from scheduler_svc.core.volumes.migration import CSIVolume, inline_csi_volume
from scheduler_svc.core.volumes.row_counts import RowCounts

NO_LIMIT: Final = 2**62


class AttachedVolumes:
    """Counts of volumes by driver and row, int64 `(N,)`, and their limits."""

    def __init__(self, columns: NodeColumns, objects: ClusterObjects) -> None:
        self._columns = columns
        self._objects = objects
        self._claims = RowCounts[str]()
        self._resolved = ResolvedClaims(objects, self._claim_changed)
        self._used = RowCounts[CSIVolume]()
        self._present = RowCounts[CSIVolume]()
        self._counts: dict[str, Int64Array] = {}
        self._limits: dict[str, Int64Array] = {}
        self._has_csi_node: BoolArray = np.zeros(columns.capacity, dtype=np.bool_)
        # Names of VolumeAttachments by their Node, and by their PersistentVolume.
        self._of_node: dict[str, dict[str, None]] = {}
        self._of_volume: dict[str, dict[str, None]] = {}
        self._placed: dict[str, tuple[int, CSIVolume]] = {}
        self._node_at: dict[int, str] = {}
        self._row_of: dict[str, int] = {}
        self._position = -1
        objects[ObjectKind.CSI_NODE].listeners.append(self._csi_node_changed)
        objects[ObjectKind.VOLUME_ATTACHMENT].listeners.append(self._attachment_changed)
        objects[ObjectKind.PERSISTENT_VOLUME].listeners.append(self._volume_changed)
        columns.on_growth(self._grow)

    def count(self, pod: PodInfo, row: int, sign: int) -> None:
        """Count one Pod's volumes in (`sign` 1) or out (-1). O(its volumes)."""
        for claim in claims_of(pod):
            key = f"{pod.namespace}/{claim.name}"
            volume = self._resolved.hold(key)
            self._claims.add(key, row, sign)
            if volume is not None:
                self._use(volume, row, sign)
            if not self._claims.rows(key):
                self._resolved.release(key)
        for inline in pod.volumes:
            found = inline_csi_volume(inline)
            if isinstance(found, CSIVolume):
                self._use(found, row, sign)

    def refresh(self) -> None:
        """Find the rows of Nodes that came, and forget those that went. O(changed Nodes)."""
        log = self._columns.spec_log
        if log.position == self._position:
            return
        changed = log.since(self._position) if self._position >= 0 else None
        self._position = log.position
        if changed is None:
            changed = np.arange(len(self._columns.infos))
        came: dict[int, str] = {}
        for row in dict.fromkeys(changed.tolist()):
            info, former = self._columns.infos[row], self._node_at.get(row)
            if former is not None and (info is None or info.name != former):
                self._leave(row, former)
            if info is not None and info.name != former:
                came[row] = info.name
        # A Node that has moved has left its row by now.
        for row, name in came.items():
            self._settle(row, name)

    def exceeding(self, volumes: Iterable[CSIVolume]) -> BoolArray:
        """Give bool `(N,)`: which Nodes cannot take the volumes besides those they have.

        A volume that a Pod of the Node uses already is no new one; one that is merely attached
        to it is counted twice, as upstream does.
        """
        self.refresh()
        mask = np.zeros(self._columns.capacity, dtype=np.bool_)
        by_driver: dict[str, dict[CSIVolume, None]] = {}
        for volume in volumes:
            by_driver.setdefault(volume.driver, {})[volume] = None
        for driver, wanted in by_driver.items():
            limits = self._limits.get(driver)
            if limits is None:
                continue
            new = np.full(self._columns.capacity, len(wanted), dtype=np.int64)
            for volume in wanted:
                new[list(self._used.rows(volume))] -= 1
            counts = self._counts.get(driver)
            total = new if counts is None else counts + new
            mask |= (new > 0) & (total > limits)
        return mask

    @property
    def has_csi_node(self) -> BoolArray:
        """Whether there is a CSINode for each row: bool `(N,)`."""
        self.refresh()
        return self._has_csi_node

    def is_limited(self, row: int) -> bool:
        """Whether a Node has a limit for any driver."""
        self.refresh()
        return any(limits[row] != NO_LIMIT for limits in self._limits.values())

    def held(self) -> dict[CSIVolume, set[str]]:
        """Give the Nodes that each volume is on, for comparison with a recount."""
        self.refresh()
        names = self._columns.names
        return {v: {names[row] for row in rows} for v, rows in self._present.by_key.items()}

    def counted(self, driver: str) -> dict[str, int]:
        """Give the count of each Node that has volumes of a driver."""
        self.refresh()
        counts = self._counts.get(driver, np.zeros(0, dtype=np.int64))
        return {self._columns.names[row]: int(counts[row]) for row in np.flatnonzero(counts)}

    def _use(self, volume: CSIVolume, row: int, change: int) -> None:
        self._used.add(volume, row, change)
        self._add(volume, row, change)

    def _add(self, volume: CSIVolume, row: int, change: int) -> None:
        count = self._present.add(volume, row, change)
        appeared, vanished = count == change > 0, count == 0
        if appeared or vanished:
            self._column(self._counts, volume.driver, 0)[row] += 1 if appeared else -1

    def _claim_changed(self, key: str, old: CSIVolume | None, new: CSIVolume | None) -> None:
        for row, count in self._claims.by_key[key].items():
            if old is not None:
                self._use(old, row, -count)
            if new is not None:
                self._use(new, row, count)

    def _csi_node_changed(self, old: Any, new: CSINode | None) -> None:
        row = self._row_of.get((new or old).metadata.name)
        if row is not None:
            self._set_limits(row, new)

    def _set_limits(self, row: int, csi_node: CSINode | None) -> None:
        self._has_csi_node[row] = csi_node is not None
        for limits in self._limits.values():
            limits[row] = NO_LIMIT
        for driver in csi_node.spec.drivers if csi_node is not None else ():
            if driver.limit is not None:
                self._column(self._limits, driver.name, NO_LIMIT)[row] = driver.limit

    def _attachment_changed(
        self, old: VolumeAttachment | None, new: VolumeAttachment | None
    ) -> None:
        for attachment, is_there in ((old, False), (new, True)):
            if attachment is None:
                continue
            name, spec = attachment.metadata.name, attachment.spec
            volume = spec.source.persistent_volume_name
            _note(self._of_node, spec.node_name, name, is_there=is_there)
            if volume is not None:
                _note(self._of_volume, volume, name, is_there=is_there)
            self._place(name)

    def _volume_changed(self, old: Any, new: PersistentVolume | None) -> None:
        for name in self._of_volume.get((new or old).name, ()):
            self._place(name)

    def _place(self, name: str) -> None:
        """Count an attachment on its Node, if both are known, and no longer where it was."""
        placed = self._placed.pop(name, None)
        if placed is not None:
            self._add(placed[1], placed[0], -1)
        attachment = self._objects[ObjectKind.VOLUME_ATTACHMENT].by_key.get(name)
        if attachment is None:
            return
        row = self._row_of.get(attachment.spec.node_name)
        volume = self._attached(attachment)
        if row is not None and volume is not None:
            self._placed[name] = row, volume
            self._add(volume, row, 1)

    def _attached(self, attachment: VolumeAttachment) -> CSIVolume | None:
        spec = attachment.spec
        name = spec.source.persistent_volume_name
        volume: PersistentVolume | None
        volume = self._objects[ObjectKind.PERSISTENT_VOLUME].by_key.get(name or "")
        if not spec.attacher or volume is None or volume.spec.csi is None:
            return None
        return CSIVolume(spec.attacher, volume.spec.csi.volume_handle)

    def _settle(self, row: int, name: str) -> None:
        self._node_at[row], self._row_of[name] = name, row
        self._set_limits(row, self._objects[ObjectKind.CSI_NODE].by_key.get(name))
        for attachment in self._of_node.get(name, ()):
            self._place(attachment)

    def _leave(self, row: int, name: str) -> None:
        del self._node_at[row], self._row_of[name]
        self._set_limits(row, None)
        for attachment in self._of_node.get(name, ()):
            self._place(attachment)

    def _column(self, table: dict[str, Int64Array], driver: str, default: int) -> Int64Array:
        column = table.get(driver)
        if column is None:
            column = np.full(self._columns.capacity, default, dtype=np.int64)
            table[driver] = column
        return column

    def _grow(self, capacity: int) -> None:
        for table, default in ((self._counts, 0), (self._limits, NO_LIMIT)):
            for driver, column in table.items():
                table[driver] = _padded(column, capacity, default)
        grown = np.zeros(capacity, dtype=np.bool_)
        grown[: len(self._has_csi_node)] = self._has_csi_node
        self._has_csi_node = grown


def _padded(column: Int64Array, capacity: int, default: int) -> Int64Array:
    padded = np.full(capacity, default, dtype=np.int64)
    padded[: len(column)] = column
    return padded


def _note(table: dict[str, dict[str, None]], key: str, name: Any, *, is_there: bool) -> None:
    names = table.setdefault(key, {})
    if is_there:
        names[name] = None
    else:
        names.pop(name, None)
    if not names:
        del table[key]
