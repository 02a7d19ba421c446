"""Which Nodes see which devices: Nodes that see the same are one `NodeGroup`.

Slices of one Node's own devices are found by its name; all others are matched against all
Nodes at once. Nothing is done until somebody asks, and a Node whose labels stay as they are
changes nothing. Cost of `grouping`: O(1) while nothing has changed, else O(N) and some array
operations for each slice that several Nodes see.
"""

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.device_objects import Device, ResourceSlice, ResourceSliceSpec
from scheduler_svc.core.devices.node_selectors import row_mask, selected_rows
from scheduler_svc.core.devices.pools import Pool, PoolView, VisibleSlice, view_of
from scheduler_svc.core.devices.published import PoolId, PublishedSlice
from scheduler_svc.core.devices.selectors import Selectors
from scheduler_svc.core.labels import BoolArray

_Signature = tuple[tuple[PublishedSlice, ...], bytes]
# A slice, and the position of one of its devices; None is the slice as a whole.
_Sighting = tuple[PublishedSlice, int | None]
_ViewKey = tuple[Pool, tuple[VisibleSlice, ...]]


class NodeGroup:
    """Nodes, by row, that see the same `pools`, in the order of allocation."""

    __slots__ = ("pools", "rows")

    def __init__(self, pools: tuple[PoolView, ...]) -> None:
        self.pools = pools
        self.rows: list[int] = []


class Grouping:
    """Every live Node in a group; `groups_of_pool` says by a pool's code who sees its devices."""

    __slots__ = ("group_of_row", "groups", "groups_of_pool")

    def __init__(self, group_of_row: list[NodeGroup | None]) -> None:
        self.group_of_row = group_of_row
        self.groups: list[NodeGroup] = []
        self.groups_of_pool: dict[int, list[NodeGroup]] = defaultdict(list)


class SliceIndex:
    """All slices, and the groups of Nodes that follow from them.

    `code` gives the number of a pool, which it keeps.
    """

    def __init__(self, selectors: Selectors, code: Callable[[PoolId], int]) -> None:
        self._selectors, self._code = selectors, code
        self._slices: dict[str, PublishedSlice] = {}
        self._names_of_pool: dict[PoolId, dict[str, PublishedSlice]] = defaultdict(dict)
        self._pools: dict[PoolId, Pool] = {}
        self._local: dict[str, dict[str, PublishedSlice]] = defaultdict(dict)
        self._shared: dict[str, PublishedSlice] = {}
        self._views: dict[_ViewKey, PoolView | None] = {}
        self._labels: list[dict[str, str] | None] = []
        self._spec_position = -1
        self._grouping: Grouping | None = None

    def slices(self) -> list[PublishedSlice]:
        """Give all slices by name."""
        return [self._slices[name] for name in sorted(self._slices)]

    def change(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        """Take in that a slice came, changed or went."""
        self._grouping = None
        if old is not None:
            self._forget(self._slices.pop(old.metadata.name))
        if new is not None:
            self._add(PublishedSlice(new, self._selectors))

    def _forget(self, gone: PublishedSlice) -> None:
        del self._names_of_pool[gone.pool_id][gone.name]
        if gone.is_local:
            del self._local[gone.spec.node_name][gone.name]
        else:
            del self._shared[gone.name]
        self._renew(gone.pool_id)

    def _add(self, published: PublishedSlice) -> None:
        self._slices[published.name] = published
        self._names_of_pool[published.pool_id][published.name] = published
        if published.is_local:
            self._local[published.spec.node_name][published.name] = published
        else:
            self._shared[published.name] = published
        self._renew(published.pool_id)

    def _renew(self, pool_id: PoolId) -> None:
        named = self._names_of_pool[pool_id]
        if named:
            slices = tuple(named[name] for name in sorted(named))
            self._pools[pool_id] = Pool(pool_id, self._code(pool_id), slices)
        else:
            del self._names_of_pool[pool_id]
            self._pools.pop(pool_id, None)

    def grouping(self, columns: NodeColumns) -> Grouping:
        """Give the groups of all live Nodes."""
        if self._grouping is None or self._nodes_changed(columns):
            self._grouping = self._group(columns)
        return self._grouping

    def _nodes_changed(self, columns: NodeColumns) -> bool:
        rows = columns.spec_log.since(self._spec_position)
        self._spec_position = columns.spec_log.position
        if rows is None or len(self._labels) != len(columns.infos):
            return True
        for row in rows:
            info = columns.infos[row]
            if (None if info is None else info.labels) != self._labels[row]:
                return True
        return False

    def _group(self, columns: NodeColumns) -> Grouping:
        self._spec_position = columns.spec_log.position
        self._labels = [None if info is None else info.labels for info in columns.infos]
        shared = [self._shared[name] for name in sorted(self._shared)]
        places, masks = self._sightings(shared, columns)
        patterns = _patterns(masks, len(columns.infos))
        grouping = Grouping([None] * len(columns.infos))
        known: dict[_Signature, NodeGroup] = {}
        by_pools: dict[tuple[PoolView, ...], NodeGroup] = {}
        views: dict[_ViewKey, PoolView | None] = {}
        for row, info in enumerate(columns.infos):
            if info is None:
                continue
            local = self._local.get(info.name)
            own = tuple(local[name] for name in sorted(local)) if local else ()
            signature = (own, patterns[row])
            group = known.get(signature)
            if group is None:
                seen: list[_Sighting] = [(published, None) for published in own]
                pools = self._pools_of(seen + _seen(places, masks, row), views)
                group = known[signature] = by_pools.setdefault(pools, NodeGroup(pools))
            group.rows.append(row)
            grouping.group_of_row[row] = group
        self._views = views
        for group in by_pools.values():
            grouping.groups.append(group)
            for pool in group.pools:
                if pool.devices:
                    grouping.groups_of_pool[pool.code].append(group)
        return grouping

    def _sightings(
        self, shared: list[PublishedSlice], columns: NodeColumns
    ) -> tuple[list[_Sighting], list[BoolArray]]:
        """Give who sees what: slices or single devices, each with its mask of Nodes."""
        places: list[_Sighting] = []
        masks: list[BoolArray] = []
        for published in shared:
            spec = published.spec
            if spec.shared_counters:
                # All Nodes see counters, and that alone does not tell Nodes apart.
                continue
            if spec.all_nodes or spec.node_selector is not None:
                places.append((published, None))
                masks.append(_mask(spec, columns))
            elif spec.per_device_node_selection:
                for index, device in enumerate(spec.devices):
                    places.append((published, index))
                    masks.append(_mask(device, columns))
        return places, masks

    def _pools_of(
        self,
        seen: list[_Sighting],
        views: dict[_ViewKey, PoolView | None],
    ) -> tuple[PoolView, ...]:
        """Give the pools of what a Node sees; every Node sees all shared counters as well."""
        visible: dict[PoolId, dict[str, set[int | None]]] = defaultdict(dict)
        for published, index in seen:
            visible[published.pool_id].setdefault(published.name, set()).add(index)
        for name, published in self._shared.items():
            if published.spec.shared_counters:
                visible[published.pool_id].setdefault(name, set()).add(None)
        found = []
        for pool_id, named in visible.items():
            entries = tuple(
                _visible(self._slices[name], indices) for name, indices in sorted(named.items())
            )
            key = (self._pools[pool_id], entries)
            if key not in views:
                views[key] = self._views[key] if key in self._views else view_of(*key)
            view = views[key]
            if view is not None and (view.devices or view.is_incomplete or view.is_invalid):
                found.append(view)
        return tuple(sorted(found, key=lambda view: view.sort_key))


def _mask(place: Device | ResourceSliceSpec, columns: NodeColumns) -> BoolArray:
    """Give the Nodes that reach a device or slice, bool `(N,)`."""
    if place.node_name:
        return row_mask(place.node_name, columns)
    if place.all_nodes:
        return columns.live
    if place.node_selector is not None:
        return selected_rows(place.node_selector, columns)
    return np.zeros(columns.capacity, dtype=np.bool_)


def _patterns(masks: list[BoolArray], row_count: int) -> list[bytes]:
    """Give for each row which masks it is in, as bytes."""
    if not masks:
        return [b""] * row_count
    bits = np.packbits(np.stack([mask[:row_count] for mask in masks]), axis=0)
    return [bits[:, row].tobytes() for row in range(row_count)]


def _seen(places: list[_Sighting], masks: list[BoolArray], row: int) -> list[_Sighting]:
    return [place for place, mask in zip(places, masks, strict=True) if mask[row]]


def _visible(published: PublishedSlice, indices: set[int | None]) -> VisibleSlice:
    """Give the slice with the positions of the devices that are seen; None is all of them."""
    if None in indices:
        return published, None
    return published, frozenset(index for index in indices if index is not None)
