import json
from typing import Any

import msgspec
import pytest

from kubeio.changes import Deleted, Listed, Upserted
from kubeio.decoding import ObjectDecoder
from scheduler_svc.core.events import NodeDeleted, NodeUpserted, PodDeleted, PodUpserted
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Taint
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.shell.views.decode import (
    node_view,
    pod_view,
    priority_class_view,
)
from scheduler_svc.shell.views.object_views import object_views
from scheduler_svc.shell.views.view import View

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-1",
        "namespace": "shop",
        "uid": "u1",
        "resourceVersion": "7",
        "labels": {"app": "web"},
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
    },
    "spec": {
        "schedulerName": "berthmaster",
        "priority": 10,
        "nodeSelector": {"zone": "a"},
        "containers": [
            {
                "name": "c",
                "image": "nginx",
                "env": [{"name": "A", "value": "1"}],
                "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}},
                "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.1.2.3"}],
            }
        ],
        "schedulingGates": [{"name": "example.com/wait"}],
    },
    "status": {"phase": "Pending", "qosClass": "Burstable"},
}
NODE: dict[str, Any] = {
    "metadata": {"name": "n1", "uid": "u2", "resourceVersion": "8", "labels": {"zone": "a"}},
    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "podCIDR": "10.0.0.0/24"},
    "status": {
        "allocatable": {"cpu": "3920m", "memory": "7Gi", "pods": "110"},
        "nodeInfo": {"kubeletVersion": "v1.36.3"},
    },
}


def decode(view: View[Any], document: dict[str, Any]) -> Any:
    """Decode a document as it comes in a list."""
    decoded = ObjectDecoder(view.query).item(msgspec.Raw(json.dumps(document).encode()))
    assert decoded.problem == ""
    return decoded.object


def test_pod_becomes_what_the_core_keeps() -> None:
    pod = decode(pod_view(), POD)
    assert isinstance(pod, PodInfo)
    assert (pod.key, pod.uid, pod.resource_version) == ("shop/web-1", "u1", "7")
    assert pod.scheduling_gates == ("example.com/wait",)
    assert pod.shape.requests.milli_cpu == 250
    assert pod.shape.requests.memory_bytes == 64 * 2**20
    assert pod.shape.node_selector == (("zone", "a"),)
    assert pod.shape.host_ports == (("TCP", 8080, "10.1.2.3"),)
    assert pod.priority == 10


def test_pods_alike_share_their_shape() -> None:
    view = pod_view()
    other = {**POD, "metadata": {**POD["metadata"], "name": "web-2", "uid": "u3"}}
    assert decode(view, POD).shape is decode(view, other).shape


def test_node_becomes_what_the_core_keeps() -> None:
    node = decode(node_view(), NODE)
    assert isinstance(node, NodeInfo)
    assert node.name == "n1"
    assert node.taints == (Taint("k", "NoSchedule"),)
    assert dict(node.allocatable) == {"cpu": 3920, "memory": 7 * 2**30, "pods": 110}


@pytest.mark.parametrize(
    ("view", "document", "where"),
    [
        (pod_view(), {**POD, "spec": {"containers": "none"}}, "$.spec.containers"),
        (
            pod_view(),
            {
                **POD,
                "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "much"}}}]},
            },
            "much",
        ),
        (node_view(), {**NODE, "status": {"allocatable": {"memory": "7 GB"}}}, "7 GB"),
    ],
)
def test_object_that_cannot_be_used_is_named_and_says_why(
    view: View[Any], document: dict[str, Any], where: str
) -> None:
    decoded = ObjectDecoder(view.query).item(msgspec.Raw(json.dumps(document).encode()))
    assert decoded.object is None
    assert decoded.metadata.name == document["metadata"]["name"]
    assert where in decoded.problem


NULLS: list[tuple[View[Any], dict[str, Any]]] = [
    (pod_view(), {"metadata": POD["metadata"], "spec": {"containers": None, "volumes": None}}),
    # As a kubelet tells of an image whose name has been given to another.
    (node_view(), {**NODE, "status": {"images": [{"names": None, "sizeBytes": 1}]}}),
    # As every kubelet without CSI drivers has it.
    (object_views(["NodeVolumeLimits"])["csinodes"], {**NODE, "spec": {"drivers": None}}),
]


@pytest.mark.parametrize(("view", "document"), NULLS)
def test_null_is_the_same_as_nothing(view: View[Any], document: dict[str, Any]) -> None:
    """Go writes it for a list it lacks, where the field is not optional."""
    decoder = ObjectDecoder(view.query)
    listed = decoder.item(msgspec.Raw(json.dumps(document).encode()))
    assert listed.problem == ""
    assert listed.object is not None
    line = json.dumps({"type": "MODIFIED", "object": document}).encode()
    kind, watched = decoder.event(line)
    assert (kind, watched.problem) == ("MODIFIED", "")
    assert watched.object is not None


def test_changes_become_events() -> None:
    pods, nodes = pod_view(), node_view()
    pod, node = decode(pods, POD), decode(nodes, NODE)
    assert pods.to_event(Upserted(pod)) == PodUpserted(pod)
    assert pods.to_event(Deleted("shop", "web-1", "u1")) == PodDeleted("u1")
    assert nodes.to_event(Upserted(node)) == NodeUpserted(node)
    assert nodes.to_event(Deleted("", "n1", "u2")) == NodeDeleted("n1")
    assert pods.to_event(Listed("9")) is None
    assert nodes.to_event(Listed("9")) is None


def test_all_unfinished_pods_are_watched_and_nothing_else_is_left_out() -> None:
    assert pod_view().query.field_selector == "status.phase!=Succeeded,status.phase!=Failed"
    assert pod_view().query.resource.collection == "/api/v1/pods"
    assert node_view().query.field_selector == ""


def test_priority_classes_are_read_and_say_nothing_yet() -> None:
    high = {"metadata": {"name": "high", "uid": "u"}, "value": 1000, "globalDefault": False}
    assert decode(priority_class_view(), high).value == 1000
