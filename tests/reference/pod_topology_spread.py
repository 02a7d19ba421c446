"""PodTopologySpread, every Pod counted for every Node."""

import math
from collections.abc import Sequence

from scheduler_svc.core.affinity_objects import LabelSelector, TopologySpreadConstraint
from scheduler_svc.core.objects import Pod
from tests.reference.cluster import Cluster, HostedNode
from tests.reference.inter_pod_affinity import selects
from tests.reference.matching import affinity_matches, affinity_of, tolerates

SKEWED = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{SKEWED} (missing required label)"
HOSTNAME = "kubernetes.io/hostname"

Verdict = str | int | None
# A Pod that is counted on (1) or off (-1) a Node only to see what would be.
Supposed = tuple[Pod, str, int]


class Rules:
    """Decides for one Pod by its own constraints, or by `defaults` if it has none.

    `selected_by` are the Services' selectors in the Pod's namespace. With `quirks` supposed
    Pods are counted whether they terminate or not, and by empty selectors, too; and Nodes
    without a label are of the empty value's domain where not all labels are needed.
    """

    def __init__(
        self,
        pod: Pod,
        cluster: Cluster,
        *,
        defaults: Sequence[TopologySpreadConstraint] = (),
        is_system_defaulted: bool = False,
        selected_by: Sequence[dict[str, str]] = (),
        supposed: Sequence[Supposed] = (),
        quirks: bool = True,
    ) -> None:
        self.pod, self.cluster, self.supposed, self.quirks = pod, cluster, supposed, quirks
        self.labels = pod.metadata.labels or {}
        self.constraints = list(pod.spec.topology_spread_constraints)
        self.default_labels: dict[str, str] | None = None
        self.needs_all_keys = bool(self.constraints) or not is_system_defaulted
        if not self.constraints:
            matching = [s for s in selected_by if s.items() <= self.labels.items()]
            merged = {key: value for selector in matching for key, value in selector.items()}
            if merged:
                self.constraints, self.default_labels = list(defaults), merged

    def verdicts(self) -> dict[str, Verdict]:
        """Give by Node's name a reason, or the score, None where it is skipped."""
        verdicts: dict[str, Verdict] = {n.name: self._reason(n) for n in self.cluster.nodes}
        feasible = [node for node in self.cluster.nodes if verdicts[node.name] is None]
        return verdicts | self._scores(feasible)

    def _of(self, action: str) -> list[TopologySpreadConstraint]:
        return [c for c in self.constraints if c.when_unsatisfiable == action]

    def _selects(self, constraint: TopologySpreadConstraint, labels: dict[str, str]) -> bool:
        if self.default_labels is not None:
            return self.default_labels.items() <= labels.items()
        same = [key for key in constraint.match_label_keys if key in self.labels]
        return selects(constraint.label_selector, labels) and all(
            labels.get(key) == self.labels[key] for key in same
        )

    def _is_empty(self, constraint: TopologySpreadConstraint) -> bool:
        if self.default_labels is not None:
            return False
        same = [key for key in constraint.match_label_keys if key in self.labels]
        return not same and constraint.label_selector in (LabelSelector(), LabelSelector({}))

    def _counts(self, constraint: TopologySpreadConstraint, pod: Pod) -> bool:
        return (
            pod.metadata.namespace == self.pod.metadata.namespace
            and pod.metadata.deletion_timestamp is None
            and not self._is_empty(constraint)
            and self._selects(constraint, pod.metadata.labels or {})
        )

    def _count_on(self, constraint: TopologySpreadConstraint, node: HostedNode) -> int:
        count = sum(self._counts(constraint, pod) for pod in node.pods)
        for pod, name, sign in self.supposed:
            is_counted = self._counts(constraint, pod)
            if self.quirks and pod.metadata.namespace == self.pod.metadata.namespace:
                is_counted = self._selects(constraint, pod.metadata.labels or {})
            if name == node.name and is_counted:
                count += sign
        return count

    def _includes(self, constraint: TopologySpreadConstraint, node: HostedNode) -> bool:
        if constraint.node_affinity_policy != "Ignore":
            selector = self.pod.spec.node_selector or {}
            if not selector.items() <= node.labels.items():
                return False
            if not affinity_matches(affinity_of(self.pod), node):
                return False
        if constraint.node_taints_policy == "Honor":
            return all(
                any(tolerates(toleration, taint) for toleration in self.pod.spec.tolerations)
                for taint in node.node.spec.taints
                if taint.effect != "PreferNoSchedule"
            )
        return True

    def _domains(
        self, constraint: TopologySpreadConstraint, keys: list[str]
    ) -> dict[str | None, int]:
        sums: dict[str | None, int] = {}
        for node in self.cluster.nodes:
            if all(key in node.labels for key in keys) and self._includes(constraint, node):
                value = self._value(constraint, node)
                sums[value] = sums.get(value, 0) + self._count_on(constraint, node)
        return sums

    def _value(self, constraint: TopologySpreadConstraint, node: HostedNode) -> str | None:
        value = node.labels.get(constraint.topology_key)
        return "" if value is None and self.quirks else value

    def _reason(self, node: HostedNode) -> str | None:
        constraints = self._of("DoNotSchedule")
        keys = [constraint.topology_key for constraint in constraints]
        for constraint in constraints:
            if constraint.topology_key not in node.labels:
                return NO_LABEL
            sums = self._domains(constraint, keys)
            lowest = min(sums.values(), default=0)
            if len(sums) < (constraint.min_domains or 1):
                lowest = 0
            own = sums.get(node.labels[constraint.topology_key], 0)
            own += self._selects(constraint, self.labels)
            if own - lowest > constraint.max_skew:
                return SKEWED
        return None

    def _scores(self, feasible: list[HostedNode]) -> dict[str, int]:
        constraints = self._of("ScheduleAnyway")
        if not constraints:
            return {}
        keys = [c.topology_key for c in constraints] if self.needs_all_keys else []
        counted = [n for n in feasible if all(key in n.labels for key in keys)]
        scores = {node.name: 0 for node in feasible}
        raw = {n.name: self._raw(n, constraints, keys, counted) for n in counted}
        highest, lowest = max(raw.values(), default=0), min(raw.values(), default=0)
        for name, value in raw.items():
            scores[name] = 100 * (highest + lowest - value) // highest if highest else 100
        return scores

    def _raw(
        self,
        node: HostedNode,
        constraints: list[TopologySpreadConstraint],
        keys: list[str],
        counted: list[HostedNode],
    ) -> int:
        score = 0.0
        for constraint in constraints:
            if constraint.topology_key not in node.labels:
                continue
            if constraint.topology_key == HOSTNAME:
                count, size = self._count_on(constraint, node), len(counted)
            else:
                count = self._domains(constraint, keys).get(self._value(constraint, node), 0)
                values = {self._value(constraint, n) for n in counted}
                size = len(values - {None})
            score += count * math.log(size + 2) + (constraint.max_skew - 1)
        return math.floor(score + 0.5)
