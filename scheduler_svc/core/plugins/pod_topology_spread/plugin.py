"""The plugin itself: what of it stands at which extension point."""

from collections.abc import Hashable, Sequence
from typing import Any, Final

from scheduler_svc.core.affinity_objects import TopologySpreadConstraint
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ClusterObjects
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.default_selectors import DefaultSelectors
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.framework.interface import (
    ClusterScorePlugin,
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Rejection,
    Scope,
    ScoreArray,
)
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.plugins.pod_topology_spread.filtering import HardState
from scheduler_svc.core.plugins.pod_topology_spread.hints import (
    node_change_may_help,
    own_update_may_help,
    pod_change_may_help,
)
from scheduler_svc.core.plugins.pod_topology_spread.rules import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    SYSTEM_CONSTRAINTS,
    RulesOfPods,
    SpreadRules,
    fault_of,
)
from scheduler_svc.core.plugins.pod_topology_spread.scoring import SoftFault, SoftState
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, SUCCESS, Code, Status

_HARD_FAULT: Final = (
    "get constraints from pod: obtaining pod's hard topology spread constraints: {}"
)
_SOFT_FAULT: Final = (
    "calculating preScoreState: obtaining pod's soft topology spread constraints: {}"
)


class PodTopologySpread(
    PreFilterPlugin, FilterPlugin, PreScorePlugin, ClusterScorePlugin, EnqueueExtensions
):
    """Filters by DoNotSchedule constraints, scores by ScheduleAnyway ones.

    `default_constraints` are for Pods without any; None for Kubernetes' own, over hostname and
    zone. `upstream_quirks`: count as kube-scheduler does also where it miscounts.
    """

    name = "PodTopologySpread"
    filter_scope = Scope.CLUSTER

    def __init__(
        self,
        default_constraints: tuple[TopologySpreadConstraint, ...] | None = None,
        *,
        upstream_quirks: bool = True,
    ) -> None:
        is_system_defaulted = default_constraints is None
        defaults = SYSTEM_CONSTRAINTS if default_constraints is None else default_constraints
        self._rules = RulesOfPods(defaults, is_system_defaulted=is_system_defaulted)
        self._upstream_quirks = upstream_quirks
        # The last cluster's: hints are not told which it is, and there is only one in a scheduler.
        self._selectors = DefaultSelectors(ClusterObjects())

    def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
        """Give the Pod's rules, one object for all Pods alike in them."""
        return self._rules_in(pod, cluster)

    def _rules_in(self, pod: PodInfo, cluster: Cluster) -> SpreadRules | None:
        self._selectors = cluster.default_selectors
        return self._rules.of(pod, self._selectors)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Skip without hard constraints; fail where a selector of one makes no sense."""
        fault = fault_of(pod.shape.topology_spread_constraints, DO_NOT_SCHEDULE)
        if fault:
            return PreFilterResult(Status(Code.ERROR, (_HARD_FAULT.format(fault),)))
        rules = self._rules_in(pod, cluster)
        if rules is None or not rules.hard:
            return PreFilterResult(SKIP)
        quirks = self._upstream_quirks
        return PreFilterResult(state=HardState(rules, pod, cluster, copies_quirks=quirks))

    def state_size_bytes(self, state: HardState | SoftState | SoftFault) -> int:
        """Give the memory of sums and kinds."""
        return state.size_bytes

    def filter(self, state: HardState, nodes: NodeView) -> BoolArray:
        """Pass Nodes in whose domains there are not too many more Pods than in the emptiest."""
        return state.mask(nodes)

    def is_concerned_by(self, state: HardState, pod: PodInfo) -> bool:
        """Whether a constraint counts Pods such as this, or upstream miscounts it."""
        return state.concerns(pod)

    def rejections(self, state: HardState, nodes: NodeView) -> Sequence[Rejection]:
        """Tell Nodes without a topology label from those in domains that are too full."""
        return state.rejections(nodes)

    def pre_score(
        self, pod: PodInfo, cluster: Cluster
    ) -> tuple[Status, SoftState | SoftFault | None]:
        """Skip without soft constraints."""
        fault = fault_of(pod.shape.topology_spread_constraints, SCHEDULE_ANYWAY)
        if fault:
            return SUCCESS, SoftFault(fault)
        rules = self._rules_in(pod, cluster)
        if rules is None or not rules.soft:
            return SKIP, None
        quirks = self._upstream_quirks
        return SUCCESS, SoftState(rules, pod, cluster, copies_quirks=quirks)

    def score_feasible(
        self, state: SoftState | SoftFault, nodes: NodeView, feasible: BoolArray
    ) -> ScoreArray:
        """Prefer Nodes in whose domains there are few of the Pods."""
        return state.scores(nodes, feasible)

    def may_fail(self, state: Any) -> bool:
        """Whether a soft constraint makes no sense."""
        return isinstance(state, SoftFault)

    def failure(self, state: Any) -> Status | None:
        """Give what is wrong with a soft constraint, if there was a Node to prefer."""
        if not isinstance(state, SoftFault) or not state.is_asked:
            return None
        text = f'running PreScore plugin "{self.name}": {_SOFT_FAULT.format(state.text)}'
        return Status(Code.ERROR, (text,))

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when Pods, Nodes or default selectors change what is counted where."""
        changes = ActionType.ADD | ActionType.DELETE
        # Every update: a Pod that begins to terminate is told of by a plain one.
        pod = ClusterEvent(EventResource.POD, changes | ActionType.UPDATE)
        labels, taints = ActionType.UPDATE_NODE_LABEL, ActionType.UPDATE_NODE_TAINT
        node = ClusterEvent(EventResource.NODE, changes | labels | taints)
        registrations = [
            EventRegistration(pod, self._pod_changed),
            EventRegistration(node, self._node_changed),
        ]
        if self._rules.has_hard_defaults:
            registrations += [
                EventRegistration(ClusterEvent(resource, ActionType.ALL), self._selector_changed)
                for resource in _SELECTING
            ]
        return registrations

    def _pod_changed(self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> QueueingHint:
        if old is not None and new is not None and new.uid == pod.uid:
            selectors = self._selectors
            old_rules, new_rules = self._rules.of(old, selectors), self._rules.of(new, selectors)
            return _hint(own_update_may_help(old, new, old_rules, new_rules))
        rules = self._rules.of(pod, self._selectors)
        if rules is None or not rules.hard:
            return QueueingHint.QUEUE
        return _hint(pod_change_may_help(rules, rules.hard, old, new))

    def _node_changed(
        self, pod: PodInfo, old: NodeInfo | None, new: NodeInfo | None
    ) -> QueueingHint:
        rules = self._rules.of(pod, self._selectors)
        if rules is None or not rules.hard:
            return QueueingHint.QUEUE
        return _hint(node_change_may_help(pod, rules.hard, old, new))

    def _selector_changed(self, pod: PodInfo, old: Any, new: Any) -> QueueingHint:
        changed = old if new is None else new
        is_same = old is not None and new is not None and old.spec == new.spec
        concerns = not pod.shape.topology_spread_constraints
        return _hint(concerns and not is_same and changed.metadata.namespace == pod.namespace)


_SELECTING = (
    EventResource.SERVICE,
    EventResource.REPLICATION_CONTROLLER,
    EventResource.REPLICA_SET,
    EventResource.STATEFUL_SET,
)


def _hint(may_help: bool) -> QueueingHint:
    return QueueingHint.QUEUE if may_help else QueueingHint.SKIP
