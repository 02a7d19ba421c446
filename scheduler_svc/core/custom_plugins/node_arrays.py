"""What a vectorised plugin of a user sees: arrays over K Nodes."""

from collections.abc import Mapping

import numpy as np

from scheduler_svc.core.affinity_objects import LabelRequirement
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import PODS_ROW, Float64Array, Int64Array, NodeView
from scheduler_svc.core.custom_plugins.views import check_scope
from scheduler_svc.core.framework.interface import Scope
from scheduler_svc.core.label_selectors import Selector
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.objects import Requirement
from scheduler_svc.core.pod_counts import DomainSums, PodCounter, PodQuery, PodTerm


def _read_only(array: Int64Array) -> Int64Array:
    """Keep a plugin from writing to what is the scheduler's own."""
    view: Int64Array = array.view()
    view.flags.writeable = False
    return view


class ClassMemory:
    """What a class of Pods has counted for a plugin, kept as long as the class is."""

    __slots__ = ("counters", "sums")

    def __init__(self) -> None:
        self.counters: dict[PodQuery, PodCounter] = {}
        self.sums: dict[tuple[PodQuery, str], DomainSums] = {}


class Nodes:
    """K Nodes as arrays of length K, which are not to be written to; copy them first."""

    __slots__ = ("_cluster", "_memory", "_scope", "_view")

    def __init__(self, view: NodeView, cluster: Cluster, memory: ClassMemory, scope: Scope) -> None:
        self._view = view
        self._scope = scope
        self._cluster = cluster
        self._memory = memory

    def __len__(self) -> int:
        return self._view.count

    @property
    def names(self) -> list[str]:
        """Their names."""
        names, rows = self._view.columns.names, self._view.rows
        return names[rows] if isinstance(rows, slice) else [names[row] for row in rows.tolist()]

    def label(self, key: str) -> list[str | None]:
        """Give the values of a label; None where a Node does not have it."""
        column = self._view.columns.label_column(key)
        values = [*column.values, None]
        return [values[code] for code in column.codes[self._view.rows].tolist()]

    def has_label(self, key: str, *values: str) -> BoolArray:
        """Tell which Nodes have a label, with one of `values` if any are given."""
        operator = "In" if values else "Exists"
        requirement = Requirement(key, operator, values)
        return self._view.columns.label_column(key).match(requirement, self._view.rows)

    def by_label(self, key: str, values: Mapping[str, float], default: float) -> Float64Array:
        """Give for each Node what `values` has for its value of a label, else `default`."""
        column = self._view.columns.label_column(key)
        table = np.array([*(values.get(value, default) for value in column.values), default])
        found: Float64Array = table[column.codes[self._view.rows]]
        return found

    def allocatable(self, resource: str) -> Int64Array:
        """Give what they offer of a resource: `cpu` in thousandths, else bytes or pieces."""
        row = self._view.columns.resource_row(resource)
        return _read_only(self._view.allocatable[row])

    def free(self, resource: str) -> Int64Array:
        """Give what they have left of a resource; below 0 where too much is taken."""
        check_scope(self._scope, Scope.USAGE, "what Nodes have left")
        row = self._view.columns.resource_row(resource)
        return _read_only(self._view.free[row])

    @property
    def pod_counts(self) -> Int64Array:
        """How many Pods are on them."""
        check_scope(self._scope, Scope.USAGE, "the number of Pods on Nodes")
        counts: Int64Array = self._view.allocatable[PODS_ROW] - self._view.free[PODS_ROW]
        return counts

    def count_pods(self, namespace: str | None, labels: Mapping[str, str]) -> Int64Array:
        """Count the Pods on each with these labels, of one namespace or of all (None).

        The counts are kept: a call costs O(K), whatever the number of Pods. Needs
        `Scope.USAGE` or wider.
        """
        check_scope(self._scope, Scope.USAGE, "the number of Pods on Nodes")
        query = _query(namespace, labels)
        counts: Int64Array = self._counter(query).tally.counts[self._view.rows].astype(np.int64)
        return counts

    def count_pods_by_label(
        self, key: str, namespace: str | None, labels: Mapping[str, str]
    ) -> Int64Array:
        """Count such Pods on all Nodes with the same value of a label; 0 without the label.

        Needs `Scope.CLUSTER`.
        """
        check_scope(self._scope, Scope.CLUSTER, "the number of Pods on other Nodes")
        query = _query(namespace, labels)
        sums = self._memory.sums.get((query, key))
        column = self._view.columns.label_column(key)
        if sums is None:
            sums = DomainSums(self._counter(query).tally, column)
            self._memory.sums[query, key] = sums
        sums.refresh()
        counts: Int64Array = sums.sums[column.codes[self._view.rows]]
        return counts

    def _counter(self, query: PodQuery) -> PodCounter:
        counter = self._memory.counters.get(query)
        if counter is None:
            counter = self._cluster.pod_counts.counter(query)
            self._memory.counters[query] = counter
        return counter


def _query(namespace: str | None, labels: Mapping[str, str]) -> PodQuery:
    requirements = (LabelRequirement(key, "In", (value,)) for key, value in sorted(labels.items()))
    namespaces = None if namespace is None else frozenset({namespace})
    return PodQuery((PodTerm(namespaces, Selector(tuple(requirements))),))
