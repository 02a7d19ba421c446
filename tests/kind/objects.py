"""Objects of tests: Pods of one small program, agnhost, in real containers."""

from __future__ import annotations

from typing import Any

from deploy.kind.images import AGNHOST_IMAGE
from tests.kind.api import Object

SCHEDULER = "berthmaster"
PAUSE = ("pause",)
# What a pod waits for before it is killed: agnhost ends at once.
GRACE_SECONDS = 5


def container(*arguments: str, **fields: Any) -> Object:
    """Give a container that runs ``agnhost`` with some arguments, ``pause`` without any."""
    return {
        "name": "main",
        "image": AGNHOST_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": list(arguments or PAUSE),
        **fields,
    }


def pod_spec(*containers: Object, **fields: Any) -> Object:
    """Give a Pod's specification for our scheduler; ``fields`` add to it or replace."""
    return {
        "schedulerName": SCHEDULER,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "containers": list(containers or [container()]),
        **fields,
    }


def pod(
    name: str,
    namespace: str,
    *containers: Object,
    labels: dict[str, str] | None = None,
    **fields: Any,
) -> Object:
    """Give a Pod; ``fields`` are of its specification."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": pod_spec(*containers, **fields),
    }


def deployment(
    name: str, namespace: str, replicas: int, *containers: Object, **fields: Any
) -> Object:
    """Give a Deployment whose Pods have the label ``app=name``; ``fields`` are of their spec."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(*containers, **fields)},
        },
    }


def on_node(name: str) -> dict[str, str]:
    """Give the nodeSelector that only a node has."""
    return {"kubernetes.io/hostname": name}


def requesting(**amounts: str) -> Object:
    """Give a container's field for what it requests, e.g. ``cpu="100m"``."""
    return {"resources": {"requests": amounts}}


def is_true(object_: Object, condition: str) -> bool:
    """Tell whether an object has a condition that is true, e.g. ``Ready``."""
    found = object_.get("status", {}).get("conditions", [])
    return any(item["type"] == condition and item["status"] == "True" for item in found)


def is_running(pod_: Object) -> bool:
    """Tell whether a Pod runs, is ready, and is not being deleted."""
    return (
        pod_["status"].get("phase") == "Running"
        and is_true(pod_, "Ready")
        and "deletionTimestamp" not in pod_["metadata"]
    )
