"""Volumes on a real API server with the real PV controller: bound first, then the Pod."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NAMESPACE = "/api/v1/namespaces/default"
PODS, CLAIMS = f"{NAMESPACE}/pods", f"{NAMESPACE}/persistentvolumeclaims"
NODES, VOLUMES = "/api/v1/nodes", "/api/v1/persistentvolumes"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
STORAGE = "/apis/storage.k8s.io/v1"
CLASSES, CSI_NODES = f"{STORAGE}/storageclasses", f"{STORAGE}/csinodes"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berthmaster"
HOSTNAME = "kubernetes.io/hostname"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own, with the controllers that bind volumes."""
    state_dir = tmp_path_factory.mktemp("live-volumes") / "state"
    with ControlPlane(state_dir, reporter=Reporter()) as running:
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it with two Nodes and classes of local and of provisioned volumes."""
    for name in ("n1", "n2"):
        create_node(module_plane, name)
    create_class(module_plane, "local", "kubernetes.io/no-provisioner")
    create_class(module_plane, "made", "csi.example.com")
    yield module_plane
    for path in (PODS, EVENTS, CLAIMS, VOLUMES, CSI_NODES, CLASSES, NODES):
        request(module_plane, "DELETE", path, AT_ONCE)
    request(module_plane, "DELETE", LEASE)
    for path in (PODS, CLAIMS, VOLUMES):
        wait_empty(module_plane, path)


def wait_empty(plane: ControlPlane, path: str) -> None:
    wait_for(f"{path} is empty", lambda: read(plane, path)["items"] == [])


def scheduler(plane: ControlPlane, directory: Path, *arguments: str) -> SchedulerProcess:
    return SchedulerProcess(
        directory / "log",
        *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0", "-v", "2"),
        *("--bind-address", "127.0.0.1", "--authorization", "none", *arguments),
    )


def create_node(plane: ControlPlane, name: str) -> None:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    metadata = {"name": name, "labels": {HOSTNAME: name}}
    create(plane, NODES, {"metadata": metadata, "status": {"allocatable": allocatable}})


def create_class(plane: ControlPlane, name: str, provisioner: str) -> None:
    create(
        plane,
        CLASSES,
        {
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    )


def create_volume(
    plane: ControlPlane, name: str, node: str, *, claim: dict[str, Any] | None = None
) -> None:
    """Create a volume that `node` alone reaches: a local one, or one made for `claim`."""
    on_node = {"key": HOSTNAME, "operator": "In", "values": [node]}
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
    }
    if claim is None:
        spec |= {"storageClassName": "local", "local": {"path": "/mnt/disk"}}
    else:
        metadata = claim["metadata"]
        reference = {key: metadata[key] for key in ("namespace", "name", "uid")}
        spec |= {
            "storageClassName": "made",
            "csi": {"driver": "csi.example.com", "volumeHandle": name},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **reference},
        }
    create(plane, VOLUMES, {"metadata": {"name": name}, "spec": spec})


def create_claim(
    plane: ControlPlane, name: str, storage_class: str, *, mode: str = "ReadWriteOnce"
) -> None:
    spec = {
        "storageClassName": storage_class,
        "accessModes": [mode],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    create(plane, CLAIMS, {"metadata": {"name": name}, "spec": spec})


def create_pod(plane: ControlPlane, name: str, claim: str) -> None:
    spec = {
        "schedulerName": "berthmaster",
        "containers": [{"name": "c", "image": "x"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
    }
    create(plane, PODS, {"metadata": {"name": name}, "spec": spec})


def node_of(plane: ControlPlane, name: str) -> str:
    node: str = read(plane, f"{PODS}/{name}")["spec"].get("nodeName", "")
    return node


def selected_node(plane: ControlPlane, claim: str) -> str:
    annotations = read(plane, f"{CLAIMS}/{claim}")["metadata"].get("annotations", {})
    node: str = annotations.get(SELECTED_NODE, "")
    return node


def is_fully_bound(claim: dict[str, Any]) -> bool:
    annotations = claim["metadata"].get("annotations", {})
    return bool(claim["spec"].get("volumeName")) and (
        "pv.kubernetes.io/bind-completed" in annotations
    )


def wait_bound(plane: ControlPlane, name: str) -> None:
    # The PV controller looks again every 15 s if it has missed something.
    wait_for(f"{name} is bound", lambda: node_of(plane, name), timeout_seconds=60)


def wait_told(plane: ControlPlane, pod: str, reason: str, text: str) -> None:
    """Wait until the Pod's condition says so."""

    def is_told() -> bool:
        conditions = read(plane, f"{PODS}/{pod}")["status"].get("conditions", [])
        return any(c.get("reason") == reason and text in c["message"] for c in conditions)

    wait_for(f"{pod} is told {text!r}", is_told)


def provision(plane: ControlPlane, claim: str) -> None:
    """Make the volume of a claim on its selected Node, as a provisioner does."""
    wait_for(f"a Node is selected for {claim}", lambda: selected_node(plane, claim))
    stored = read(plane, f"{CLAIMS}/{claim}")
    create_volume(plane, f"made-for-{claim}", selected_node(plane, claim), claim=stored)


def refuse(plane: ControlPlane, claim: str) -> bool:
    """Give a claim back to the scheduler, as a provisioner does; False if others were faster."""
    stored = read(plane, f"{CLAIMS}/{claim}")
    del stored["metadata"]["annotations"][SELECTED_NODE]
    return request(plane, "PUT", f"{CLAIMS}/{claim}", stored)[0] == 200


def test_a_local_volume_is_bound_where_it_is_and_then_the_pod(
    plane: ControlPlane, tmp_path: Path
) -> None:
    create_volume(plane, "disk-2", "n2")
    create_claim(plane, "data", "local")
    with scheduler(plane, tmp_path):
        create_pod(plane, "p", "data")
        wait_bound(plane, "p")
        # The Pod has its Node only once its claim has its volume.
        claim = read(plane, f"{CLAIMS}/data")
        assert is_fully_bound(claim)
        assert node_of(plane, "p") == "n2"
        assert claim["spec"]["volumeName"] == "disk-2"
        volume = read(plane, f"{VOLUMES}/disk-2")
        assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
        assert volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"


def test_pods_get_volumes_of_their_own(plane: ControlPlane, tmp_path: Path) -> None:
    names = [f"{number}" for number in range(6)]
    for name in names:
        create_volume(plane, f"disk-{name}", f"n{1 + int(name) % 2}")
        create_claim(plane, f"data-{name}", "local")
    with scheduler(plane, tmp_path):
        for name in names:
            create_pod(plane, f"p-{name}", f"data-{name}")
        for name in names:
            wait_bound(plane, f"p-{name}")
    volumes = {name: read(plane, f"{CLAIMS}/data-{name}")["spec"]["volumeName"] for name in names}
    assert sorted(volumes.values()) == [f"disk-{name}" for name in names]
    for name, volume in volumes.items():
        assert node_of(plane, f"p-{name}") == f"n{1 + int(volume[-1]) % 2}"


def test_a_volume_that_comes_later_is_what_the_pod_waits_for(
    plane: ControlPlane, tmp_path: Path
) -> None:
    create_claim(plane, "data", "local")
    with scheduler(plane, tmp_path) as process:
        create_pod(plane, "p", "data")
        text = "2 node(s) didn't find available persistent volumes to bind"
        wait_told(plane, "p", "Unschedulable", text)
        create_volume(plane, "disk-1", "n1")
        wait_bound(plane, "p")
        assert node_of(plane, "p") == "n1"
        assert "scheduler_pod_scheduled_after_flush_total 0.0" in process.get("/metrics")[1]


def test_a_volume_is_made_on_the_selected_node(plane: ControlPlane, tmp_path: Path) -> None:
    create_claim(plane, "data", "made")
    with scheduler(plane, tmp_path):
        create_pod(plane, "p", "data")
        provision(plane, "data")
        wait_bound(plane, "p")
        claim = read(plane, f"{CLAIMS}/data")
        assert is_fully_bound(claim)
        assert node_of(plane, "p") == selected_node(plane, "data")


def test_a_provisioner_that_refuses_brings_the_pod_back(
    plane: ControlPlane, tmp_path: Path
) -> None:
    create_claim(plane, "data", "made")
    with scheduler(plane, tmp_path):
        create_pod(plane, "p", "data")
        wait_for("a Node is selected", lambda: selected_node(plane, "data"))
        wait_for("the provisioner has refused", lambda: refuse(plane, "data"))
        text = (
            'running PreBind plugin "VolumeBinding": binding volumes: '
            'provisioning failed for PVC "data"'
        )
        wait_told(plane, "p", "SchedulerError", text)
        assert node_of(plane, "p") == ""
        provision(plane, "data")
        wait_bound(plane, "p")


def test_a_claim_that_is_deleted_meanwhile_brings_the_pod_back(
    plane: ControlPlane, tmp_path: Path
) -> None:
    create_claim(plane, "data", "made")
    with scheduler(plane, tmp_path):
        create_pod(plane, "p", "data")
        wait_for("a Node is selected", lambda: selected_node(plane, "data"))
        assert request(plane, "DELETE", f"{CLAIMS}/data")[0] == 200
        wait_told(plane, "p", "Unschedulable", 'persistentvolumeclaim "data" not found')
        create_claim(plane, "data", "made")
        provision(plane, "data")
        wait_bound(plane, "p")


def test_what_takes_too_long_is_tried_again(plane: ControlPlane, tmp_path: Path) -> None:
    create_claim(plane, "data", "made")
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles:\n"
        "- schedulerName: berthmaster\n"
        "  pluginConfig:\n"
        "  - name: VolumeBinding\n"
        "    args: {bindTimeoutSeconds: 1}\n"
    )
    with scheduler(plane, tmp_path, "--config", str(config)):
        create_pod(plane, "p", "data")
        text = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
        wait_told(plane, "p", "SchedulerError", text)
        assert node_of(plane, "p") == ""
        provision(plane, "data")
        wait_bound(plane, "p")
        assert node_of(plane, "p") == selected_node(plane, "data")


def test_a_claim_for_one_pod_is_free_once_that_is_gone(plane: ControlPlane, tmp_path: Path) -> None:
    create_claim(plane, "data", "made", mode="ReadWriteOncePod")
    with scheduler(plane, tmp_path):
        create_pod(plane, "first", "data")
        wait_for("a Node is selected", lambda: selected_node(plane, "data"))
        claim = read(plane, f"{CLAIMS}/data")
        create_volume_for_one_pod(plane, claim)
        wait_bound(plane, "first")
        create_pod(plane, "second", "data")
        text = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode"
        wait_told(plane, "second", "Unschedulable", f"2 {text} already in-use by another pod")
        assert request(plane, "DELETE", f"{PODS}/first", AT_ONCE)[0] == 200
        wait_bound(plane, "second")


def create_volume_for_one_pod(plane: ControlPlane, claim: dict[str, Any]) -> None:
    metadata = claim["metadata"]
    reference = {key: metadata[key] for key in ("namespace", "name", "uid")}
    spec = {
        "accessModes": ["ReadWriteOncePod"],
        "capacity": {"storage": "1Gi"},
        "storageClassName": "made",
        "csi": {"driver": "csi.example.com", "volumeHandle": "one-pod"},
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **reference},
    }
    create(plane, VOLUMES, {"metadata": {"name": "one-pod"}, "spec": spec})


def test_a_node_takes_as_many_volumes_as_its_driver_says(
    plane: ControlPlane, tmp_path: Path
) -> None:
    for name in ("n1", "n2"):
        driver = {"name": "csi.example.com", "nodeID": name, "allocatable": {"count": 1}}
        create(plane, CSI_NODES, {"metadata": {"name": name}, "spec": {"drivers": [driver]}})
    for name in ("a", "b", "c"):
        create_claim(plane, name, "made")
    with scheduler(plane, tmp_path):
        for name in ("a", "b"):
            create_pod(plane, name, name)
            provision(plane, name)
            wait_bound(plane, name)
        assert {node_of(plane, "a"), node_of(plane, "b")} == {"n1", "n2"}
        create_pod(plane, "c", "c")
        wait_told(plane, "c", "Unschedulable", "2 node(s) exceed max volume count")
        freed = node_of(plane, "a")
        assert request(plane, "DELETE", f"{PODS}/a", AT_ONCE)[0] == 200
        provision(plane, "c")
        wait_bound(plane, "c")
        assert node_of(plane, "c") == freed
