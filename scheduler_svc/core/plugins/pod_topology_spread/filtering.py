"""The hard part: where a Pod would make its domain too full, compared with the emptiest.

Source: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go, v1.36.3. Difference: the
minimum is kept over all domains, not over the two emptiest; while only one Node's Pods
change, as in preemption, both give the same.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import Int64Array, NodeView
from scheduler_svc.core.framework.interface import Rejection
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.plugins.pod_topology_spread.domains import DomainCounts
from scheduler_svc.core.plugins.pod_topology_spread.rules import SpreadConstraint, SpreadRules
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status

REASON_SKEW: Final = "node(s) didn't match pod topology spread constraints"
REASON_LABEL: Final = f"{REASON_SKEW} (missing required label)"


class HardConstraint:
    """One constraint and which domains it leaves open to the Pod."""

    __slots__ = (
        "_cluster",
        "_constraint",
        "_copies_quirks",
        "_domains",
        "_namespace",
        "_open",
        "_open_version",
        "_self_count",
    )

    def __init__(
        self,
        constraint: SpreadConstraint,
        domains: DomainCounts,
        cluster: Cluster,
        *,
        namespace: str,
        matches_itself: bool,
        copies_quirks: bool,
    ) -> None:
        self._constraint, self._domains, self._cluster = constraint, domains, cluster
        self._namespace = namespace
        self._self_count = int(matches_itself)
        self._copies_quirks = copies_quirks
        self._open: BoolArray = np.zeros(1, dtype=np.bool_)
        self._open_version = -1

    def concerns(self, pod: PodInfo) -> bool:
        """Whether a Pod may count, if only by upstream's mistake."""
        is_near = pod.namespace == self._namespace
        return is_near and self._constraint.matches(dict(pod.labels))

    @property
    def size_bytes(self) -> int:
        """The memory its arrays take."""
        return self._domains.size_bytes + self._open.nbytes

    def open_domains(self) -> BoolArray:
        """Give bool `(V + 1,)`: which domains may take the Pod; False for an absent label."""
        domains = self._domains
        domains.refresh()
        speculated = self._cluster.speculated
        if speculated and self._copies_quirks:
            self._open_version = -1
            return self._judged(self._miscounted(domains.sums, speculated))
        if domains.version != self._open_version:
            self._open_version = domains.version
            self._open = self._judged(domains.sums)
        return self._open

    def _judged(self, sums: Int64Array) -> BoolArray:
        constraint, domains = self._constraint, self._domains
        lowest = domains.minimum(sums, constraint.min_domains)
        judged = sums <= constraint.max_skew - self._self_count + lowest
        judged[-1] = False
        return judged

    def _miscounted(
        self, sums: Int64Array, speculated: Sequence[tuple[PodInfo, int, int]]
    ) -> Int64Array:
        """Give sums in which upstream counts Pods on and off that it did not count before.

        Its AddPod and RemovePod ask neither whether the Pod is terminating nor whether the
        selector has requirements.
        """
        changed = sums
        for pod, row, sign in speculated:
            constraint, code = self._constraint, self._domains.code(row)
            if code < 0 or pod.namespace != self._namespace or constraint.counts(pod):
                continue
            if constraint.matches(dict(pod.labels)):
                if changed is sums:
                    changed = sums.copy()
                changed[code] += sign
        return changed

    def mask(self, nodes: NodeView) -> BoolArray:
        """Give bool `(K,)`: which Nodes are in a domain that may take the Pod."""
        is_open, column = self.open_domains(), self._domains.column
        if isinstance(nodes.rows, slice):
            return column.gather(is_open)[nodes.rows]
        return is_open[column.codes[nodes.rows]]

    def lacks_label(self, nodes: NodeView) -> BoolArray:
        """Give bool `(K,)`: which Nodes are in no domain."""
        return self._domains.column.codes[nodes.rows] < 0


class HardState:
    """All hard constraints of a class, in order."""

    __slots__ = ("constraints",)

    def __init__(
        self, rules: SpreadRules, pod: PodInfo, cluster: Cluster, *, copies_quirks: bool
    ) -> None:
        keys = tuple(dict.fromkeys(c.topology_key for c in rules.hard))
        self.constraints = [
            HardConstraint(
                constraint,
                DomainCounts(constraint, keys, pod, cluster),
                cluster,
                namespace=rules.namespace,
                matches_itself=matches_itself,
                copies_quirks=copies_quirks,
            )
            for constraint, matches_itself in zip(rules.hard, rules.matches_itself, strict=True)
        ]

    @property
    def size_bytes(self) -> int:
        """The memory that is kept by Node and domain."""
        return sum(constraint.size_bytes for constraint in self.constraints)

    def mask(self, nodes: NodeView) -> BoolArray:
        """Give bool `(K,)`: where every constraint lets the Pod run."""
        first, *others = self.constraints
        mask = first.mask(nodes)
        for constraint in others:
            mask = mask & constraint.mask(nodes)
        return mask

    def concerns(self, pod: PodInfo) -> bool:
        """Whether any constraint may count a Pod."""
        return any(constraint.concerns(pod) for constraint in self.constraints)

    def rejections(self, nodes: NodeView) -> Sequence[Rejection]:
        """Say of each Node whether the first constraint that fails lacks a label there."""
        lacking = np.zeros(nodes.count, dtype=np.bool_)
        skewed = np.zeros(nodes.count, dtype=np.bool_)
        for constraint in self.constraints:
            lacks = constraint.lacks_label(nodes)
            passes = constraint.mask(nodes)
            lacking |= lacks & ~skewed
            skewed |= ~passes & ~lacks & ~lacking
        unresolvable = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_LABEL,))
        return [
            Rejection(unresolvable, lacking),
            Rejection(Status(Code.UNSCHEDULABLE, (REASON_SKEW,)), skewed),
        ]
