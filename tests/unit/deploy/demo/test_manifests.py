"""What is created is what the tables say, in Kubernetes' words."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.demo import manifests
from deploy.demo.plan import PlannedNode, PlannedPod
from deploy.demo.shapes import POD_SHAPES, POOL_BY_NAME, SHAPE_BY_NAME, PodShape


def pod(shape: str) -> dict[str, Any]:
    return manifests.pod(PlannedPod("a-pod", SHAPE_BY_NAME[shape]))


@pytest.mark.parametrize("shape", POD_SHAPES, ids=lambda shape: shape.name)
def test_every_pod_is_berthmasters(shape: PodShape) -> None:
    assert manifests.pod_spec(shape)["schedulerName"] == "berthmaster"


def test_a_node() -> None:
    node = manifests.node(PlannedNode("node-0007", POOL_BY_NAME["gpu"], "zone-b"))

    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "node-0007",
        "topology.kubernetes.io/zone": "zone-b",
        "demo.berthmaster.dev/pool": "gpu",
    }
    assert node["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert node["spec"] == {
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    }
    assert node["status"]["allocatable"] == {
        "cpu": "16000m",
        "memory": "131072Mi",
        "nvidia.com/gpu": "4",
        "pods": "110",
    }


def test_a_cordoned_node() -> None:
    node = manifests.node(PlannedNode("node-0007", POOL_BY_NAME["cordoned"], "zone-a"))

    assert node["spec"] == {"unschedulable": True}


def test_a_pod_with_a_sidecar() -> None:
    spec = pod("sidecar")["spec"]

    assert [c.get("restartPolicy") for c in spec["initContainers"]] == ["Always", None]
    assert spec["initContainers"][0]["resources"]["requests"] == {"cpu": "100m", "memory": "64Mi"}


def test_a_pod_with_a_gpu_has_it_as_a_limit_too() -> None:
    resources = pod("gpu")["spec"]["containers"][0]["resources"]

    assert resources["requests"]["nvidia.com/gpu"] == "1"
    assert resources["limits"] == {"nvidia.com/gpu": "1"}


def test_a_pod_with_a_host_port() -> None:
    ports = pod("host-port")["spec"]["containers"][0]["ports"]

    assert ports == [{"containerPort": 8080, "hostPort": 8080}]


def test_the_deployments_pods_have_its_shape() -> None:
    deployment = manifests.deployment(38)
    template = deployment["spec"]["template"]

    assert deployment["spec"]["replicas"] == 38
    assert template["metadata"]["labels"]["demo.berthmaster.dev/shape"] == "deployment"
    assert template["metadata"]["labels"] == deployment["spec"]["selector"]["matchLabels"]
    assert template["spec"]["schedulerName"] == "berthmaster"
