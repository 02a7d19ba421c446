"""The agent beside a real kubelet: the same Pods, their way, and static ones with their mirrors."""

from __future__ import annotations

import re
import secrets
from itertools import combinations
from typing import Any

from node_agent.core.clock import NANOSECONDS
from node_agent.core.timestamps import unix_nanoseconds
from tests.kind.api import Object
from tests.kind.cluster import AGENT_PORT, KindCluster
from tests.kind.objects import container, deployment, on_node, pod, requesting
from tests.kind.pods import (
    free_milli_cpu,
    path_of_pods,
    wait_pod_running,
    wait_running,
    wait_unschedulable,
)
from tests.kind.static_pods import NAMESPACE as STATIC_NAMESPACE
from tests.kind.static_pods import static_pod
from tests.kind.waiting import wait_for, wait_none

SOURCE = "kubernetes.io/config.source"
# The steps of a Pod with one container whose image is there, scheduled by ours.
WAY = [
    *("created", "queued", "decided", "bound", "kubelet_seen", "sync_started", "volumes_mounted"),
    *("sandbox_ready", "images_pulled", "containers_started", "ready"),
]


def in_kubelet(cluster: KindCluster, node: str) -> set[tuple[str, str, str]]:
    """Give source, namespace and name of what the kubelet's own /pods has."""
    pods = cluster.api.get(f"/api/v1/nodes/{node}/proxy/pods")["items"]
    return {(one["metadata"]["annotations"][SOURCE], *_name(one["metadata"])) for one in pods or ()}


def in_agent(cluster: KindCluster, node: str) -> set[tuple[str, str, str]]:
    """Give the same of what the agent keeps."""
    pods = cluster.ask_agent(node, "/pods")["pods"]
    return {(one["source"], *_name(one)) for one in pods if one["live"]}


def _name(metadata: Object) -> tuple[str, str]:
    return metadata["namespace"], metadata["name"]


def wait_agreed(cluster: KindCluster, node: str) -> None:
    """Wait until the agent says of its node that nothing differs."""

    def divergences() -> list[Any]:
        found: list[Any] = cluster.ask_agent(node, "/divergences")["divergences"]
        return found

    wait_none(f"differences on {node}", divergences)


def test_agent_has_the_kubelets_pods(cluster: KindCluster, namespace: str) -> None:
    cluster.api.create(deployment("web", namespace, 6))
    wait_running(cluster, namespace, 6)
    for node in (cluster.control_plane, *cluster.workers):

        def same(node: str = node) -> set[tuple[str, str, str]] | None:
            ours, theirs = in_agent(cluster, node), in_kubelet(cluster, node)
            return theirs if ours == theirs else None

        pods = wait_for(f"agent and kubelet of {node} have the same Pods", same)
        static = {name for source, _, name in pods if source == "file"}
        if node == cluster.control_plane:
            components = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
            assert static == {f"{name}-{node}" for name in components}
        else:
            assert static == set()
        wait_agreed(cluster, node)


def test_agent_sees_no_other_nodes_pods(cluster: KindCluster, namespace: str) -> None:
    for name, node in zip(("here", "there"), cluster.workers, strict=True):
        cluster.api.create(pod(name, namespace, nodeSelector=on_node(node)))
    wait_running(cluster, namespace, 2)

    def of_this_namespace(node: str) -> list[str]:
        return [name for _, where, name in in_agent(cluster, node) if where == namespace]

    first, second = cluster.workers
    wait_for("the agent has its Pod", lambda: of_this_namespace(first))
    wait_for("the agent has its Pod", lambda: of_this_namespace(second))
    assert (of_this_namespace(first), of_this_namespace(second)) == (["here"], ["there"])


def test_timeline_is_in_order_and_finer_than_a_second(cluster: KindCluster, namespace: str) -> None:
    cluster.api.create(pod("web", namespace))
    node = wait_pod_running(cluster, namespace, "web")["spec"]["nodeName"]
    path = f"/pods/{namespace}/web/timeline"

    def whole() -> Any:
        timeline = cluster.ask_agent(node, path)
        steps = {step["step"] for step in timeline["steps"]}
        return timeline if steps.issuperset(WAY) else None

    timeline = wait_for("the whole way", whole)
    steps = {step["step"]: step for step in timeline["steps"]}
    for earlier, later in combinations(WAY, 2):
        begin, end = steps[earlier], steps[later]
        # What was heard of by a watch, or by the Binding's answer, had happened before.
        if begin["source"] not in ("watch", "events"):
            tolerance = begin["resolutionSeconds"] + end["resolutionSeconds"]
            assert _seconds(begin, end) >= -tolerance, (begin, end)
    assert timeline["measured"]
    assert timeline["schedulingAttempt"] == 1
    for exact in ("queued", "decided", "kubelet_seen", "agent_seen", "volumes_mounted"):
        assert steps[exact]["resolutionSeconds"] <= 1e-6, steps[exact]
    assert (steps["bound"]["source"], steps["kubelet_seen"]["source"]) == ("events", "kubelet")


def _seconds(begin: Object, end: Object) -> float:
    first, last = (unix_nanoseconds(step["at"]) for step in (begin, end))
    assert first is not None
    assert last is not None
    return (last - first) / NANOSECONDS


def test_timeline_is_drawn_by_the_command(cluster: KindCluster, namespace: str) -> None:
    cluster.api.create(pod("web", namespace))
    wait_pod_running(cluster, namespace, "web")
    drawn = cluster.berthmaster("timeline", "web", f"--namespace={namespace}")
    assert f"Pod {namespace}/web on " in drawn
    for step in ("queued", "decided", "bound", "containers_started", "ready"):
        assert step in drawn


def test_static_pod_appears_with_its_mirror(cluster: KindCluster) -> None:
    node = cluster.workers[0]
    name = f"static-{secrets.token_hex(2)}"
    with static_pod(cluster, node, name, container()) as full_name:
        wait_mirror_running(cluster, full_name)
        static = ("file", STATIC_NAMESPACE, full_name)
        wait_for("the agent has the static Pod", lambda: static in in_agent(cluster, node))
        assert static in in_kubelet(cluster, node)
        wait_for("its mirror is matched", lambda: _mirrors(cluster, node) == (1, 0))
        wait_agreed(cluster, node)
    wait_for("the agent has it no more", lambda: static not in in_agent(cluster, node))
    wait_for("its mirror is gone", lambda: _mirrors(cluster, node) == (0, 0))


def wait_mirror_running(cluster: KindCluster, full_name: str) -> None:
    """Wait until the mirror of a static Pod is there and says that it runs."""
    path = path_of_pods(STATIC_NAMESPACE, full_name)
    wait_for("the mirror is there", lambda: cluster.api.find(path))
    wait_pod_running(cluster, STATIC_NAMESPACE, full_name)


def _mirrors(cluster: KindCluster, node: str) -> tuple[float, float]:
    """Give how many mirror Pods have their static Pod, and how many have none."""
    metrics = cluster.ask(cluster.agent_of(node), AGENT_PORT, "/metrics")
    found = dict(
        re.findall(r'^berthmaster_mirror_pods\{state="(\w+)"\} (\S+)$', metrics, re.MULTILINE)
    )
    return float(found["paired"]), float(found["orphan"])


def test_static_pods_take_room_and_are_left_alone(cluster: KindCluster, namespace: str) -> None:
    """Ours counts them as anybody's, and starts what waits for their room once they are gone."""
    node = cluster.workers[1]
    free = free_milli_cpu(cluster, node)
    large = container(**requesting(cpu=f"{free - 100}m"))
    wanting = container(**requesting(cpu=f"{free // 2}m"))
    name = f"large-{secrets.token_hex(2)}"
    with static_pod(cluster, node, name, large) as full_name:
        wait_mirror_running(cluster, full_name)
        before = cluster.api.get(path_of_pods(STATIC_NAMESPACE, full_name))
        cluster.api.create(pod("web", namespace, wanting, nodeSelector=on_node(node)))
        message = wait_unschedulable(cluster, namespace, "web")
        assert "1 Insufficient cpu" in message
        after = cluster.api.get(path_of_pods(STATIC_NAMESPACE, full_name))
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert wait_pod_running(cluster, namespace, "web")["spec"]["nodeName"] == node
