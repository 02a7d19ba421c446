"""The checks notice what they are for: one that cannot fail would prove nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.faultproxy import RequestRecord
from tests.integration.scheduler_faults.cluster_checks import (
    DECISION,
    find_binding_faults,
    find_needless_bindings,
    find_overloads,
    find_pods_without_node,
)

NODE = {
    "metadata": {"name": "a"},
    "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "2"}},
}


def pod(
    name: str,
    *,
    node_name: str = "a",
    requests: dict[str, str] | None = None,
    host_port: int = 0,
    phase: str = "Pending",
    decision: str = "d-1",
) -> dict[str, Any]:
    container: dict[str, Any] = {"resources": {"requests": requests or {}}}
    if host_port:
        container["ports"] = [{"hostPort": host_port}]
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "annotations": {DECISION: decision}},
        "spec": {"nodeName": node_name, "containers": [container]},
        "status": {"phase": phase},
    }


def binding(name: str, node_name: str, status: int | None = 201) -> RequestRecord:
    body = {"metadata": {"name": name, "uid": f"uid-{name}"}, "target": {"name": node_name}}
    return RequestRecord("POST", f"/{name}/binding", json.dumps(body).encode(), 0.0, status)


@pytest.mark.parametrize(
    ("requests", "problem"),
    [
        ({"cpu": "501m"}, "a: 1.002 cpu requested of 1"),
        ({"memory": "513Mi"}, "a: 1.07584e+09 memory requested of 1Gi"),
        ({"nvidia.com/gpu": "1"}, "a: 2 nvidia.com/gpu requested of 0"),
    ],
)
def test_too_much_is_requested(requests: dict[str, str], problem: str) -> None:
    pods = [pod("x", requests=requests), pod("y", requests=requests)]
    assert find_overloads([NODE], pods) == [problem]


def test_full_nodes_are_no_fault() -> None:
    full = {"cpu": "500m", "memory": "512Mi"}
    pods = [pod("x", requests=full, host_port=80), pod("y", requests=full, host_port=81)]
    finished = [pod("z", requests=full, host_port=80, phase=p) for p in ("Succeeded", "Failed")]
    elsewhere = [pod("e", node_name="b"), pod("pending", node_name="")]
    assert find_overloads([NODE], pods + finished + elsewhere) == []


def test_too_many_pods() -> None:
    assert find_overloads([NODE], [pod("x"), pod("y"), pod("z")]) == ["a: 3 pods requested of 2"]


def test_host_port_taken_twice() -> None:
    pods = [pod("x", host_port=80), pod("y", host_port=80)]
    assert find_overloads([NODE], pods) == ["a: host port 80 2 times"]


def test_pods_on_nodes_that_do_not_exist() -> None:
    pods = [pod("x"), pod("y", node_name="b"), pod("z", node_name="")]
    assert find_pods_without_node([NODE], pods) == ["y is on b, which does not exist"]


def test_bound_once_after_failures() -> None:
    sent = [binding("x", "a", None), binding("x", "b", 500), binding("x", "a")]
    by_another = pod("y", node_name="c")
    del by_another["metadata"]["annotations"]
    assert find_binding_faults(sent, [pod("x"), by_another]) == []
    assert find_needless_bindings(sent) == []


def test_bound_twice() -> None:
    faults = find_binding_faults([binding("x", "a"), binding("x", "b")], [])
    assert faults == ["x: bound to a, then to b"]


def test_bound_elsewhere() -> None:
    faults = find_binding_faults([binding("x", "a")], [pod("x", node_name="b")])
    assert faults == ["x: it is on b, and was bound to a"]


def test_bound_by_a_request_whose_answer_was_lost() -> None:
    lost = [binding("x", "a", None)]
    assert find_binding_faults(lost, [pod("x", node_name="a")]) == []
    elsewhere = ["x: it is on b, and was bound to "]
    assert find_binding_faults(lost, [pod("x", node_name="b")]) == elsewhere
    then_another = [*lost, binding("x", "b")]
    assert find_binding_faults(then_another, [pod("x", node_name="b")]) == []
    assert find_binding_faults(then_another, [pod("x", node_name="a")]) == [
        "x: it is on a, and was bound to b"
    ]


def test_asked_for_again_though_it_was_bound() -> None:
    needless = find_needless_bindings([binding("x", "a"), binding("x", "a", 409)])
    assert needless == ["x: a Binding was sent though it had been bound"]


def test_asked_for_again_while_the_server_was_still_at_it() -> None:
    first, second = binding("x", "a"), binding("x", "a", 409)
    first.answered_at, second.at = 3.0, 2.0
    assert find_needless_bindings([first, second]) == []
    second.at = 4.0
    assert len(find_needless_bindings([first, second])) == 1
