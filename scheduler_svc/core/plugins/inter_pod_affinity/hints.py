"""Which events may let a Pod be near, or away, as it or others demand.

Source: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go
(`isSchedulableAfterPodChange`, `isSchedulableAfterNodeChange`), v1.36.3.

Upstream's hints miss events that help, and these do not: a Pod that goes, or loses its label,
was in the way by one of several demands, or was the last that a Pod which meets its own
demands had to be near; a Pod in a namespace that is selected by its labels; a Node that is
new, gone or in another domain, for Pods that others demand to be away from; the labels of a
Namespace. Where these are not known, the Pod is tried.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from scheduler_svc.core.affinity_rules import AffinityRule
from scheduler_svc.core.cluster_objects import ObjectStore
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Namespace
from scheduler_svc.core.pods import PodInfo

_POD: Final = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
_NODE: Final = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
_NAMESPACE: Final = ActionType.ADD | ActionType.UPDATE | ActionType.DELETE


class Hints:
    """The hints; `namespaces` are those whose labels are known, None before any is."""

    def __init__(self) -> None:
        self.namespaces: ObjectStore | None = None

    def registrations(self) -> Sequence[EventRegistration]:
        """Give the events that may help, and the hints that look closer."""
        pods = ClusterEvent(EventResource.POD, _POD)
        nodes = ClusterEvent(EventResource.NODE, _NODE)
        namespaces = ClusterEvent(EventResource.NAMESPACE, _NAMESPACE)
        return (
            EventRegistration(pods, self.after_pod_change),
            EventRegistration(nodes, after_node_change),
            # Its Pods count no more.
            EventRegistration(ClusterEvent(EventResource.NODE, ActionType.DELETE)),
            EventRegistration(namespaces, after_namespace_change),
        )

    def after_pod_change(
        self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None
    ) -> QueueingHint:
        """Try again when a Pod comes that is wanted near, or one goes that is not."""
        if new is not None and new.uid == pod.uid:
            return QueueingHint.QUEUE
        for other in (old, new):
            if other is not None and not other.node_name and not other.nominated_node_name:
                return QueueingHint.SKIP
        helps = self._came_near(pod, old, new) or (
            old is not None and self._went_away(pod, old, new)
        )
        return QueueingHint.QUEUE if helps else QueueingHint.SKIP

    def _came_near(self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> bool:
        rules = pod.shape.affinity_rules
        if rules is None or new is None:
            return False
        return self._meets_all(rules.affinity, pod, new) and not (
            old is not None and self._meets_all(rules.affinity, pod, old)
        )

    def _went_away(self, pod: PodInfo, old: PodInfo, new: PodInfo | None) -> bool:
        rules, others = pod.shape.affinity_rules, old.shape.affinity_rules
        if rules is not None:
            if any(
                self._speaks_of(rule, pod, old)
                and not (new is not None and self._speaks_of(rule, pod, new))
                for rule in rules.anti_affinity
            ):
                return True
            was_near = self._meets_all(rules.affinity, pod, old)
            is_near = new is not None and self._meets_all(rules.affinity, pod, new)
            if was_near and not is_near and self._meets_all(rules.affinity, pod, pod):
                return True
        if new is not None or others is None:
            return False
        return any(self._speaks_of(rule, old, pod) for rule in others.anti_affinity)

    def _meets_all(self, rules: Iterable[AffinityRule], owner: PodInfo, other: PodInfo) -> bool:
        results = [self._speaks_of(rule, owner, other) for rule in rules]
        return bool(results) and all(results)

    def _speaks_of(self, rule: AffinityRule, owner: PodInfo, other: PodInfo) -> bool:
        """Whether a rule of `owner` speaks of `other`, as far as can be told."""
        if rule.selector is None or not rule.selector.matches(dict(other.labels)):
            return False
        if other.namespace in rule.named_namespaces(owner.namespace):
            return True
        selector = rule.namespace_selector
        if selector is None or self.namespaces is None:
            return selector is not None
        known = self.namespaces.get("", other.namespace)
        labels = _labels(known)
        # Upstream asks a selector about no labels, too.
        return labels is None or selector.matches(labels) or selector.matches({})


def after_node_change(pod: PodInfo, old: NodeInfo | None, new: NodeInfo) -> QueueingHint:
    """Try again when a Node comes into a domain, or leaves one."""
    rules = pod.shape.affinity_rules
    keys = {rule.topology_key for rule in rules.affinity} if rules is not None else set()
    if old is None:
        helps = not keys or not keys.isdisjoint(new.labels)
    else:
        before, after = old.labels.items(), new.labels.items()
        # Whatever the Node loses may be the key of others' demands.
        helps = bool(before - after) or any(key in keys for key, _ in after - before)
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP


def after_namespace_change(
    pod: PodInfo, old: Namespace | None, new: Namespace | None
) -> QueueingHint:
    """Try again when other Namespaces are selected, by the Pod's demands or for others'."""
    before, after = _labels(old), _labels(new)
    rules = pod.shape.affinity_rules
    demands = () if rules is None else (*rules.affinity, *rules.anti_affinity)
    changed = new or old
    is_own = changed is not None and changed.metadata.name == pod.namespace and before != after
    selectors = (r.namespace_selector for r in demands if r.namespace_selector is not None)
    helps = is_own or any(
        (before is not None and selector.matches(before))
        != (after is not None and selector.matches(after))
        for selector in selectors
    )
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP


def _labels(namespace: Namespace | None) -> dict[str, str] | None:
    return None if namespace is None else namespace.metadata.labels or {}
