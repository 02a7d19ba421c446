"""On which Nodes CSI drivers have taken over in-tree plugins, by what their CSINodes say."""

from collections import defaultdict

import numpy as np

from scheduler_svc.core.cluster_objects import ObjectStore
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.storage_objects import CSINode


class MigratingNodes:
    """Keeps the Nodes of each plugin, for each Pod has a volume of its own to be looked at."""

    def __init__(self, columns: NodeColumns, csi_nodes: ObjectStore) -> None:
        self._columns = columns
        self._names: defaultdict[str, set[str]] = defaultdict(set)
        self._masks: dict[str, BoolArray] = {}
        self._made_at = (-1, -1)
        csi_nodes.listeners.append(self._changed)

    def mask(self, plugin: str) -> BoolArray:
        """Give bool `(N,)`, not to be written to.

        O(1) while neither Nodes' specifications nor what CSINodes say changes, else O(CSINodes).
        """
        made_at = self._columns.spec_log.position, self._columns.capacity
        if made_at != self._made_at:
            self._masks.clear()
            self._made_at = made_at
        mask = self._masks.get(plugin)
        if mask is None:
            mask = np.zeros(self._columns.capacity, dtype=np.bool_)
            mask[self._columns.rows_of(self._names[plugin])] = True
            self._masks[plugin] = mask
        return mask

    def _changed(self, old: CSINode | None, new: CSINode | None) -> None:
        if old is not None:
            for plugin in old.migrated_plugins:
                self._names_to_change(plugin).discard(old.metadata.name)
        if new is not None:
            for plugin in new.migrated_plugins:
                self._names_to_change(plugin).add(new.metadata.name)

    def _names_to_change(self, plugin: str) -> set[str]:
        self._masks.pop(plugin, None)
        return self._names[plugin]
