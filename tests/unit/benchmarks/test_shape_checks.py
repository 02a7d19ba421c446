"""Each kind of wrong placement is noticed, and right ones are not complained of."""

from typing import Any

import pytest

from benchmarks.shape_checks import Placement, faults_of
from benchmarks.workloads import load_workloads

POD_POOLS = load_workloads().pod_pools
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def node(name: str, zone: str, *, cpu: str = "4", tainted: bool = False) -> dict[str, Any]:
    taints = [{"key": "foo", "effect": "NoSchedule"}] if tainted else []
    return {
        "metadata": {"name": name, "labels": {HOST: name, ZONE: zone}},
        "spec": {"taints": taints},
        "status": {"allocatable": {"cpu": cpu, "memory": "32Gi", "pods": "2"}},
    }


NODES = {name: node(name, zone) for name, zone in (("a", "1"), ("b", "1"), ("c", "2"))}
NODES["t"] = node("t", "2", tainted=True)


def pod(pool: str, on: str, *, name: str = "p", namespace: str = "measured") -> dict[str, Any]:
    template = POD_POOLS[pool][0]
    requests = {"cpu": f"{template.requests.milli_cpu}m", "memory": "1Mi"}
    container = {"name": "app", "resources": {"requests": requests}}
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}/{name}/{on}",
            "labels": template.labels,
        },
        "spec": {"nodeName": on, "containers": [container], **template.spec},
    }


def faults(*pods: dict[str, Any], **more: Any) -> str:
    namespaces = {"measured": {"team": "devops"}, "placed-1": {"team": "devops"}, "other": {}}
    given = {"nodes": NODES, "namespaces": namespaces, **more}
    return "; ".join(faults_of(Placement(pods=pods, **given)))


@pytest.mark.parametrize(
    ("pods", "complaint"),
    [
        ([("plain", "nowhere")], "1 Pods are on Nodes that do not exist"),
        ([("never_fits", "a")], "too much on it, 1 times; for one: a: cpu"),
        ([("plain", "a")] * 3, "a: pods"),
        ([("plain", "t")], "where it must not be"),
        ([("on_first_node", "a")], "where it must not be"),
        ([("in_zones", "a")], "where it must not be"),
        ([("spread_with_policies", "a")] * 2, "skew 2"),
        ([("anti_affinity", "a")] * 2, "must not be near, 2 times"),
        ([("anti_affinity", "a"), ("green", "a")], "must not be near, 1 times"),
        ([("affinity", "a"), ("affinity", "c")], "not near the one it needs, 2 times"),
    ],
)
def test_what_is_wrong_is_told(pods: list[tuple[str, str]], complaint: str) -> None:
    made = [pod(pool, on, name=f"p{number}") for number, (pool, on) in enumerate(pods)]
    assert complaint in faults(*made)


@pytest.mark.parametrize(
    "pods",
    [
        [("plain", "a"), ("plain", "a"), ("plain", "b")],
        [("spread_with_policies", "a"), ("spread_with_policies", "b")],
        [("anti_affinity", "a"), ("anti_affinity", "b")],
        [("affinity", "a"), ("affinity", "b")],
        [("affinity", "a")],
    ],
)
def test_what_is_right_is_not_complained_of(pods: list[tuple[str, str]]) -> None:
    assert not faults(*(pod(pool, on, name=f"p{n}") for n, (pool, on) in enumerate(pods)))


def test_a_spread_counts_the_pods_of_its_namespace_only() -> None:
    own = [pod("spread_with_policies", "a")]
    others = [pod("spread_with_policies", "a", namespace="other")]
    assert not faults(*own, *others)


@pytest.mark.parametrize(("namespace", "is_near"), [("placed-1", True), ("other", False)])
def test_namespaces_are_selected_by_their_labels(namespace: str, is_near: bool) -> None:
    near = [pod("anti_affinity_namespaces", "a"), pod("green", "a", namespace=namespace)]
    assert ("must not be near" in faults(*near)) is is_near


def test_volumes_over_the_drivers_limit_are_told() -> None:
    limit = [{"metadata": {"name": "a"}, "spec": {"drivers": [{"allocatable": {"count": 1}}]}}]
    two = [pod("with_csi_volume", "a", name=name) for name in "xy"]
    assert "a: 2" in faults(*two, csi_nodes=limit)
    assert not faults(two[0], csi_nodes=limit)


def claim(user: str, device: str, pool: str = "a", name: str = "{pod}") -> dict[str, Any]:
    result = {"driver": "d", "pool": pool, "device": device}
    return {
        "metadata": {"namespace": "measured", "name": name},
        "status": {
            "reservedFor": [{"uid": user}],
            "allocation": {"devices": {"results": [result]}},
        },
    }


def test_a_device_belongs_to_one_claim_on_its_own_node() -> None:
    one, other = pod("with_device", "a", name="x"), pod("with_device", "a", name="y")
    other["spec"] = {**other["spec"], "resourceClaims": [{"resourceClaimName": "second"}]}
    users = [each["metadata"]["uid"] for each in (one, other)]
    first = claim(users[0], "0")
    assert not faults(one, other, claims=[first, claim(users[1], "1", name="second")])
    assert "allocated twice" in faults(
        one, other, claims=[first, claim(users[1], "0", name="second")]
    )
    assert "is not where its device" in faults(one, claims=[claim(users[0], "0", pool="b")])
    assert "not allocated to measured/x alone" in faults(one, claims=[claim("nobody", "0")])


def test_a_pod_that_was_bound_twice_is_told() -> None:
    event = {"reason": "Scheduled", "regarding": {"namespace": "measured", "name": "p"}}
    assert not faults(events=[event, {**event, "reason": "FailedScheduling"}])
    assert "2 Scheduled events" in faults(events=[event, event])
    assert "3 Scheduled events" in faults(events=[{**event, "series": {"count": 3}}])


def test_only_what_the_scheduler_placed_can_be_forbidden() -> None:
    assert not faults(pod("plain", "t", namespace="placed-1"))
    assert faults(pod("plain", "t", namespace="measured"))
