"""What is decided about one Pod: each Node's rejection or scores."""

import msgspec

from scheduler_svc.core.objects import Pod
from tests.reference import scores
from tests.reference.cluster import Cluster, HostedNode
from tests.reference.filters import FILTERS
from tests.reference.matching import affinity_of, named_nodes
from tests.reference.settings import Settings


class Rejected(msgspec.Struct, frozen=True):
    """The first plugin that rejected a Node, its code, and its reasons in order."""

    plugin: str
    code: str
    reasons: tuple[str, ...]


class Decision(msgspec.Struct):
    """`pre_filter_message` says why no Node was looked at; else only `nodes` were."""

    pre_filter_message: str = ""
    rejected: dict[str, Rejected] = {}
    feasible: dict[str, dict[str, int]] = {}


def decide(pod: Pod, cluster: Cluster, settings: Settings) -> Decision:
    """Judge every Node."""
    names = named_nodes(affinity_of(pod))
    if names is not None and not names:
        return Decision("pod affinity terms conflict")
    decision = Decision()
    feasible: list[HostedNode] = []
    for node in cluster.nodes:
        if names is not None and node.name not in names:
            continue
        rejected = _filter(pod, node, settings)
        if rejected is None:
            feasible.append(node)
        else:
            decision.rejected[node.name] = rejected
    if feasible:
        decision.feasible = _score(pod, feasible, cluster, settings)
    return decision


def _filter(pod: Pod, node: HostedNode, settings: Settings) -> Rejected | None:
    for plugin, judge in FILTERS.items():
        rejection = judge(pod, node, settings)
        if rejection is not None:
            code, reasons = rejection
            return Rejected(plugin, code, tuple(reasons))
    return None


def _score(
    pod: Pod, feasible: list[HostedNode], cluster: Cluster, settings: Settings
) -> dict[str, dict[str, int]]:
    by_plugin: dict[str, dict[str, int]] = {
        "TaintToleration": scores.taint_toleration(pod, feasible),
        "NodeResourcesFit": {n.name: scores.node_resources_fit(pod, n, settings) for n in feasible},
        "ImageLocality": {n.name: scores.image_locality(pod, n, cluster) for n in feasible},
    }
    affinity = scores.node_affinity(pod, feasible, settings)
    if affinity is not None:
        by_plugin["NodeAffinity"] = affinity
    balanced = {n.name: scores.balanced_allocation(pod, n, settings) for n in feasible}
    by_plugin["NodeResourcesBalancedAllocation"] = {
        name: score for name, score in balanced.items() if score is not None
    }
    return {
        node.name: {
            plugin: of_plugin[node.name]
            for plugin, of_plugin in by_plugin.items()
            if node.name in of_plugin
        }
        for node in feasible
    }
