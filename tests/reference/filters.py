"""The filters: why one Pod may not run on one Node."""

from collections.abc import Callable

from scheduler_svc.core.objects import Pod, Taint
from tests.reference.amounts import is_extended, is_scalar, pod_requests
from tests.reference.cluster import HostedNode
from tests.reference.matching import (
    affinity_matches,
    affinity_of,
    host_ports,
    ports_conflict,
    tolerates,
)
from tests.reference.settings import Settings

UNSCHEDULABLE = "Unschedulable"
UNRESOLVABLE = "UnschedulableAndUnresolvable"

Rejection = tuple[str, list[str]]
Filter = Callable[[Pod, HostedNode, Settings], Rejection | None]


def node_unschedulable(pod: Pod, node: HostedNode, settings: Settings) -> Rejection | None:
    taint = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    if not node.node.spec.unschedulable or any(tolerates(t, taint) for t in pod.spec.tolerations):
        return None
    return UNRESOLVABLE, ["node(s) were unschedulable"]


def node_name(pod: Pod, node: HostedNode, settings: Settings) -> Rejection | None:
    if pod.spec.node_name in ("", node.name):
        return None
    return UNRESOLVABLE, ["node(s) didn't match the requested node name"]


def taint_toleration(pod: Pod, node: HostedNode, settings: Settings) -> Rejection | None:
    keeping_away = [t for t in node.node.spec.taints if t.effect in ("NoSchedule", "NoExecute")]
    if all(any(tolerates(t, taint) for t in pod.spec.tolerations) for taint in keeping_away):
        return None
    return UNRESOLVABLE, ["node(s) had untolerated taint(s)"]


def node_affinity(pod: Pod, node: HostedNode, settings: Settings) -> Rejection | None:
    if not affinity_matches(settings.added_affinity, node):
        return UNRESOLVABLE, ["node(s) didn't match scheduler-enforced node affinity"]
    selector = pod.spec.node_selector or {}
    selected = all(node.labels.get(key) == value for key, value in selector.items())
    if selected and affinity_matches(affinity_of(pod), node):
        return None
    return UNRESOLVABLE, ["node(s) didn't match Pod's node affinity/selector"]


def node_ports(pod: Pod, node: HostedNode, settings: Settings) -> Rejection | None:
    for wanted in host_ports(pod):
        for other in node.pods:
            if any(ports_conflict(wanted, held) for held in host_ports(other)):
                return UNSCHEDULABLE, ["node(s) didn't have free ports for the requested pod ports"]
    return None


def node_resources_fit(pod: Pod, node: HostedNode, settings: Settings) -> Rejection | None:
    reasons = []
    is_resolvable = True
    if len(node.pods) + 1 > node.allocatable.get("pods", 0):
        reasons.append("Too many pods")
    wanted = pod_requests(pod, on_node=False)
    # kube-scheduler lists scalar resources in no order; here it is by name.
    for name in ("cpu", "memory", "ephemeral-storage", *sorted(filter(is_scalar, wanted))):
        amount = wanted.get(name, 0)
        if is_extended(name) and (
            name in settings.ignored_resources or name.split("/")[0] in settings.ignored_groups
        ):
            continue
        allocatable = node.allocatable.get(name, 0)
        if amount > 0 and amount > allocatable - node.requested(name):
            reasons.append(f"Insufficient {name}")
            is_resolvable = is_resolvable and amount <= allocatable
    if not reasons:
        return None
    return UNSCHEDULABLE if is_resolvable else UNRESOLVABLE, reasons


# In the order of evaluation.
FILTERS: dict[str, Filter] = {
    "NodeUnschedulable": node_unschedulable,
    "NodeName": node_name,
    "TaintToleration": taint_toleration,
    "NodeAffinity": node_affinity,
    "NodePorts": node_ports,
    "NodeResourcesFit": node_resources_fit,
}
