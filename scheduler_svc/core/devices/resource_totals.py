"""The devices that stand for an extended resource: how many each Node has, and how many are taken.

It is what the scores of NodeResourcesFit and NodeResourcesBalancedAllocation count where no
device plugin offers the resource. All slices count, also those of old generations and of
incomplete pools; a device is asked as one that cannot be shared; where a selector has no
answer for one of a Node's devices, the Node has none: as upstream does.

Source: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go
(`calculateDRAResourceTotals`), v1.36.3. Difference: no answer outlives the device, Node or
class that it was about.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.columns import Int64Array, NodeColumns, NodeView
from scheduler_svc.core.device_objects import Device, DeviceClass, ResourceSliceSpec
from scheduler_svc.core.devices.inventory import DeviceInventory
from scheduler_svc.core.devices.node_selectors import selected_rows
from scheduler_svc.core.devices.published import DeviceId, PublishedDevice, PublishedSlice
from scheduler_svc.core.devices.selectors import SelectorFailure
from scheduler_svc.core.devices.slice_index import Grouping

_NOWHERE: Final[RowArray] = np.zeros(0, dtype=np.intp)


class _Counted(msgspec.Struct):
    """A device of the class, the rows of the Nodes that reach it, and whether it is taken."""

    device: DeviceId
    rows: RowArray
    is_taken: bool


class ResourceTotals:
    """The devices of one extended resource on all Nodes.

    Cost: O(1) while nothing has changed, O(devices of the pool) when one is taken or given
    back, O(slices and devices) when slices, Nodes' labels or the class change.
    """

    def __init__(self, inventory: DeviceInventory, resource: str) -> None:
        self._inventory, self._resource = inventory, resource
        self._version = 0
        self._class: DeviceClass | None = None
        self._grouping: Grouping | None = None
        self._log_position = -1
        self._by_pool: dict[int, list[_Counted]] = {}
        # By slice: which devices are of the class, None where that cannot be told.
        self._answers: dict[str, tuple[PublishedSlice, list[bool | None]]] = {}
        self._capacity: Int64Array = np.zeros(0, dtype=np.int64)
        self._taken: Int64Array = np.zeros(0, dtype=np.int64)

    @classmethod
    def of(cls, inventory: DeviceInventory, resource: str) -> "ResourceTotals":
        """Give the totals of a resource, one object for all that look at them."""
        key = (cls, resource)
        known: ResourceTotals | None = inventory.states.get(key)
        if known is None:
            known = inventory.states[key] = cls(inventory, resource)
        return known

    def version(self, columns: NodeColumns) -> int:
        """Give a number that changes with the totals."""
        self._refresh(columns)
        return self._version

    def at(self, nodes: NodeView) -> tuple[Int64Array, Int64Array]:
        """Give how many devices there are and how many are taken, int64 `(K,)` each."""
        self._refresh(nodes.columns)
        return self._capacity[nodes.rows], self._taken[nodes.rows]

    def _refresh(self, columns: NodeColumns) -> None:
        grouping = self._inventory.slices.grouping(columns)
        device_class = self._inventory.class_of_resource(self._resource)
        log = self._inventory.allocated.log
        changed = log.since(self._log_position)
        self._log_position = log.position
        if device_class is not self._class:
            self._class = device_class
            self._answers.clear()
            changed = None
        if changed is None or grouping is not self._grouping:
            self._grouping = grouping
            self._count_all(columns)
            return
        for code in set(changed.tolist()):
            self._recount(self._by_pool.get(code, ()))

    def _recount(self, devices: Sequence[_Counted]) -> None:
        for counted in devices:
            is_taken = self._inventory.allocated.is_taken(counted.device)
            if is_taken != counted.is_taken:
                counted.is_taken = is_taken
                self._taken[counted.rows] += 1 if is_taken else -1
                self._version += 1

    def _count_all(self, columns: NodeColumns) -> None:
        self._version += 1
        self._capacity = np.zeros(columns.capacity, dtype=np.int64)
        self._taken = np.zeros(columns.capacity, dtype=np.int64)
        by_pool: dict[int, list[_Counted]] = defaultdict(list)
        unknown = np.zeros(columns.capacity, dtype=np.bool_)
        if self._class is None:
            self._answers, self._by_pool = {}, {}
            return
        self._answers = {
            published.name: self._answers_of(published, self._class)
            for published in self._inventory.slices.slices()
        }
        for published, answers in self._answers.values():
            code = self._inventory.allocated.code(published.pool_id)
            for (device, rows), answer in zip(_reached(published, columns), answers, strict=True):
                if answer is None:
                    unknown[rows] = True
                elif answer:
                    self._capacity[rows] += 1
                    by_pool[code].append(_Counted(device.id, rows, is_taken=False))
        self._capacity[unknown] = 0
        self._by_pool = dict(by_pool)
        for devices in by_pool.values():
            self._recount(devices)

    def _answers_of(
        self, published: PublishedSlice, device_class: DeviceClass
    ) -> tuple[PublishedSlice, list[bool | None]]:
        known = self._answers.get(published.name)
        if known is not None and known[0] is published:
            return known
        return published, [self._is_of_class(device, device_class) for device in published.devices]

    def _is_of_class(self, device: PublishedDevice, device_class: DeviceClass) -> bool | None:
        selectors, traits = self._inventory.selectors, device.traits
        if device.is_shared:
            alone = msgspec.structs.replace(device.device, allow_multiple_allocations=False)
            traits = selectors.traits(device.id[0], alone)
        for selector in device_class.spec.selectors:
            if selector.cel is None:
                continue
            answer = selectors.matches(selector.cel.expression, traits)
            if isinstance(answer, SelectorFailure):
                return None
            if not answer:
                return False
        return True


def _reached(
    published: PublishedSlice, columns: NodeColumns
) -> Iterator[tuple[PublishedDevice, RowArray]]:
    """Give each device with the rows of the Nodes that reach it, in no order."""
    spec = published.spec
    if not spec.per_device_node_selection:
        everywhere: RowArray = np.flatnonzero(columns.live)
        says_nothing = not (spec.all_nodes or spec.node_name or spec.node_selector is not None)
        rows = everywhere if says_nothing else _rows(spec, columns)
        yield from ((device, rows) for device in published.devices)
        return
    for device in published.devices:
        yield device, _rows(device.device, columns)


def _rows(place: Device | ResourceSliceSpec, columns: NodeColumns) -> RowArray:
    if place.all_nodes:
        return np.flatnonzero(columns.live)
    if place.node_name:
        return columns.rows_of((place.node_name,))
    if place.node_selector is not None:
        return np.flatnonzero(selected_rows(place.node_selector, columns))
    return _NOWHERE
