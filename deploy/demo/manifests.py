"""The objects that the demonstration creates, as the API takes them."""

from __future__ import annotations

from typing import Any

from deploy.demo.plan import PlannedNode, PlannedPod
from deploy.demo.resources import Container
from deploy.demo.shapes import (
    PODS_PER_NODE,
    POOL_LABEL,
    PRIORITIES,
    SHAPE_BY_NAME,
    SHAPE_LABEL,
    ZONE_LABEL,
    PodShape,
)

NAMESPACE = "berthmaster-demo"
SCHEDULER_NAME = "berthmaster"
IMAGE = "pause:3.10"  # never pulled: kwok runs no container
DEPLOYMENT_SHAPE = SHAPE_BY_NAME["deployment"]

Manifest = dict[str, Any]


def namespace() -> Manifest:
    """Give the namespace of all Pods."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def priority_classes() -> list[Manifest]:
    """Give the priority classes that shapes name."""
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in PRIORITIES.items()
    ]


def node(planned: PlannedNode) -> Manifest:
    """Give a Node, with its capacity, for kwok to keep Ready."""
    pool = planned.pool
    amounts = {**pool.allocatable.quantities(), "pods": str(PODS_PER_NODE)}
    spec: Manifest = {}
    if pool.taint is not None:
        key, value = pool.taint
        spec["taints"] = [{"key": key, "value": value, "effect": "NoSchedule"}]
    if pool.is_cordoned:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": planned.name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/hostname": planned.name,
                ZONE_LABEL: planned.zone,
                POOL_LABEL: pool.name,
                **pool.labels,
            },
        },
        "spec": spec,
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(planned: PlannedPod) -> Manifest:
    """Give a Pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": planned.name, "labels": _labels(planned.shape)},
        "spec": pod_spec(planned.shape),
    }


def deployment(replicas: int) -> Manifest:
    """Give the Deployment whose Pods come in a burst."""
    labels = _labels(DEPLOYMENT_SHAPE)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": DEPLOYMENT_SHAPE.name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(DEPLOYMENT_SHAPE)},
        },
    }


def pod_spec(shape: PodShape) -> Manifest:
    """Give the spec that all Pods of a shape share."""
    spec: Manifest = {
        "schedulerName": SCHEDULER_NAME,
        "terminationGracePeriodSeconds": 0,
        "containers": [
            _container(f"main-{index}", container)
            for index, container in enumerate(shape.containers)
        ],
        **shape.spec,
    }
    if shape.init_containers:
        spec["initContainers"] = [
            _container(f"init-{index}", container)
            for index, container in enumerate(shape.init_containers)
        ]
    return spec


def _labels(shape: PodShape) -> dict[str, str]:
    return {"app.kubernetes.io/part-of": NAMESPACE, SHAPE_LABEL: shape.name}


def _container(name: str, container: Container) -> Manifest:
    amounts = container.requests.quantities()
    # An extended resource must have a limit, and equal to the request.
    limits = {name: text for name, text in amounts.items() if "/" in name}
    manifest: Manifest = {
        "name": name,
        "image": IMAGE,
        "resources": {"requests": amounts, "limits": limits},
    }
    if container.host_port:
        port = container.host_port
        manifest["ports"] = [{"containerPort": port, "hostPort": port}]
    if container.is_sidecar:
        manifest["restartPolicy"] = "Always"
    return manifest
