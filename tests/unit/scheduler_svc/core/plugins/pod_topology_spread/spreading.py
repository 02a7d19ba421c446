"""Nodes in zones, Pods spread over them, and what the plugin says of each Node."""

from collections.abc import Iterable

import numpy as np

from scheduler_svc.core.affinity_objects import LabelSelector, TopologySpreadConstraint
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Taint
from scheduler_svc.core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_svc.core.plugins.pod_topology_spread.rules import HOSTNAME, ZONE
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code
from tests.builders import make_node_info, make_pod_info

WEB = {"app": "web"}
IS_WEB = LabelSelector(WEB)


def node(
    name: str, zone: str | None = None, *, taints: tuple[Taint, ...] = (), **labels: str
) -> NodeInfo:
    """Build a Node in a zone, or in none."""
    zones = {} if zone is None else {ZONE: zone}
    return make_node_info(name, labels={HOSTNAME: name, **zones, **labels}, taints=taints)


def hard(
    key: str = ZONE,
    max_skew: int = 1,
    *,
    selector: LabelSelector | None = IS_WEB,
    min_domains: int | None = None,
    affinity: str | None = None,
    taints: str | None = None,
    label_keys: tuple[str, ...] = (),
) -> TopologySpreadConstraint:
    """Build a constraint that must hold."""
    return TopologySpreadConstraint(
        max_skew=max_skew,
        topology_key=key,
        when_unsatisfiable="DoNotSchedule",
        label_selector=selector,
        min_domains=min_domains,
        node_affinity_policy=affinity,
        node_taints_policy=taints,
        match_label_keys=label_keys,
    )


def soft(
    key: str = ZONE,
    max_skew: int = 1,
    *,
    selector: LabelSelector | None = IS_WEB,
    affinity: str | None = None,
    taints: str | None = None,
) -> TopologySpreadConstraint:
    """Build a constraint that had better hold."""
    return TopologySpreadConstraint(
        max_skew=max_skew,
        topology_key=key,
        when_unsatisfiable="ScheduleAnyway",
        label_selector=selector,
        node_affinity_policy=affinity,
        node_taints_policy=taints,
    )


def web_pods(*places: str, namespace: str = "default", terminating: bool = False) -> list[PodInfo]:
    """Build a Pod with app=web on each of the Nodes."""
    return [
        make_pod_info(
            f"{namespace}-{number}-{place}-{terminating}",
            labels=WEB,
            node=place,
            namespace=namespace,
            is_terminating=terminating,
        )
        for number, place in enumerate(places)
    ]


def everywhere(cluster: Cluster) -> NodeView:
    """Give a view of all Nodes, as evaluations ask for."""
    return NodeView(cluster.columns, slice(0, len(cluster.columns.infos)))


def verdicts(
    plugin: PodTopologySpread, pod: PodInfo, cluster: Cluster
) -> dict[str, tuple[Code, str] | None] | None:
    """Give each Node's rejection, None where there is none; None where PreFilter skips.

    All Nodes at once and one by one are asked, and must say the same.
    """
    result = plugin.pre_filter(pod, cluster)
    if result.status.code is Code.SKIP:
        return None
    names = cluster.columns.names
    found: dict[str, tuple[Code, str] | None] = {
        names[row]: None for row in np.flatnonzero(cluster.columns.live)
    }
    mask = plugin.filter(result.state, everywhere(cluster))
    for row in np.flatnonzero(cluster.columns.live):
        one = NodeView(cluster.columns, np.array([row]))
        assert plugin.filter(result.state, one).tolist() == [mask[row]]
        if mask[row]:
            continue
        rejections = plugin.rejections(result.state, one)
        (status,) = [r.status for r in rejections if r.nodes.tolist() == [True]]
        found[names[row]] = (status.code, status.message)
    return found


def open_nodes(plugin: PodTopologySpread, pod: PodInfo, cluster: Cluster) -> str:
    """Give the names of the Nodes that may take the Pod, sorted, space between."""
    found = verdicts(plugin, pod, cluster)
    assert found is not None
    return " ".join(sorted(name for name, rejection in found.items() if rejection is None))


def scores(
    plugin: PodTopologySpread,
    pod: PodInfo,
    cluster: Cluster,
    feasible: Iterable[str] | None = None,
) -> dict[str, int] | None:
    """Give the feasible Nodes' scores; None where PreScore skips.

    All Nodes at once and the feasible ones alone are asked, and must say the same.
    """
    status, state = plugin.pre_score(pod, cluster)
    if state is None:
        assert status.code is Code.SKIP
        return None
    columns = cluster.columns
    names = [n for n in columns.rows if columns.has_node(n)] if feasible is None else list(feasible)
    rows = columns.rows_of(names)
    mask = np.zeros(len(columns.infos), dtype=np.bool_)
    mask[rows] = True
    all_scores = plugin.score_feasible(state, everywhere(cluster), mask)
    some = NodeView(columns, rows)
    own = plugin.score_feasible(state, some, np.ones(len(rows), dtype=np.bool_))
    assert own.tolist() == all_scores[rows].tolist()
    return dict(zip(names, own.tolist(), strict=True))
