"""Pods as they are kept: what is read of the API's object, and what Pods alike share."""

import gc
from typing import Any

import msgspec
import pytest

from scheduler_svc.core import pods as pods_module
from scheduler_svc.core.annotated_objects import AnnotatedPod
from scheduler_svc.core.errors import InputError
from scheduler_svc.core.group_objects import POD_GROUP_LABEL, GroupApi, GroupName
from scheduler_svc.core.objects import (
    ContainerPort,
    ContainerStatus,
    NodeSelectorTerm,
    Pod,
    PodCondition,
    Requirement,
    ResourceRequirements,
    Toleration,
)
from scheduler_svc.core.pods import PodInterner, normalized_image_name
from scheduler_svc.core.resources import Requests
from tests.builders import PodFields, make_container, make_pod, make_pod_info, required, term, where

JSON = b"""{
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {
        "name": "web-0", "namespace": "shop", "uid": "u-1", "resourceVersion": "12",
        "labels": {"app": "web"}, "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-02T00:00:00Z", "managedFields": [{"manager": "kubectl"}]
    },
    "spec": {
        "schedulerName": "berthmaster", "priority": 7, "nodeSelector": {"disk": "ssd"},
        "schedulingGates": [{"name": "a"}, {"name": "b"}],
        "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 5, "preference": {"matchFields": [
                    {"key": "metadata.name", "operator": "In", "values": ["n1"]}]}}]}},
        "tolerations": [{"key": "team", "operator": "Exists", "effect": "NoExecute",
                         "tolerationSeconds": 300}],
        "volumes": [{"name": "token", "projected": {}}, {"name": "i", "image": {"reference": "m"}}],
        "overhead": {"cpu": "10m"},
        "initContainers": [{"name": "i", "image": "init", "restartPolicy": "Always"}],
        "containers": [{
            "name": "c", "image": "web:2", "resources": {"requests": {"cpu": "1"}},
            "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1",
                       "protocol": "TCP"}]}]
    },
    "status": {
        "phase": "Pending", "nominatedNodeName": "n9",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                        "message": "0/1 nodes are available: 1 Too many pods."}]
    }
}"""


def test_a_pod_as_the_api_tells_it() -> None:
    pod = PodInterner().intern(msgspec.json.decode(JSON, type=Pod))
    assert (pod.namespace, pod.name, pod.uid, pod.resource_version) == (
        "shop",
        "web-0",
        "u-1",
        "12",
    )
    assert pod.key == "shop/web-0"
    assert pod.scheduler_name == "berthmaster"
    assert pod.priority == 7
    assert pod.labels == (("app", "web"),)
    assert pod.node_name == ""
    assert pod.nominated_node_name == "n9"
    assert pod.scheduling_gates == ("a", "b")
    assert pod.condition == ("Unschedulable", "0/1 nodes are available: 1 Too many pods.")
    assert pod.is_terminating
    assert not pod.is_finished
    shape = pod.shape
    assert shape.node_selector == (("disk", "ssd"),)
    assert shape.tolerations == (Toleration("team", "Exists", "", "NoExecute"),)
    assert shape.host_ports == (("TCP", 8080, "10.0.0.1"),)
    assert shape.images == ("init:latest", "web:2", "m:latest")
    assert shape.container_count == 2
    assert shape.requests == Requests(
        milli_cpu=1010, nonzero_milli_cpu=1110, nonzero_memory_bytes=2 * 200 * 2**20
    )
    assert shape.container_requests is shape.requests
    assert shape.affinity is not None
    affinity = shape.affinity.node_affinity
    assert affinity is not None
    assert affinity.required is not None
    assert affinity.required.node_selector_terms == (
        NodeSelectorTerm((Requirement("zone", "In", ("a",)),)),
    )
    assert affinity.preferred is not None
    assert affinity.preferred[0].weight == 5
    assert affinity.preferred[0].preference.match_fields == (
        Requirement("metadata.name", "In", ("n1",)),
    )


def test_a_bare_pod() -> None:
    pod = PodInterner().intern(
        msgspec.json.decode(b'{"metadata": {"name": "p"}, "spec": {}}', type=Pod)
    )
    assert pod.scheduler_name == "default-scheduler"
    assert pod.priority == 0
    assert (pod.labels, pod.scheduling_gates, pod.condition) == ((), (), None)
    assert pod.shape.node_selector is None
    assert pod.shape.affinity is None
    assert pod.shape.images == ()


def test_pods_alike_share_their_shape_and_labels() -> None:
    interner = PodInterner()
    fields: PodFields = {"requests": {"cpu": 1}, "labels": {"app": "web"}}
    one = interner.intern(make_pod("one", **fields))
    fields.update({"node": "n1", "version": "2"})
    other = interner.intern(make_pod("other", **fields))
    assert one.shape is other.shape
    assert one.labels is other.labels
    assert one.requests is one.shape.requests
    assert other.requests is one.shape.requests


@pytest.mark.parametrize(
    "fields",
    [
        {"scheduler": "other"},
        {"priority": 1},
        {"selector": {}},
        {"affinity": required(term(where("zone", "Exists")))},
        {"tolerations": [Toleration()]},
        {"requests": {"cpu": 1}},
        {"init_containers": [make_container()]},
        {"overhead": {"cpu": 1}},
        {"pod_requests": {"cpu": 1}},
        {"image_volumes": ["i"]},
        {"images": ["app"]},
    ],
)
def test_pods_that_differ_in_what_plugins_read_do_not(fields: PodFields) -> None:
    interner = PodInterner()
    plain = interner.intern(make_pod())
    assert interner.intern(make_pod(**fields)).shape is not plain.shape


def test_shapes_that_nobody_uses_are_forgotten() -> None:
    interner = PodInterner()
    pod = interner.intern(make_pod())
    assert len(interner._shapes) == 1
    del pod
    gc.collect()
    assert len(interner._shapes) == 0


def test_labels_are_remembered_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods_module, "_MAX_LABEL_SETS", 2)
    interner = PodInterner()
    for i in range(5):
        labels = {"pod": str(i)}
        assert interner.intern(make_pod(labels=labels)).labels == (("pod", str(i)),)
        assert len(interner._labels) <= 2


def test_a_pod_on_a_node_counts_with_what_it_has_been_granted() -> None:
    status = ContainerStatus("c0", ResourceRequirements({"cpu": 3}))
    fields: PodFields = {"requests": {"cpu": 1}, "container_statuses": [status]}
    assert make_pod_info(**fields).requests.milli_cpu == 1000
    fields["node"] = "n1"
    placed = make_pod_info(**fields)
    assert placed.requests.milli_cpu == 3000
    assert placed.shape.requests.milli_cpu == 1000


@pytest.mark.parametrize(
    "status",
    [
        {"container_statuses": [ContainerStatus("c0", ResourceRequirements({"cpu": 1}))]},
        {"init_container_statuses": [ContainerStatus("i", ResourceRequirements({}))]},
        {"granted": {}},
    ],
)
def test_grants_that_change_nothing_share_the_requests(status: PodFields) -> None:
    fields: PodFields = {**status, "requests": {"cpu": 1}, "node": "n1"}
    pod = make_pod_info(**fields)
    assert pod.requests is pod.shape.requests


@pytest.mark.parametrize(
    ("conditions", "node", "expected"),
    [
        (
            [PodCondition("PodScheduled", "False", "Unschedulable", "no")],
            "",
            ("Unschedulable", "no"),
        ),
        ([PodCondition("PodScheduled", "False", "Unschedulable", "no")], "n1", None),
        ([PodCondition("PodScheduled", "True")], "", None),
        ([PodCondition("Ready", "False", "x", "y")], "", None),
        ([], "", None),
    ],
)
def test_the_condition_of_a_pod_that_was_not_scheduled(
    conditions: list[PodCondition], node: str, expected: tuple[str, str] | None
) -> None:
    assert make_pod_info(conditions=conditions, node=node).condition == expected


@pytest.mark.parametrize(
    ("phase", "is_finished"),
    [("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True), ("", False)],
)
def test_finished_pods(phase: str, is_finished: bool) -> None:
    assert make_pod_info(phase=phase).is_finished is is_finished


def test_host_ports_of_containers_and_sidecars() -> None:
    def port(number: int, **fields: Any) -> ContainerPort:
        return ContainerPort(host_port=number, **fields)

    pod = make_pod_info(
        containers=[
            make_container("a", ports=[port(0), port(80), port(81, protocol="UDP")]),
            make_container("b", ports=[port(82, host_ip="10.0.0.1", protocol="")]),
        ],
        init_containers=[
            make_container("init", ports=[port(90)]),
            make_container("sidecar", ports=[port(91)], is_sidecar=True),
        ],
    )
    assert pod.shape.host_ports == (
        ("TCP", 80, "0.0.0.0"),  # noqa: S104 - the API's word for every address
        ("UDP", 81, "0.0.0.0"),  # noqa: S104 - the API's word for every address
        ("TCP", 82, "10.0.0.1"),
        ("TCP", 91, "0.0.0.0"),  # noqa: S104 - the API's word for every address
    )


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("app", "app:latest"),
        ("app:1", "app:1"),
        ("registry:5000/app", "registry:5000/app:latest"),
        ("registry:5000/app:1", "registry:5000/app:1"),
        ("app@sha256:abc", "app@sha256:abc"),
        ("", ":latest"),
    ],
)
def test_image_names(name: str, normalized: str) -> None:
    assert normalized_image_name(name) == normalized


def test_pod_level_requests_are_kept_apart_from_the_containers() -> None:
    pod = make_pod_info(requests={"cpu": 1}, pod_requests={"cpu": 3})
    assert pod.shape.requests.milli_cpu == 3000
    assert pod.shape.container_requests.milli_cpu == 1000


def test_a_quantity_that_cannot_be_read_is_said() -> None:
    with pytest.raises(InputError, match="'lots' is no quantity"):
        make_pod_info(requests={"cpu": "lots"})


def annotated(annotations: dict[str, str] | None) -> AnnotatedPod:
    metadata = {"name": "a", "annotations": annotations}
    return msgspec.convert({"metadata": metadata, "spec": {}}, AnnotatedPod)


def test_annotations_are_kept_if_somebody_asks_for_them() -> None:
    interner = PodInterner(frozenset({"team", "cost"}))
    pod = interner.intern(annotated({"team": "data", "huge": "x" * 1000}))
    assert pod.annotations == (("team", "data"),)
    assert interner.intern(annotated(None)).annotations == ()
    assert PodInterner().intern(annotated({"team": "data"})).annotations == ()
    assert interner.intern(make_pod("b")).annotations == ()


def test_label_sets_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods_module, "_MAX_LABEL_SETS", 2)
    interner = PodInterner()
    for number in range(5):
        labels = {"n": str(number)}
        assert interner.intern(make_pod("a", labels=labels)).labels == (("n", str(number)),)


def owned_by(*owners: dict[str, Any]) -> Pod:
    metadata = {"name": "a", "ownerReferences": list(owners)}
    return msgspec.convert({"metadata": metadata, "spec": {}}, Pod)


def test_the_controller_owns_a_pod() -> None:
    interner = PodInterner()
    plain = {"kind": "Thing", "name": "t", "uid": "u1"}
    controller = {"kind": "ReplicaSet", "name": "web", "uid": "u2", "controller": True}
    owner = interner.intern(owned_by(plain, controller)).owner
    assert owner is not None
    assert (owner.kind, owner.name, owner.uid) == ("ReplicaSet", "web", "u2")
    assert interner.intern(owned_by(controller)).owner is owner
    assert interner.intern(owned_by(plain)).owner is None
    assert interner.intern(owned_by()).owner is None


def test_owners_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods_module, "_MAX_LABEL_SETS", 2)
    interner = PodInterner()
    for number in range(5):
        controller = {"kind": "ReplicaSet", "name": f"rs-{number}", "controller": True}
        owner = interner.intern(owned_by(controller)).owner
        assert owner is not None
        assert owner.name == f"rs-{number}"


@pytest.mark.parametrize(
    ("metadata", "spec", "group"),
    [
        ({}, {}, None),
        ({"labels": {"app": "web"}}, {}, None),
        ({"labels": {POD_GROUP_LABEL: ""}}, {}, None),
        (
            {"labels": {POD_GROUP_LABEL: "train"}},
            {},
            GroupName(GroupApi.SCHEDULER_PLUGINS, "ml", "train"),
        ),
        (
            {"labels": {POD_GROUP_LABEL: "train"}},
            {"schedulingGroup": {"podGroupName": "infer"}},
            GroupName(GroupApi.BUILT_IN, "ml", "infer"),
        ),
        ({}, {"schedulingGroup": {}}, None),
    ],
)
def test_the_group_that_a_pod_names(
    metadata: dict[str, Any], spec: dict[str, Any], group: GroupName | None
) -> None:
    given = {"metadata": {"name": "a", "namespace": "ml", **metadata}, "spec": spec}
    assert PodInterner().intern(msgspec.convert(given, Pod)).group == group
