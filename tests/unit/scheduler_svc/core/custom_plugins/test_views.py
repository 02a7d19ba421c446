"""What a user's plugin sees of Pods and Nodes, and what it may not read undeclared."""

import pytest

from berthmaster.testing import node, pod
from scheduler_svc.core.custom_plugins.views import Node, Pod, UndeclaredError
from scheduler_svc.core.framework.interface import Scope
from scheduler_svc.core.pods import PodInfo
from tests.builders import make_cache

POD = pod(
    "web-1",
    namespace="shop",
    labels={"app": "web"},
    annotations={"example.com/team": "data"},
    requests={"cpu": "250m", "memory": "1Mi", "example.com/gpu": 2},
    owner=("ReplicaSet", "web"),
    spec={
        "priority": 7,
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    },
)


def test_a_pod() -> None:
    seen = Pod(POD)
    assert (seen.namespace, seen.name, seen.uid) == ("shop", "web-1", "shop/web-1")
    assert seen.labels == {"app": "web"}
    assert seen.annotations == {"example.com/team": "data"}
    assert seen.owner is not None
    assert (seen.owner.kind, seen.owner.name) == ("ReplicaSet", "web")
    assert (seen.scheduler_name, seen.priority) == ("berthmaster", 7)
    assert seen.node_selector == {"disk": "ssd"}
    assert [toleration.key for toleration in seen.tolerations] == ["dedicated"]
    assert list(seen.images) == ["main:latest"]
    assert seen.requests == {"cpu": 250, "memory": 2**20, "example.com/gpu": 2}
    assert repr(seen) == "<Pod shop/web-1>"


def test_a_plain_pod() -> None:
    seen = Pod(pod())
    assert (seen.node_selector, seen.requests, seen.owner) == ({}, {}, None)


@pytest.mark.parametrize("field", ["namespace", "name", "uid", "labels", "annotations", "owner"])
def test_what_identifies_a_pod_has_to_be_declared(field: str) -> None:
    with pytest.raises(UndeclaredError) as caught:
        getattr(Pod(POD, frozenset({"uid"} - {field})), field)
    assert f"pod.{field} is read, so the plugin needs pod_fields = frozenset({{" in str(
        caught.value
    )
    assert f"'{field}'" in str(caught.value)
    assert getattr(Pod(POD, frozenset({field})), field) == getattr(Pod(POD), field)


NODE = node(
    "a",
    labels={"zone": "x"},
    allocatable={"cpu": "4", "example.com/gpu": 8},
    taints=[{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}],
    unschedulable=True,
)


def seen_node(scope: Scope, *pods: PodInfo) -> Node:
    cache = make_cache([NODE], pods)
    return Node(NODE, cache.columns.rows["a"], cache.cluster, scope)


def test_a_node() -> None:
    seen = seen_node(Scope.SPEC)
    assert seen.name == "a"
    assert seen.labels == {"kubernetes.io/hostname": "a", "zone": "x"}
    assert [taint.value for taint in seen.taints] == ["ml"]
    assert seen.unschedulable
    assert seen.allocatable == {
        "cpu": 4000,
        "memory": 32 * 2**30,
        "pods": 110,
        "example.com/gpu": 8,
    }
    assert repr(seen) == "<Node a>"


def test_what_is_on_a_node() -> None:
    there = pod("b", on="a", requests={"cpu": 1, "example.com/gpu": 3})
    seen = seen_node(Scope.USAGE, there)
    assert (seen.free("cpu"), seen.free("example.com/gpu"), seen.free("unheard-of")) == (3000, 5, 0)
    assert seen.pod_count == 1
    assert [other.name for other in seen.pods] == ["b"]


@pytest.mark.parametrize("read", ["pods", "pod_count"])
def test_what_is_on_a_node_has_to_be_declared(read: str) -> None:
    with pytest.raises(UndeclaredError, match=r"so the plugin needs scope = Scope\.USAGE"):
        getattr(seen_node(Scope.SPEC), read)


def test_what_is_left_has_to_be_declared() -> None:
    with pytest.raises(UndeclaredError, match="what a Node has left is read"):
        seen_node(Scope.SPEC).free("cpu")


def test_pods_counted_on_and_off_to_see_what_would_be() -> None:
    there, other = pod("b", on="a"), pod("c")
    cache = make_cache([NODE], [there])
    row = cache.columns.rows["a"]
    seen = Node(NODE, row, cache.cluster, Scope.USAGE)
    with cache.speculation() as speculation:
        speculation.remove(there, row)
        speculation.add(other, row)
        assert [found.name for found in seen.pods] == ["c"]
    assert [found.name for found in seen.pods] == ["b"]
