"""Which events may let a Pod pass that the hard constraints kept from all Nodes.

Source: pkg/scheduler/framework/plugins/podtopologyspread/plugin.go (`isSchedulableAfterPodChange`,
`isSchedulableAfterNodeChange`), v1.36.3. Beyond upstream's: a counted Pod that begins to
terminate, a Node that comes to match the Pod's affinity or no more, a `matchLabelKeys` label
of the Pod itself.
"""

from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.plugins.pod_topology_spread.rules import SpreadConstraint, SpreadRules
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.required_affinity import required_affinity

_Constraints = tuple[SpreadConstraint, ...]


def own_update_may_help(
    old: PodInfo, new: PodInfo, old_rules: SpreadRules | None, new_rules: SpreadRules | None
) -> bool:
    """Whether the Pod itself changed in a way that its constraints look at."""
    if old_rules is None or new_rules is None:
        return True
    if old_rules.hard_part != new_rules.hard_part:
        return True
    is_tolerant = any(constraint.honors_taints for constraint in new_rules.hard)
    return is_tolerant and old.shape.tolerations != new.shape.tolerations


def pod_change_may_help(
    rules: SpreadRules, constraints: _Constraints, old: PodInfo | None, new: PodInfo | None
) -> bool:
    """Whether another Pod that came, changed or went is one that some constraint counts."""
    for pod in (old, new):
        if pod is not None and not _is_involved(pod, rules.namespace):
            return False
    if old is not None and new is not None:
        return any(
            (c.matches(dict(old.labels)), old.is_terminating)
            != (c.matches(dict(new.labels)), new.is_terminating)
            and (c.counts(old) or c.counts(new))
            for c in constraints
        )
    return any(c.matches(dict(p.labels)) for c in constraints for p in (old, new) if p is not None)


def _is_involved(pod: PodInfo, namespace: str) -> bool:
    return pod.namespace == namespace and bool(pod.node_name or pod.nominated_node_name)


def node_change_may_help(
    pod: PodInfo, constraints: _Constraints, old: NodeInfo | None, new: NodeInfo | None
) -> bool:
    """Whether a Node that came, changed or went has, or had, all the labels of the constraints."""
    matched = old is not None and _has_keys(old, constraints)
    matches = new is not None and _has_keys(new, constraints)
    if old is None or new is None:
        return matched or matches
    if matched != matches:
        return True
    if not matches:
        return False
    if old.taints != new.taints:
        return True
    keys = [constraint.topology_key for constraint in constraints]
    if any(old.labels[key] != new.labels[key] for key in keys):
        return True
    required = required_affinity(pod.shape)
    honors = any(constraint.honors_affinity for constraint in constraints)
    came = required.matches(new.labels, new.name) != required.matches(old.labels, old.name)
    return honors and came


def _has_keys(node: NodeInfo, constraints: _Constraints) -> bool:
    return all(constraint.topology_key in node.labels for constraint in constraints)
