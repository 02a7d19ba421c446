"""Where Pods are that an extender was asked about, and how long they waited."""

from typing import Any

from benchmarks.extender_checks import asks, faults_of_extender, latencies
from benchmarks.extender_rule import allows, score
from benchmarks.shape_checks import Placement, faults_of
from benchmarks.workloads import ShapeExtender, load_workloads

SHAPES = {shape.name: shape for shape in load_workloads().shapes}
MANAGED = "example.com/managed"
NODES = [f"node-{index:05d}" for index in range(55)]


def extender(name: str) -> ShapeExtender:
    found = SHAPES[name].extender
    assert found is not None
    return found


EVERYBODYS, MANAGING = extender("extender-filter"), extender("extender-managed")


def pod(number: int, node: str = "", *, namespace: str = "measured", **requests: str) -> Any:
    container = {"name": "app", "resources": {"requests": requests} if requests else {}}
    return {
        "metadata": {"name": f"pod-{number:05d}", "namespace": namespace},
        "spec": {"nodeName": node, "containers": [container]},
    }


def placed(*pods: Any) -> Placement:
    status = {"allocatable": {"pods": "110"}}
    nodes = {name: {"metadata": {"name": name}, "spec": {}, "status": status} for name in NODES}
    return Placement(nodes=nodes, pods=pods)


def test_an_extender_without_resources_is_asked_about_every_pod_that_was_scheduled() -> None:
    assert asks(EVERYBODYS, pod(1))
    assert asks(EVERYBODYS, pod(1, namespace="warm-up"))
    assert not asks(EVERYBODYS, pod(1, namespace="placed-0"))


def test_one_with_resources_is_asked_about_pods_that_want_them() -> None:
    assert asks(MANAGING, pod(1, **{MANAGED: "1"}))
    assert not asks(MANAGING, pod(1, cpu="1"))
    assert not asks(MANAGING, pod(1))


def test_a_pod_where_the_extender_forbids_it_is_told() -> None:
    best = [node for node in NODES if allows("pod-00001", node) and score(node) >= 8]
    worst = [node for node in NODES if allows("pod-00001", node) and score(node) < 5]
    forbidden = next(node for node in NODES if not allows("pod-00001", node) and score(node) == 10)
    assert faults_of_extender(EVERYBODYS, placed(*(pod(1, node) for node in best))) == []
    assert faults_of_extender(EVERYBODYS, placed(pod(1, forbidden))) == [
        f"a Pod is where its extender forbids it, 1 times; for one: pod-00001 on {forbidden}"
    ]
    (fault,) = faults_of_extender(EVERYBODYS, placed(*(pod(1, node) for node in worst)))
    assert fault.startswith("the extender's mean score of the Nodes is ")
    only_filters = ShapeExtender(filter_verb="filter")
    assert faults_of_extender(only_filters, placed(*(pod(1, node) for node in worst))) == []


def test_pods_that_do_not_ask_may_be_anywhere() -> None:
    forbidden = [node for node in NODES if not allows("pod-00001", node)]
    assert faults_of_extender(MANAGING, placed(*(pod(1, node) for node in forbidden))) == []


def test_what_the_extender_alone_accounts_for_no_node_must_have() -> None:
    wanting = placed(pod(1, NODES[0], **{MANAGED: "1"}))
    (fault,) = faults_of(wanting)
    assert fault.endswith(f"{NODES[0]}: {MANAGED}")
    assert faults_of(wanting, ignored={MANAGED}) == []


def test_those_that_asked_and_the_others_are_told_apart() -> None:
    placement = placed(pod(1, NODES[0], **{MANAGED: "1"}), pod(2, NODES[0]))
    created, bound = {"pod-00001": 1.0, "pod-00002": 1.0}, {"pod-00001": 3.0, "pod-00002": 2.0}
    asking, others = latencies(MANAGING, placement, created, bound)
    assert asking is not None
    assert others is not None
    assert (asking.p50, others.p50) == (2000, 1000)
    asking, others = latencies(EVERYBODYS, placement, created, bound)
    assert asking is not None
    assert (asking.count, others) == (2, None)
