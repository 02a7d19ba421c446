"""Nodes that stop, die, lose their kubelet or are drained: no Pod is lost, none is bound twice."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kind.api import Object
from tests.kind.audit import Audited, assert_none_flushed, node_of_scheduler
from tests.kind.cluster import AGENT_PORT, KindCluster
from tests.kind.nodes import (
    UNREACHABLE,
    cordoned,
    killed,
    paused,
    wait_tainted,
    wait_whole,
    without_kubelet,
)
from tests.kind.objects import deployment, on_node
from tests.kind.pods import nodes_of, path_of_pods, wait_running, wait_unschedulable
from tests.kind.waiting import wait_for, wait_none

pytestmark = pytest.mark.usefixtures("whole")

AWAY = (
    "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
    "2 node(s) had untolerated taint(s). no new claims to deallocate, preemption: "
    "0/3 nodes are available: 3 Preemption is not helpful for scheduling."
)
CORDONED = (
    "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
    "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. "
    "no new claims to deallocate, preemption: 0/3 nodes are available: "
    "3 Preemption is not helpful for scheduling."
)


def other_worker(cluster: KindCluster, node: str) -> str:
    [other] = [worker for worker in cluster.workers if worker != node]
    return other


def test_paused_node_gets_no_pods_and_is_used_once_it_is_back(
    cluster: KindCluster, namespace: str, pods: Audited
) -> None:
    """The leader is on it: it wakes up to find that another leads."""
    leader = wait_for("a leader", cluster.leader)
    node = node_of_scheduler(cluster, leader)
    pods.create("before", 4)
    pods.wait_running()
    with paused(node):
        # With nobody to schedule them at first, and then perhaps where nothing starts.
        pods.create("meanwhile", 5)
        wait_tainted(cluster, node, UNREACHABLE)
        pods.create("after", 6)
        pods.create("waiting", 2, nodeSelector=on_node(node))
        assert nodes_of(pods.wait_running("after")) == [other_worker(cluster, node)] * 6
        for name in ("waiting-0", "waiting-1"):
            assert wait_unschedulable(cluster, namespace, name) == AWAY
        assert cluster.leader() != leader
    assert nodes_of(pods.wait_running("waiting")) == [node] * 2
    pods.wait_running()
    pods.check()
    wait_whole(cluster)
    assert_none_flushed(cluster)


def test_killed_node_comes_back_with_its_pods(cluster: KindCluster, pods: Audited) -> None:
    node, other = cluster.workers
    pods.create("here", 3, nodeSelector=on_node(node))
    pods.create("there", 2, nodeSelector=on_node(other))
    pods.wait_running()
    with killed(node):
        # Bound to it, since nobody knows yet, or held back until it is well again.
        pods.create("late", 2, nodeSelector=on_node(node))
        pods.create("elsewhere", 2, nodeSelector=on_node(other))
        pods.wait_running("elsewhere")

    def started_again() -> bool:
        statuses = [one["status"]["containerStatuses"][0] for one in pods.wait_running("here")]
        return all(status["restartCount"] for status in statuses)

    wait_for("its containers have been started again", started_again)
    assert nodes_of(pods.wait_running("late")) == [node] * 2
    pods.wait_running()
    pods.check()
    assert_none_flushed(cluster)


def test_without_its_kubelet_a_node_tells_what_is_bound_and_unseen(
    cluster: KindCluster, namespace: str, pods: Audited
) -> None:
    node, other = cluster.workers
    pods.create("before", 1, nodeSelector=on_node(node))
    pods.wait_running()
    with without_kubelet(cluster, node):
        pods.create("unseen", 2, nodeSelector=on_node(node))
        pods.create("elsewhere", 3, nodeSelector=on_node(other))
        pods.wait_running("elsewhere")
        unseen = {"unseen-0", "unseen-1"}
        wait_for("the agent has them", lambda: unseen <= live_pods(cluster, node, namespace))

        def told() -> bool:
            return causes(cluster, node, namespace) == dict.fromkeys(unseen, "kubelet_unreachable")

        wait_for("the agent says why they do not run", told)
        answer = cluster.ask_agent(node, "/divergences")
        assert answer["kubelet"]["pods"]["up"] is False
        figures = cluster.ask(cluster.agent_of(node), AGENT_PORT, "/metrics").splitlines()
        assert 'berthmaster_pods_not_running{cause="kubelet_unreachable"} 2.0' in figures
        assert 'berthmaster_kubelet_endpoint_up{endpoint="pods"} 0.0' in figures
        drawn = cluster.berthmaster("timeline", "unseen-0", f"--namespace={namespace}")
        assert "bound" in drawn
        assert "kubelet_seen" not in drawn
    pods.wait_running()
    wait_none("what the agent says", lambda: causes(cluster, node, namespace))
    wait_none("differences", lambda: cluster.ask_agent(node, "/divergences")["divergences"])
    pods.check()


def live_pods(cluster: KindCluster, node: str, namespace: str) -> set[str]:
    """Name the Pods of a namespace that an agent has."""
    found = cluster.ask_agent(node, "/pods")["pods"]
    return {one["name"] for one in found if one["live"] and one["namespace"] == namespace}


def causes(cluster: KindCluster, node: str, namespace: str) -> dict[str, str]:
    """Give why Pods of a namespace do not run, by their names, according to an agent."""
    found: list[dict[str, Any]] = cluster.ask_agent(node, "/divergences")["notRunning"]
    return {one["name"]: one["cause"] for one in found if one["namespace"] == namespace}


def test_drained_node_is_emptied_under_a_budget(
    cluster: KindCluster, namespace: str, pods: Audited
) -> None:
    """The leader is on it, and has a budget, too."""
    node = node_of_scheduler(cluster, wait_for("a leader", cluster.leader))
    other = other_worker(cluster, node)
    cluster.api.create(deployment("web", namespace, 4))
    cluster.api.create(budget(namespace, "web", 3))
    before = wait_running(cluster, namespace, 4, selector="app=web")
    assert node in nodes_of(before)
    with cordoned(cluster, node):
        options = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=100s")
        drained = cluster.kubectl("drain", node, *options)
        assert f"node/{node} drained" in drained
        web = wait_running(cluster, namespace, 4, selector="app=web")
        assert nodes_of(web) == [other] * 4
        stayed = {one["metadata"]["uid"] for one in before if one["spec"]["nodeName"] == other}
        assert stayed <= {one["metadata"]["uid"] for one in web}
        left = cluster.api.items("/api/v1/pods", fieldSelector=f"spec.nodeName={node}")
        assert {owner_kind(one) for one in left} == {"DaemonSet"}
        cluster.api.delete(f"/apis/apps/v1/namespaces/{namespace}/deployments/web")
        wait_none("its Pods", lambda: cluster.api.items(path_of_pods(namespace)))
        pods.create("waiting", 1, nodeSelector=on_node(node))
        assert wait_unschedulable(cluster, namespace, "waiting-0") == CORDONED
    assert nodes_of(pods.wait_running("waiting")) == [node]
    pods.check()
    assert_none_flushed(cluster)


def budget(namespace: str, app: str, min_available: int) -> Object:
    """Give a PodDisruptionBudget."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": namespace},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": app}}},
    }


def owner_kind(pod: Object) -> str:
    """Give the kind of what has made a Pod, "Node" for a static one."""
    [owner] = pod["metadata"].get("ownerReferences") or [{"kind": ""}]
    return str(owner["kind"])
