"""The way of a user: a schedulerName, Pods that run, and reasons where they don't."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from deploy.kind.chart import NAMESPACE, RELEASE
from tests.kind.cluster import KindCluster
from tests.kind.objects import SCHEDULER, container, deployment, on_node, pod, requesting
from tests.kind.pods import (
    nodes_of,
    path_of_pods,
    wait_pod_running,
    wait_running,
    wait_unschedulable,
)
from tests.kind.waiting import wait_for

TOO_LARGE = (
    "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. "
    "no new claims to deallocate, preemption: 0/3 nodes are available: "
    "3 Preemption is not helpful for scheduling."
)
CORDONED = (
    "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
    "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. "
    "no new claims to deallocate, preemption: 0/3 nodes are available: "
    "3 Preemption is not helpful for scheduling."
)


def test_deployment_runs_spread(cluster: KindCluster, namespace: str) -> None:
    small = container(**requesting(cpu="10m", memory="16Mi"))
    cluster.api.create(deployment("web", namespace, 20, small))
    pods = wait_running(cluster, namespace, 20)
    assert {one["spec"]["schedulerName"] for one in pods} == {SCHEDULER}
    # By the default profile's own constraints, among the two nodes without taints. What else runs
    # there may outweigh one Pod, no more.
    counts = Counter(nodes_of(pods))
    assert set(counts) == set(cluster.workers)
    assert max(counts.values()) - min(counts.values()) <= 2


def test_constraint_is_kept(cluster: KindCluster, namespace: str) -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "even"}},
        # Or the control plane, which takes none of them, would be the emptiest.
        "nodeTaintsPolicy": "Honor",
    }
    cluster.api.create(deployment("even", namespace, 6, topologySpreadConstraints=[constraint]))
    first, second = cluster.workers
    assert nodes_of(wait_running(cluster, namespace, 6)) == [first] * 3 + [second] * 3


def test_describe_shows_who_scheduled(cluster: KindCluster, namespace: str) -> None:
    cluster.api.create(pod("web", namespace))
    node = wait_pod_running(cluster, namespace, "web")["spec"]["nodeName"]
    line = rf"Normal +Scheduled +\S+ +{SCHEDULER} +Successfully assigned {namespace}/web to {node}$"

    def described() -> bool:
        text = cluster.kubectl("describe", "pod", "web", f"--namespace={namespace}")
        return re.search(line, text, re.MULTILINE) is not None

    wait_for("the Scheduled event of ours", described)


def test_pod_that_fits_nowhere_is_told_why(cluster: KindCluster, namespace: str) -> None:
    cluster.api.create(pod("huge", namespace, container(**requesting(cpu="1000"))))
    assert wait_unschedulable(cluster, namespace, "huge") == TOO_LARGE

    def described() -> bool:
        text = cluster.kubectl("describe", "pod", "huge", f"--namespace={namespace}")
        line = rf"Warning +FailedScheduling +\S+( \(.*\))? +{SCHEDULER} +{re.escape(TOO_LARGE)}$"
        return re.search(line, text, re.MULTILINE) is not None

    wait_for("the FailedScheduling event of ours", described)


def test_uncordoned_node_starts_what_waits(
    cluster: KindCluster, namespace: str, request: pytest.FixtureRequest
) -> None:
    node = cluster.workers[1]
    request.addfinalizer(lambda: cluster.kubectl("uncordon", node))
    cluster.kubectl("cordon", node)
    cluster.api.create(pod("web", namespace, nodeSelector=on_node(node)))
    assert wait_unschedulable(cluster, namespace, "web") == CORDONED
    cluster.kubectl("uncordon", node)
    assert wait_pod_running(cluster, namespace, "web")["spec"]["nodeName"] == node


def test_unserved_name_is_left_alone(cluster: KindCluster, namespace: str) -> None:
    """Two Pods made one after the other: that ours runs shows that it has seen the other."""
    cluster.api.create(pod("typo", namespace, schedulerName="berthmastr"))
    cluster.api.create(pod("default", namespace, schedulerName="default-scheduler"))
    cluster.api.create(pod("ours", namespace))
    wait_pod_running(cluster, namespace, "ours")
    wait_pod_running(cluster, namespace, "default")
    typo = cluster.api.get(path_of_pods(namespace, "typo"))
    assert "nodeName" not in typo["spec"]
    assert typo["status"].get("conditions") is None
    [event] = cluster.events_of(namespace, "default", reason="Scheduled")
    assert event["reportingComponent"] == "default-scheduler"


def test_explain_asks_the_leader(cluster: KindCluster, namespace: str) -> None:
    cluster.api.create(pod("huge", namespace, container(**requesting(cpu="1000"))))
    wait_unschedulable(cluster, namespace, "huge")
    asked = ("explain", "pod", "huge", f"--namespace={namespace}", "-o", "json")
    answers = cluster.berthmaster(*asked, "--lease", f"{NAMESPACE}/{RELEASE}").splitlines()
    now, remembered = (json.loads(line) for line in answers)
    assert {name: node["plugin"] for name, node in now["nodes"].items()} == {
        cluster.control_plane: "TaintToleration",
        **dict.fromkeys(cluster.workers, "NodeResourcesFit"),
    }
    assert (remembered["result"], remembered["message"]) == ("unschedulable", TOO_LARGE)


def test_helm_test_passes(cluster: KindCluster) -> None:
    told = cluster.helm("test", RELEASE, f"--namespace={NAMESPACE}", "--timeout=60s")
    assert re.search(r"^Phase: +Succeeded$", told, re.MULTILINE)
