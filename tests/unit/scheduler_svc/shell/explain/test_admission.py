"""The values are the API server's: pkg/apis/core/v1/defaults.go and the admission plugins."""

from typing import Any

import pytest

from scheduler_svc.core.errors import InputError
from scheduler_svc.core.objects import ObjectMeta
from scheduler_svc.shell.explain.admission import admit
from scheduler_svc.shell.explain.kinds import PriorityClass

GRACE = [
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
]


def admitted(
    metadata: dict[str, Any] | None = None, /, *classes: PriorityClass, **spec: Any
) -> dict[str, Any]:
    by_name = {c.metadata.name: c for c in classes}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata or {}, "spec": spec}
    return dict(admit(manifest, by_name, "team-a"))


def priority(name: str, value: int, **fields: Any) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, **fields)


def test_a_bare_pod() -> None:
    pod = admitted(containers=[{"name": "c"}])
    assert pod["metadata"] == {"namespace": "team-a", "name": "new"}
    assert pod["spec"]["schedulerName"] == "default-scheduler"
    assert pod["spec"]["tolerations"] == GRACE
    assert "priority" not in pod["spec"]


def test_what_the_manifest_says_stays() -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 5}
    pod = admitted({"name": "a", "namespace": "b"}, schedulerName="s", tolerations=[own])
    assert pod["metadata"] == {"name": "a", "namespace": "b"}
    assert pod["spec"]["schedulerName"] == "s"
    assert pod["spec"]["tolerations"] == [own, GRACE[1]]


def test_a_pod_that_tolerates_everything_needs_no_more() -> None:
    pod = admitted(tolerations=[{"operator": "Exists"}])
    assert pod["spec"]["tolerations"] == [{"operator": "Exists"}]


def test_limits_are_requested() -> None:
    limits, requests = {"cpu": "2", "memory": "1Gi"}, {"cpu": "1"}
    resources: dict[str, dict[str, str]] = {"limits": limits, "requests": requests}
    container = {"name": "c", "resources": resources}
    pod = admitted(containers=[container], initContainers=[{"resources": {"limits": limits}}])
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert pod["spec"]["initContainers"][0]["resources"]["requests"] == limits
    assert resources["requests"] == {"cpu": "1"}, "the manifest has been changed"


def test_an_image_of_ceph_is_in_the_pool_rbd() -> None:
    volumes = [{"rbd": {"image": "i"}}, {"rbd": {"pool": "p"}}, {"emptyDir": {}}]
    assert admitted(volumes=volumes)["spec"]["volumes"] == [
        {"rbd": {"image": "i", "pool": "rbd"}},
        {"rbd": {"pool": "p"}},
        {"emptyDir": {}},
    ]


def test_on_the_hosts_network_every_port_is_the_hosts() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081}]
    container = {"name": "c", "ports": ports}
    on_host = admitted(containers=[container], hostNetwork=True)["spec"]["containers"][0]
    assert [port["hostPort"] for port in on_host["ports"]] == [80, 8081]
    assert admitted(containers=[container])["spec"]["containers"][0]["ports"] == ports


def test_priority_comes_from_the_class() -> None:
    classes = [priority("high", 1000, preemption_policy="Never"), priority("low", 5)]
    spec = admitted(None, *classes, priorityClassName="high")["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    assert "priority" not in admitted(None, *classes)["spec"]
    critical = admitted(None, *classes, priorityClassName="system-node-critical")["spec"]
    assert critical["priority"] == 2_000_001_000


def test_without_a_class_the_global_default_counts() -> None:
    classes = [priority("a", 7, global_default=True), priority("b", 3, global_default=True)]
    assert admitted(None, *classes)["spec"]["priority"] == 3


def test_what_cannot_be_admitted() -> None:
    with pytest.raises(InputError, match="no PriorityClass missing; there are: high, system-cl"):
        admitted(None, priority("high", 1), priorityClassName="missing")
    with pytest.raises(InputError, match="metadata and spec must be objects"):
        admit({"apiVersion": "v1", "kind": "Pod"}, {}, "default")
