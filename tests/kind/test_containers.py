"""Pods that take something: limits, room that others have, volumes, ports of a node."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from tests.kind.api import Object, path_of, temporary
from tests.kind.cluster import KindCluster
from tests.kind.objects import container, deployment, on_node, pod, requesting
from tests.kind.pods import (
    free_milli_cpu,
    nodes_of,
    path_of_pods,
    wait_ended,
    wait_pod_running,
    wait_running,
    wait_unschedulable,
)
from tests.kind.waiting import wait_for

FINALIZER = "tests.berthmaster.dev/look"
HTTP_PORT = 8080
# Not in the range of NodePorts.
HOST_PORT = 18080


def test_limits_bind_the_container(cluster: KindCluster, namespace: str) -> None:
    amounts = {"cpu": "100m", "memory": "48Mi"}
    limited = container("netexec", resources={"requests": amounts, "limits": amounts})
    cluster.api.create(pod("limited", namespace, limited))
    stored = wait_pod_running(cluster, namespace, "limited")
    assert stored["status"]["qosClass"] == "Guaranteed"

    def read(*paths: str) -> str:
        """Give what the container's control group says, of whichever version there is."""
        arguments = [f"--file_content={path}" for path in paths]
        here = (f"--namespace={namespace}", "limited", "--", "/agnhost", "mounttest")
        return cluster.kubectl("exec", *here, *arguments)

    cgroup = "/sys/fs/cgroup"
    version = cluster.on_node(cluster.control_plane, "stat", "-fc", "%T", cgroup)
    if version == "cgroup2fs":
        assert str(48 << 20) in read(f"{cgroup}/memory.max")
        assert "10000 100000" in read(f"{cgroup}/cpu.max")
    else:
        assert str(48 << 20) in read(f"{cgroup}/memory/memory.limit_in_bytes")
        assert "10000" in read(f"{cgroup}/cpu/cpu.cfs_quota_us")


@pytest.fixture
def urgent(cluster: KindCluster) -> Iterator[str]:
    """Give a PriorityClass above that of ordinary Pods."""
    name = f"urgent-{secrets.token_hex(2)}"
    made = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": 1000,
    }
    with temporary(cluster.api, made):
        yield name


def test_preemption_evicts_and_the_preemptor_runs(
    cluster: KindCluster, namespace: str, urgent: str, request: pytest.FixtureRequest
) -> None:
    node = cluster.workers[0]
    here = {"nodeSelector": on_node(node)}
    free = free_milli_cpu(cluster, node)
    victim = pod("victim", namespace, container(**requesting(cpu=f"{free - 100}m")), **here)
    # So that it can be looked at once it has ended.
    victim["metadata"]["finalizers"] = [FINALIZER]
    cluster.api.create(victim)
    path = path_of(victim)
    release = {"metadata": {"finalizers": None}}
    request.addfinalizer(lambda: cluster.api.find(path) and cluster.api.patch(path, release))
    wait_pod_running(cluster, namespace, "victim")

    # Room for one of these once the victim is gone, not for two.
    large = container(**requesting(cpu=f"{free * 2 // 3}m"))
    cluster.api.create(pod("ordinary", namespace, large, **here))
    wait_unschedulable(cluster, namespace, "ordinary")
    preemptor = pod("urgent", namespace, large, priorityClassName=urgent, **here)
    uid = cluster.api.create(preemptor)["metadata"]["uid"]
    assert wait_pod_running(cluster, namespace, "urgent")["spec"]["nodeName"] == node

    ended = cluster.api.get(path)
    assert ended["metadata"]["deletionTimestamp"]
    [condition] = [
        one for one in ended["status"]["conditions"] if one["type"] == "DisruptionTarget"
    ]
    assert condition["reason"] == "PreemptionByScheduler"
    assert ended["status"]["phase"] in ("Succeeded", "Failed")

    def told() -> list[Object]:
        return cluster.events_of(namespace, "victim", reason="Preempted")

    [event] = wait_for("the victim's event", told)
    assert event["message"] == f"Preempted by pod {uid} on node {node}"
    # The ordinary one has gained nothing.
    assert "nodeName" not in cluster.api.get(path_of_pods(namespace, "ordinary"))["spec"]


def test_local_volume_is_bound_and_mounted(cluster: KindCluster, namespace: str) -> None:
    node = cluster.workers[1]
    folder = f"/var/local-volumes/{namespace}"
    cluster.on_node(node, "mkdir", "-p", folder)
    storage_class, volume, claim = _local_storage(namespace, node, folder)
    writer = container(
        "mounttest",
        "--new_file_0644=/data/written",
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
    )
    claimed = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    writing = pod("writer", namespace, writer, volumes=claimed, restartPolicy="Never")
    with temporary(cluster.api, storage_class, volume):
        cluster.api.create(claim)
        cluster.api.create(writing)
        ended = wait_ended(cluster, namespace, "writer")
        bound = cluster.api.get(path_of(claim))
    assert ended["status"]["phase"] == "Succeeded"
    assert ended["spec"]["nodeName"] == node
    assert bound["status"]["phase"] == "Bound"
    assert bound["spec"]["volumeName"] == volume["metadata"]["name"]
    assert cluster.on_node(node, "cat", f"{folder}/written") == "mount-tester new file"


def _local_storage(namespace: str, node: str, folder: str) -> tuple[Object, Object, Object]:
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": f"local-{namespace}"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    of_this_class = {"storageClassName": f"local-{namespace}", "accessModes": ["ReadWriteOnce"]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"data-{namespace}"},
        "spec": {
            **of_this_class,
            "capacity": {"storage": "1Gi"},
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": folder},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": namespace},
        "spec": {**of_this_class, "resources": {"requests": {"storage": "1Gi"}}},
    }
    return storage_class, volume, claim


def test_host_ports_are_one_a_node(cluster: KindCluster, namespace: str) -> None:
    port = {"containerPort": HTTP_PORT, "hostPort": HOST_PORT}
    server = container("netexec", f"--http-port={HTTP_PORT}", ports=[port])
    names = {"one", "two", "three"}
    for name in names:
        cluster.api.create(pod(name, namespace, server))
    running = wait_running(cluster, namespace, 2)
    assert nodes_of(running) == sorted(cluster.workers)
    for one in running:
        url = f"http://{one['status']['hostIP']}:{HOST_PORT}/hostname"
        answer = cluster.on_node(cluster.control_plane, "curl", "-sS", "--max-time", "10", url)
        assert answer == one["metadata"]["name"]
    [waiting] = names - {one["metadata"]["name"] for one in running}
    assert wait_unschedulable(cluster, namespace, waiting).startswith(
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), "
        "2 node(s) didn't have free ports for the requested pod ports."
    )
    cluster.api.delete(path_of_pods(namespace, running[0]["metadata"]["name"]))
    started = wait_pod_running(cluster, namespace, waiting)
    assert started["spec"]["nodeName"] == running[0]["spec"]["nodeName"]


def test_daemon_set_runs_on_each_node(cluster: KindCluster, namespace: str) -> None:
    made = deployment("each", namespace, 1, tolerations=[{"operator": "Exists"}])
    del made["spec"]["replicas"]
    cluster.api.create({**made, "kind": "DaemonSet"})
    pods = wait_running(cluster, namespace, 3)
    assert nodes_of(pods) == sorted([cluster.control_plane, *cluster.workers])
