"""Compares an answer of kube-scheduler with ours, Pod by Pod and Node by Node.

While plugins are missing, what depends on them is left out, and counted by plugin.
"""

from collections import Counter
from typing import Any

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.framework.cluster_evaluation import evaluation_of
from scheduler_svc.core.framework.interface import ClusterScorePlugin, NormalizedScorePlugin
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.verdict import Verdict, judge
from scheduler_svc.core.pods import PodInfo

LEFT_OUT = "left out: "


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


def compare(
    pod: PodInfo,
    answer: dict[str, Any],
    profile: Profile,
    missing: frozenset[str],
    cluster: Cluster,
) -> Counter[str]:
    """Compare kube-scheduler's answer for one Pod with ours; give what was compared."""
    columns = cluster.columns
    prepared = prepare(profile, pod, cluster)
    verdict = judge(prepared, columns)
    evaluation = evaluation_of(prepared)
    evaluation.refresh(columns)
    assert evaluation.totals[verdict.rows].tolist() == verdict.totals.tolist()

    compared = Counter({"Pods": 1})
    if answer.get("preFilterPlugin") in missing:
        compared[LEFT_OUT + answer["preFilterPlugin"]] += 1
        return compared
    if "preFilterNodes" in answer and prepared.node_names is not None:
        assert prepared.node_names == frozenset(answer["preFilterNodes"])
        compared["restrictions"] += 1
    if "preFilterCode" in answer:
        assert prepared.rejection is not None
        rejection = prepared.rejection
        ours = (rejection.code.text, rejection.message, rejection.plugin)
        theirs = (answer["preFilterCode"], answer["preFilterMessage"])
        assert ours == (*theirs, answer.get("preFilterPlugin", ""))
        compared["PreFilter"] += 1
    else:
        compared += compare_nodes(answer.get("nodes", {}), verdict, profile, missing, columns)
    if "fitError" in answer and not any(key.startswith(LEFT_OUT) for key in compared):
        message = answer.get("postFilter", {}).get("message", "")
        assert verdict.diagnosis.fit_error(message) == answer["fitError"]
        compared["texts"] += 1
    return compared


def compare_nodes(
    nodes: dict[str, dict[str, Any]],
    verdict: Verdict,
    profile: Profile,
    missing: frozenset[str],
    columns: NodeColumns,
) -> Counter[str]:
    """Compare the Nodes' rejections, shares and totals."""
    others = {name for name, node in nodes.items() if node.get("plugin") in missing}
    compared = Counter(LEFT_OUT + nodes[name]["plugin"] for name in others)
    ours = rejected_nodes(verdict, columns)
    theirs = {name: node for name, node in nodes.items() if "code" in node and name not in others}
    assert {name: node for name, node in ours.items() if name not in others} == theirs
    compared["rejections"] += len(theirs)

    shares = feasible_nodes(verdict, columns)
    assert shares.keys() - others == nodes.keys() - theirs.keys() - others
    totals = dict(zip(shares, verdict.totals.tolist(), strict=True))
    # Such a score depends on which Nodes are feasible.
    comparative = (NormalizedScorePlugin, ClusterScorePlugin)
    comparable = {
        plugin.name for plugin in profile.score if not (others and isinstance(plugin, comparative))
    }
    for name in shares.keys() - others:
        expected = nodes[name]["scores"]
        given = {p: share for p, share in shares[name].items() if p in comparable}
        assert given == {p: share for p, share in expected.items() if p in comparable}, name
        compared["shares"] += len(given)
        unknown = [p for p in expected if p in missing]
        for plugin in unknown:
            compared[LEFT_OUT + plugin] += 1
        if not others and not unknown:
            assert totals[name] == nodes[name]["total"]
            compared["totals"] += 1
    return compared
