"""How much room there is for new volumes of a class, and on which Nodes.

Source: pkg/scheduler/framework/plugins/volumebinding/binder.go (`hasEnoughCapacity`), v1.36.3.
"""

import numpy as np

from scheduler_svc.core.cluster_objects import ObjectStore
from scheduler_svc.core.label_selectors import compile_selector
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.objects import Requirement
from scheduler_svc.core.quantity import NANO_PER_UNIT
from scheduler_svc.core.storage_objects import CSIStorageCapacity
from scheduler_svc.core.volumes.node_rows import NodeRows


class CapacitiesOfClass:
    """The CSIStorageCapacities of one class; `version` changes with each of them."""

    __slots__ = ("objects", "version")

    def __init__(self) -> None:
        self.version = 0
        self.objects: dict[str, CSIStorageCapacity] = {}


class StorageCapacities:
    """All CSIStorageCapacities by class."""

    def __init__(self, store: ObjectStore) -> None:
        self._classes: dict[str, CapacitiesOfClass] = {}
        store.listeners.append(self._changed)

    def of_class(self, name: str) -> CapacitiesOfClass:
        """Give the capacities of a class."""
        capacities = self._classes.get(name)
        if capacities is None:
            capacities = self._classes[name] = CapacitiesOfClass()
        return capacities

    def enough(self, name: str, nano_bytes: int, node_rows: NodeRows, row_count: int) -> BoolArray:
        """Give bool `(N,)`: which Nodes have room for a volume. O(capacities of the class)."""
        mask = np.zeros(row_count, dtype=np.bool_)
        for capacity in self.of_class(name).objects.values():
            limit = capacity.limit_nano_bytes
            if limit is not None and _whole_bytes(limit) >= _whole_bytes(nano_bytes):
                terms = _terms(capacity)
                mask[node_rows.rows_for(capacity, terms)] = True
        return mask

    def _changed(self, old: CSIStorageCapacity | None, new: CSIStorageCapacity | None) -> None:
        if old is not None:
            capacities = self.of_class(old.storage_class_name)
            capacities.version += 1
            del capacities.objects[_key(old)]
        if new is not None:
            capacities = self.of_class(new.storage_class_name)
            capacities.version += 1
            capacities.objects[_key(new)] = new


def _key(capacity: CSIStorageCapacity) -> str:
    return f"{capacity.metadata.namespace}/{capacity.metadata.name}"


def _terms(capacity: CSIStorageCapacity) -> list[tuple[Requirement, ...]]:
    selector = compile_selector(capacity.node_topology)
    if selector is None:
        return []
    return [tuple(Requirement(r.key, r.operator, r.values) for r in selector.requirements)]


def _whole_bytes(nano_bytes: int) -> int:
    return -(-nano_bytes // NANO_PER_UNIT)
