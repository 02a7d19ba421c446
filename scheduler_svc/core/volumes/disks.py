"""Disks that Pods name themselves, and that not every Pod of a Node can have at once.

Source: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go
(`isVolumeConflict`), v1.36.3.
"""

from collections.abc import Iterator

import msgspec

from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.volume_objects import Volume
from scheduler_svc.core.volumes.row_counts import RowCounts

DiskKey = tuple[str, ...]


class DiskUse(msgspec.Struct, frozen=True, gc=False):
    """A disk, and whether it is only read: readers do not disturb each other."""

    key: DiskKey
    is_read_only: bool


def disks_of(pod: PodInfo) -> list[DiskUse]:
    """Give the disks that a Pod names; an RBD image once for each of its monitors."""
    return [use for volume in pod.volumes for use in _uses(volume)]


def disturb(pod: PodInfo, other: PodInfo) -> bool:
    """Whether two Pods cannot be on one Node."""
    held = disks_of(other)
    return any(
        mine.key == theirs.key and not (mine.is_read_only and theirs.is_read_only)
        for mine in disks_of(pod)
        for theirs in held
    )


def _uses(volume: Volume) -> Iterator[DiskUse]:
    if volume.gce_persistent_disk is not None:
        disk = volume.gce_persistent_disk
        yield DiskUse(("gce", disk.pd_name), disk.read_only)
    if volume.aws_elastic_block_store is not None:
        # Read-only or not: it is attached to one Node for one Pod.
        yield DiskUse(("aws", volume.aws_elastic_block_store.volume_id), False)
    if volume.iscsi is not None:
        yield DiskUse(("iscsi", volume.iscsi.iqn), volume.iscsi.read_only)
    if volume.rbd is not None:
        rbd = volume.rbd
        for monitor in dict.fromkeys(rbd.monitors):
            yield DiskUse(("rbd", rbd.pool, rbd.image, monitor), rbd.read_only)


class DisksInUse:
    """How many Pods write and read each disk, by row. Memory: O(disks of Pods on Nodes)."""

    def __init__(self) -> None:
        self._writers = RowCounts[DiskKey]()
        self._readers = RowCounts[DiskKey]()

    def count(self, pod: PodInfo, row: int, sign: int) -> None:
        """Count one Pod in (`sign` 1) or out (-1)."""
        for use in disks_of(pod):
            table = self._readers if use.is_read_only else self._writers
            table.add(use.key, row, sign)

    def rows_disturbing(self, uses: list[DiskUse]) -> list[int]:
        """Give the rows of the Nodes on which one of the disks cannot be used besides."""
        rows: list[int] = []
        for use in uses:
            rows += self._writers.rows(use.key)
            if not use.is_read_only:
                rows += self._readers.rows(use.key)
        return rows

    def held(self) -> dict[tuple[DiskKey, bool], dict[int, int]]:
        """Give how many Pods use each disk by key, whether they only read, and row."""
        tables = ((self._writers, False), (self._readers, True))
        return {(key, reads): rows for table, reads in tables for key, rows in table.by_key.items()}
