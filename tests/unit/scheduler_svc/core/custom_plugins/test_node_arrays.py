"""Nodes as arrays, for vectorised plugins."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from berthmaster.testing import node, pod
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.custom_plugins.node_arrays import ClassMemory, Nodes
from scheduler_svc.core.custom_plugins.views import UndeclaredError
from scheduler_svc.core.framework.interface import Scope
from tests.builders import make_cache


def three() -> Cache:
    nodes = [
        node("a", labels={"zone": "x"}, allocatable={"cpu": "2"}),
        node("b", labels={"zone": "y"}),
        node("c"),
    ]
    pods = [
        pod("p", on="a", labels={"team": "data"}, requests={"cpu": "500m"}),
        pod("q", on="b", labels={"team": "data"}, namespace="shop"),
        pod("r", on="b", labels={"team": "web"}),
    ]
    return make_cache(nodes, pods)


def seen(
    cache: Cache, rows: Any = None, scope: Scope = Scope.CLUSTER, memory: ClassMemory | None = None
) -> Nodes:
    chosen = slice(0, 3) if rows is None else np.array(rows, dtype=np.intp)
    return Nodes(NodeView(cache.columns, chosen), cache.cluster, memory or ClassMemory(), scope)


def test_names_and_labels() -> None:
    nodes = seen(three())
    assert len(nodes) == 3
    assert nodes.names == ["a", "b", "c"]
    assert nodes.label("zone") == ["x", "y", None]
    assert nodes.has_label("zone").tolist() == [True, True, False]
    assert nodes.has_label("zone", "y", "z").tolist() == [False, True, False]
    assert nodes.by_label("zone", {"x": 0.5, "z": 9}, default=-1).tolist() == [0.5, -1, -1]


def test_some_rows_in_any_order() -> None:
    nodes = seen(three(), [2, 0])
    assert nodes.names == ["c", "a"]
    assert nodes.label("zone") == [None, "x"]
    assert nodes.allocatable("cpu").tolist() == [8000, 2000]


def test_amounts() -> None:
    nodes = seen(three())
    assert nodes.free("cpu").tolist() == [1500, 8000, 8000]
    assert nodes.free("unheard-of").tolist() == [0, 0, 0]
    assert nodes.pod_counts.tolist() == [1, 2, 0]


@pytest.mark.parametrize("rows", [None, [2, 0]])
def test_what_is_the_schedulers_own_cannot_be_written_to(rows: Any) -> None:
    cache = three()
    nodes = seen(cache, rows)
    for array in (nodes.free("cpu"), nodes.allocatable("cpu")):
        with pytest.raises(ValueError, match="read-only"):
            array -= 1000
    assert seen(cache).free("cpu").tolist() == [1500, 8000, 8000]


def test_counts_of_pods_by_label() -> None:
    cache, memory = three(), ClassMemory()
    nodes = seen(cache, memory=memory)
    team = {"team": "data"}
    assert nodes.count_pods(None, team).tolist() == [1, 1, 0]
    assert nodes.count_pods("shop", team).tolist() == [0, 1, 0]
    assert nodes.count_pods(None, {}).tolist() == [1, 2, 0]
    cache.upsert(pod("s", on="c", labels=team))
    assert seen(cache, memory=memory).count_pods(None, team).tolist() == [1, 1, 1]


def test_counts_of_pods_in_the_same_zone() -> None:
    cache, memory = three(), ClassMemory()
    cache.set_node(node("d", labels={"zone": "x"}))
    rows = [0, 1, 2, 3]
    team = {"team": "data"}
    nodes = seen(cache, rows, memory=memory)
    assert nodes.count_pods_by_label("zone", None, team).tolist() == [1, 1, 0, 1]
    cache.upsert(pod("s", on="d", labels=team))
    nodes = seen(cache, rows, memory=memory)
    assert nodes.count_pods_by_label("zone", None, team).tolist() == [2, 1, 0, 2]


@pytest.mark.parametrize(
    ("read", "needed"),
    [
        (lambda nodes: nodes.free("cpu"), Scope.USAGE),
        (lambda nodes: nodes.pod_counts, Scope.USAGE),
        (lambda nodes: nodes.count_pods(None, {}), Scope.USAGE),
        (lambda nodes: nodes.count_pods_by_label("zone", None, {}), Scope.CLUSTER),
    ],
)
def test_what_goes_stale_has_to_be_declared(read: Callable[[Nodes], Any], needed: Scope) -> None:
    narrower = {Scope.USAGE: Scope.SPEC, Scope.CLUSTER: Scope.USAGE}[needed]
    with pytest.raises(UndeclaredError, match=f"needs scope = Scope.{needed.name}"):
        read(seen(three(), scope=narrower))
    read(seen(three(), scope=needed))
