"""Every Pod and Node of the recorded cases: the decision is kube-scheduler's.

Plugins that are not there yet occur in the recordings: what depends on them is left out,
and counted, so that nothing is left out by accident.
"""

from collections import Counter
from typing import Any

import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.framework.cluster_evaluation import evaluation_of
from scheduler_svc.core.framework.interface import NormalizedScorePlugin
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.verdict import Verdict, judge
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.registry import IN_TREE
from tests.parity.recorded import CASES, cases, profile_of

# How many Pods, Nodes' rejections, plugins' shares of a Node's total, and texts there are.
COMPARED = {
    "contention": {
        "Pods": 60,
        "rejections": 394,
        "shares": 294,
        "texts": 8,
        "left out: InterPodAffinity": 53,
        "left out: PodTopologySpread": 1,
    },
    "images": {"Pods": 60, "shares": 3244},
    "most-allocated.resources": {"Pods": 30, "rejections": 209, "shares": 597, "texts": 5},
    "nodeaffinity": {
        "Pods": 60,
        "restrictions": 3,
        "rejections": 210,
        "shares": 1503,
        "texts": 13,
    },
    "ports": {"Pods": 60, "rejections": 124, "shares": 1691},
    "resources": {"Pods": 60, "rejections": 445, "shares": 786, "texts": 17},
    "taints": {"Pods": 60, "rejections": 331, "shares": 1556},
}


def rejected_nodes(verdict: Verdict, columns: NodeColumns) -> dict[str, dict[str, Any]]:
    """Give the rejected Nodes as the recordings have them."""
    return {
        columns.names[row]: {
            "code": group.status.code.text,
            "plugin": group.status.plugin,
            "reasons": sorted(group.status.reasons),
        }
        for group in verdict.diagnosis.groups
        for row in group.rows
    }


def feasible_nodes(verdict: Verdict, columns: NodeColumns) -> dict[str, dict[str, int]]:
    """Give the feasible Nodes with each plugin's share of the total."""
    return {
        columns.names[row]: {name: int(share[i]) for name, share in verdict.shares.items()}
        for i, row in enumerate(verdict.rows)
    }


def split(nodes: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any], Counter[str]]:
    """Split an answer's Nodes into feasible ones, and those rejected by plugins of ours.

    The others, counted by plugin, belong to plugins that all come later in the order of
    evaluation than any of ours, so to us they are feasible.
    """
    feasible = {name: node["scores"] for name, node in nodes.items() if "scores" in node}
    rejected = {name: node for name, node in nodes.items() if node.get("plugin") in IN_TREE}
    others = Counter(
        f"left out: {node['plugin']}"
        for name, node in nodes.items()
        if name not in feasible and name not in rejected
    )
    return feasible, rejected, others


def compare(
    pod: PodInfo, answer: dict[str, Any], profile: Profile, cluster: Cluster
) -> Counter[str]:
    """Compare kube-scheduler's answer for one Pod with ours; give what was compared."""
    columns = cluster.columns
    prepared = prepare(profile, pod, cluster)
    verdict = judge(prepared, columns)
    evaluation = evaluation_of(prepared)
    evaluation.refresh(columns)
    assert evaluation.totals[verdict.rows].tolist() == verdict.totals.tolist()

    nodes, compared = answer["nodes"], Counter({"Pods": 1})
    if "preFilterNodes" in answer:
        assert prepared.node_names == frozenset(answer["preFilterNodes"])
        compared["restrictions"] += 1
    scores, rejections, others = split(nodes)
    compared += others

    assert rejected_nodes(verdict, columns) == rejections
    compared["rejections"] += len(rejections)

    shares = feasible_nodes(verdict, columns)
    assert shares.keys() == nodes.keys() - rejections.keys()
    # A normalized score depends on which Nodes are feasible.
    comparable = {
        plugin.name
        for plugin in profile.score
        if not (others and isinstance(plugin, NormalizedScorePlugin))
    }
    for name, expected in scores.items():
        ours = {plugin: share for plugin, share in shares[name].items() if plugin in comparable}
        assert ours == {p: share for p, share in expected.items() if p in comparable}
        compared["shares"] += len(ours)

    if not shares:
        post_filter_message = answer["postFilter"].get("message", "")
        assert verdict.diagnosis.fit_error(post_filter_message) == answer["fitError"]
        compared["texts"] += 1
    return compared


@pytest.mark.parametrize("family", sorted(COMPARED))
def test_every_pod_and_node_is_decided_as_recorded(family: str) -> None:
    profile, compared = profile_of(family), Counter[str]()
    for case in cases(family):
        for pod, answer in case.pending:
            try:
                compared += compare(pod, answer, profile, case.cluster)
            except AssertionError as error:
                error.add_note(f"{case.name}, Pod {pod.key}")
                raise
    assert compared == COMPARED[family]


def test_every_recorded_family_is_compared() -> None:
    families = {path.name.rsplit("-", 1)[0] for path in CASES.glob("*.snapshot.json.gz")}
    assert families == COMPARED.keys()
