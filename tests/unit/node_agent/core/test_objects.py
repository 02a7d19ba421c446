"""A Pod's document: what is read of it, and what is only noticed to have changed."""

from typing import Any

import msgspec
import pytest

from node_agent.core.objects import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStatus,
    OwnerReference,
    Pod,
    PodCondition,
    PodReadinessGate,
    Probe,
    ResourceRequirements,
    Toleration,
    Volume,
    WirePod,
    WirePodList,
    digest,
    read_pod,
)
from tests.unit.node_agent.core.pods import document, make_pod

FULL = b"""{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","namespace":"shop","uid":"u1",
"resourceVersion":"17","generation":1,"creationTimestamp":"2026-06-01T12:00:00Z",
"deletionTimestamp":"2026-06-01T13:00:00Z","deletionGracePeriodSeconds":30,
"labels":{"app":"web"},"annotations":{"kubernetes.io/config.source":"api"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"web","uid":"o",
"controller":true,"blockOwnerDeletion":true}],"managedFields":[{"manager":"m"}]},
"spec":{"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"d"}},
{"name":"tmp","emptyDir":{}},{"name":"odd"}],
"initContainers":[{"name":"log","image":"l:1","restartPolicy":"Always","resources":{}}],
"containers":[{"name":"c","image":"i:1","resources":{"requests":{"cpu":"1"},"limits":{"cpu":2}},
"readinessProbe":{"periodSeconds":1,"httpGet":{"port":80}},"terminationMessagePath":"/x"}],
"restartPolicy":"Always","terminationGracePeriodSeconds":5,"nodeName":"n","hostNetwork":true,
"schedulerName":"berthmaster","tolerations":[{"operator":"Exists","effect":"NoExecute"}],
"priority":7,"priorityClassName":"high","readinessGates":[{"conditionType":"lb"}]},
"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,
"lastTransitionTime":"2026-06-01T12:00:03Z"}],"podIP":"10.0.0.1",
"startTime":"2026-06-01T12:00:01Z","qosClass":"Burstable",
"containerStatuses":[{"name":"c","state":{"running":{"startedAt":"2026-06-01T12:00:02Z"}},
"lastState":{},"ready":true,"restartCount":2,"image":"i:1","started":true}]}}"""


def test_what_the_agent_needs_is_read() -> None:
    pod = read_pod(msgspec.json.decode(FULL, type=WirePod))
    assert pod.full_name == "web-0_shop"
    meta, spec, status = pod.metadata, pod.spec, pod.status
    assert (meta.uid, meta.resource_version, meta.generation) == ("u1", "17", 1)
    assert meta.labels == {"app": "web"}
    assert meta.owner_references == (OwnerReference("StatefulSet", "web", "o", "apps/v1", True),)
    assert meta.creation_timestamp == "2026-06-01T12:00:00Z"
    assert meta.deletion_timestamp == "2026-06-01T13:00:00Z"
    assert meta.deletion_grace_period_seconds == 30
    assert spec.volumes == (
        Volume("data", "persistentVolumeClaim"),
        Volume("tmp", "emptyDir"),
        Volume("odd", ""),
    )
    assert spec.init_containers == (Container("log", "l:1", "Always", ResourceRequirements()),)
    assert spec.containers == (
        Container(
            "c",
            "i:1",
            resources=ResourceRequirements({"cpu": "1"}, {"cpu": 2}),
            readiness_probe=Probe(period_seconds=1),
        ),
    )
    assert (spec.node_name, spec.host_network, spec.scheduler_name) == ("n", True, "berthmaster")
    assert (spec.priority, spec.priority_class_name) == (7, "high")
    assert spec.termination_grace_period_seconds == 5
    assert spec.tolerations == (Toleration(operator="Exists", effect="NoExecute"),)
    assert spec.readiness_gates == (PodReadinessGate("lb"),)
    assert (status.phase, status.pod_ip, status.qos_class) == ("Running", "10.0.0.1", "Burstable")
    assert status.start_time == "2026-06-01T12:00:01Z"
    assert status.conditions == (
        PodCondition("Ready", "True", last_transition_time="2026-06-01T12:00:03Z"),
    )
    assert status.container_statuses == (
        ContainerStatus(
            "c",
            ready=True,
            started=True,
            restart_count=2,
            image="i:1",
            state=ContainerState(running=ContainerStateRunning("2026-06-01T12:00:02Z")),
        ),
    )


def test_a_document_may_leave_out_nearly_everything() -> None:
    pod = read_pod(msgspec.json.decode(b'{"metadata":{"creationTimestamp":null}}', type=WirePod))
    assert pod.full_name == "_"
    assert pod.spec.containers == ()
    assert pod.spec.termination_grace_period_seconds == 30
    assert pod.status.phase == ""


def test_null_is_absent() -> None:
    spec = {"nodeName": None, "volumes": None, "containers": [{"name": "c", "image": None}]}
    state = {"running": {"startedAt": None}}
    pod = make_pod(spec=spec, status={"containerStatuses": [{"name": "c", "state": state}]})
    assert pod.spec.containers == (Container("c"),)
    assert pod.status.container_statuses[0].state.running == ContainerStateRunning()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"a": None}),
        ({}, {"a": {}}),
        ({}, {"a": [], "b": {"c": {}}}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": []}]}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_documents_that_say_the_same_have_one_digest(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"a": 0}),
        ({}, {"a": False}),
        ({}, {"a": ""}),
        ({"a": "1"}, {"a": 1}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": [{}]}, {"a": [{}, {}]}),
    ],
)
def test_documents_that_differ_have_two_digests(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert digest(one) != digest(other)


def test_fields_that_are_not_read_count_in_the_digest() -> None:
    plain = make_pod(spec={"containers": [{"name": "c"}]})
    other = make_pod(spec={"containers": [{"name": "c", "command": ["x"]}]})
    assert plain.spec == other.spec
    assert plain.spec_digest != other.spec_digest
    assert plain.status_digest == other.status_digest
    assert len(plain.spec_digest) == 16


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"containers": [{"name": 1}]},
            "Expected `str`, got `int` - at `$.spec.containers[0].name`",
        ),
        ({"volumes": "x"}, "Expected `array`, got `str` - at `$.spec.volumes`"),
        ({"volumes": ["x"]}, "Expected `object`, got `str` - at `$.spec.volumes[0]`"),
    ],
)
def test_a_field_of_another_type_is_refused_by_name(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        make_pod(spec=spec)
    assert str(caught.value) == message


def test_lists_are_read() -> None:
    text = msgspec.json.encode({"kind": "PodList", "items": [document("a"), document("b")]})
    pods: list[Pod] = [
        read_pod(pod) for pod in msgspec.json.decode(text, type=WirePodList).items or ()
    ]
    assert [pod.metadata.name for pod in pods] == ["a", "b"]
