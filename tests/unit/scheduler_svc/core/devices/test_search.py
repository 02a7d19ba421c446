"""The first solution in the order of claims, requests, alternatives and devices."""

from typing import Any

import pytest

from scheduler_svc.core.cluster import Cluster
from tests.builders import make_node_info
from tests.device_builders import (
    allocation,
    claim_spec,
    device,
    device_cluster,
    first_available,
    make_class,
    make_slice,
    request,
    result,
    wanted,
)
from tests.unit.scheduler_svc.core.devices.searching import FAILED, held, solve

NODE = make_node_info("n1")
NOT_FOUND = 'deviceclass.resource.k8s.io "x" not found'


def cluster(*devices: dict[str, Any], **spec: Any) -> Cluster:
    """Give a Node with devices of its own."""
    return device_cluster([NODE], make_slice("n1", devices, nodeName="n1", **spec))


MODELS = [
    device("d0", model="a100", numa=0),
    device("d1", model="h100", numa=1),
    device("d2", model="h100", numa=0),
    device("d3", model="a100", numa=1),
]


def model(name: str) -> str:
    return f'device.attributes["gpu.example"].model == "{name}"'


@pytest.mark.parametrize(
    ("requests", "chosen"),
    [
        ([request()], ["r=n1/d0"]),
        ([request(count=2)], ["r=n1/d0", "r=n1/d1"]),
        ([request(expression=model("h100"))], ["r=n1/d1"]),
        ([request("a"), request("b")], ["a=n1/d0", "b=n1/d1"]),
        # The first must leave the second what only that can use.
        (
            [request("a"), request("b", count=2, expression=model("a100"))],
            ["a=n1/d1", "b=n1/d0", "b=n1/d3"],
        ),
        ([request(allocationMode="All", expression=model("h100"))], ["r=n1/d1", "r=n1/d2"]),
        (
            [first_available("r", wanted(name="many", count=5), wanted(name="two", count=2))],
            ["r/two=n1/d0", "r/two=n1/d1"],
        ),
        (
            [request("a", adminAccess=True), request("b", adminAccess=True)],
            ["a=n1/d0", "b=n1/d1"],
        ),
    ],
)
def test_the_first_solution_is_taken(requests: list[dict[str, Any]], chosen: list[str]) -> None:
    assert solve(cluster(*MODELS), claim_spec(*requests)) == [chosen]


@pytest.mark.parametrize(
    "requests",
    [
        [request(count=5)],
        [request(expression=model("b200"))],
        [request(allocationMode="All", expression=model("b200"))],
        [request("a"), request("b", allocationMode="All")],
        [first_available("r", wanted(name="x", count=5), wanted(name="y", count=6))],
    ],
)
def test_there_may_be_none(requests: list[dict[str, Any]]) -> None:
    assert solve(cluster(*MODELS), claim_spec(*requests)) == "none"


def test_claims_are_served_in_order_and_one_may_make_room_for_the_next() -> None:
    flexible = claim_spec(first_available("r", wanted(name="two", count=2), wanted(name="one")))
    rest = claim_spec(request(count=3))
    assert solve(cluster(*MODELS), flexible, rest) == [
        ["r/one=n1/d0"],
        ["r=n1/d1", "r=n1/d2", "r=n1/d3"],
    ]


def test_constraints_are_met_by_going_back() -> None:
    same = {"matchAttribute": "gpu.example/numa"}
    spec = claim_spec(
        request("a", expression=model("a100")),
        request("b", expression=model("h100")),
        constraints=[same],
    )
    assert solve(cluster(*MODELS), spec) == [["a=n1/d0", "b=n1/d2"]]
    one = claim_spec(request(count=3), constraints=[same])
    assert solve(cluster(*MODELS), one) == "none"


def test_all_devices_that_cannot_be_had_together_are_a_mistake() -> None:
    spec = claim_spec(
        request(allocationMode="All"), constraints=[{"matchAttribute": "gpu.example/numa"}]
    )
    assert solve(cluster(*MODELS), spec) == (
        "failed: claim default/c0, request r: cannot add device gpu.example/n1/d1 "
        "because a claim constraint would not be satisfied"
    )


def test_a_device_that_a_claim_has_is_not_given_again() -> None:
    known = cluster(*MODELS)
    known.devices.allocated.claim_changed(None, held("h", allocation(result("d0"))))
    assert solve(known, claim_spec()) == [["r=n1/d1"]]
    assert solve(known, claim_spec(request(adminAccess=True))) == [["r=n1/d0"]]
    assert solve(known, claim_spec(request(allocationMode="All"))) == "none"


def test_all_devices_for_administrators_but_each_once() -> None:
    spec = claim_spec(
        request("a", adminAccess=True), request("b", allocationMode="All", adminAccess=True)
    )
    assert solve(cluster(device("d0"), device("d1")), spec) == "none"


@pytest.mark.parametrize(
    ("tolerations", "chosen"),
    [
        ([], "d2"),
        ([{"key": "broken", "operator": "Exists"}], "d0"),
        ([{"key": "broken", "operator": "Exists", "effect": "NoExecute"}], "d2"),
        ([{"key": "broken", "value": "yes"}], "d0"),
        ([{"key": "broken", "operator": "Equal", "value": "no"}], "d2"),
        ([{"key": "old", "operator": "Exists"}], "d1"),
        ([{"operator": "Exists"}], "d0"),
        ([{"key": "broken", "operator": "Unknown"}], "d2"),
    ],
)
def test_taints_keep_requests_away(tolerations: list[dict[str, str]], chosen: str) -> None:
    known = cluster(
        device("d0", taints=[{"key": "broken", "value": "yes", "effect": "NoSchedule"}]),
        device("d1", taints=[{"key": "old", "effect": "NoExecute"}]),
        device("d2", taints=[{"key": "note", "effect": "None"}]),
    )
    assert solve(known, claim_spec(request(tolerations=tolerations))) == [[f"r=n1/{chosen}"]]


def test_pools_that_are_not_whole_give_nothing_and_all_is_not_known() -> None:
    known = cluster(*MODELS, count=2)
    assert solve(known, claim_spec()) == "none"
    assert solve(known, claim_spec(request(allocationMode="All"))) == (
        "failed: claim default/c0, request r: asks for all devices, but resource pool "
        "gpu.example/n1 is currently being updated"
    )
    invalid = cluster(device("d0"), device("d0"))
    assert solve(invalid, claim_spec(request(allocationMode="All"))) == (
        "failed: claim default/c0, request r: asks for all devices, but resource pool "
        "gpu.example/n1 is currently invalid"
    )


@pytest.mark.parametrize(
    ("requests", "text"),
    [
        (
            [request(selectors=[{}])],
            "request r, selector #0: CEL expression empty (unsupported selector type?)",
        ),
        (
            [request(deviceClassName="")],
            "request r: missing device class name (unsupported request type?)",
        ),
        (
            [request(deviceClassName="x")],
            f"request r: could not retrieve device class x: {NOT_FOUND}",
        ),
        ([request(allocationMode="Some")], "request r: unsupported count mode Some"),
    ],
)
def test_requests_that_make_no_sense(requests: list[dict[str, Any]], text: str) -> None:
    assert solve(cluster(), claim_spec(*requests)) == f"failed: claim default/c0, {text}"


def test_selectors_that_fail_end_it_with_the_class_or_claim_named() -> None:
    broken = make_class("gpu", "true", 'device.attributes["gpu.example"].no == 1')
    known = device_cluster([NODE], make_slice("n1", MODELS, nodeName="n1"), broken)
    text = "CEL runtime error: no such key: no"
    assert solve(known, claim_spec()) == f"failed: class gpu: selector #1: {text}"
    own = claim_spec(request(expression='device.attributes["gpu.example"].no == 1'))
    assert solve(cluster(*MODELS), own) == f"failed: claim default/c0: selector #0: {text}"


def test_a_claim_has_32_devices_at_most() -> None:
    devices = [device(f"d{number}") for number in range(40)]
    assert solve(cluster(*devices), claim_spec(request(count=33))) == (
        "failed: claim default/c0: number of requested devices 33 exceeds the claim limit of 32"
    )
    # What an alternative needs may only turn out to be too much on the way.
    many = [wanted(name="many", count=20), wanted(name="one")]
    both = claim_spec(first_available("a", *many), first_available("b", *many))
    found = solve(cluster(*devices), both)
    assert isinstance(found, list)
    assert [name.partition("=")[0] for name in found[0]] == ["a/many"] * 20 + ["b/one"]


def test_too_many_may_be_found_out_late() -> None:
    """What is chosen first may be more than the least that it could have been."""
    devices = [device(f"d{number}") for number in range(40)]
    nothing = wanted(name="nothing", expression="false")
    spec = claim_spec(
        first_available("a", wanted(name="many", count=25), nothing),
        first_available("b", wanted(name="some", count=10)),
    )
    assert solve(cluster(*devices), spec) == "none"
    spec = claim_spec(
        first_available("a", wanted(name="many", count=25), wanted(name="few", count=20)),
        first_available("b", wanted(name="some", count=12)),
    )
    found = solve(cluster(*devices), spec)
    assert isinstance(found, list)
    assert [name.partition("=")[0] for name in found[0]] == ["a/few"] * 20 + ["b/some"] * 12


def test_it_may_take_too_many_steps() -> None:
    devices = [device(f"d{number}", numa=number % 2) for number in range(24)]
    never = claim_spec(request(count=13), constraints=[{"matchAttribute": "gpu.example/numa"}])
    assert solve(cluster(*devices), never, step_limit=1000) == "out of steps"
    every = claim_spec(request(allocationMode="All"))
    assert solve(cluster(*devices), every, step_limit=10) == "out of steps"


@pytest.mark.parametrize("count", [13, 20, 32])
def test_too_few_devices_are_noticed_at_once(count: int) -> None:
    """Not after every combination of those that there are: twelve have 4095."""
    devices = [device(f"d{number}", numa=number % 2) for number in range(24)]
    odd = 'device.attributes["gpu.example"].numa == 1'
    spec = claim_spec(request(count=count, selectors=[{"cel": {"expression": odd}}]))
    assert solve(cluster(*devices), spec, step_limit=1000) == "none"
    enough = claim_spec(request(count=12, selectors=[{"cel": {"expression": odd}}]))
    assert len(solve(cluster(*devices), enough, step_limit=1000)[0]) == 12


def test_an_expression_that_fails_is_found_though_too_few_devices_are_left() -> None:
    """As upstream comes upon the device once the first request lets it go."""
    devices = [device("d0", model="a"), device("d1", numa=1), device("d2", numa=0)]
    odd = 'device.attributes["gpu.example"].numa == 1'
    spec = claim_spec(request("any"), request("odd", count=3, expression=odd))
    text = f"{FAILED}claim default/c0: selector #0: CEL runtime error: no such key: numa"
    assert solve(cluster(*devices), spec) == text
    taken = allocation(result("d0"))
    assert (
        solve(
            device_cluster([NODE], make_slice("n1", devices, nodeName="n1"), held("x", taken)), spec
        )
        == "none"
    )


def test_devices_for_other_nodes_are_left_out() -> None:
    mine = [device("d0", nodeName="n2"), device("d1", nodeName="n1")]
    net = make_slice("net", mine, perDeviceNodeSelection=True)
    known = device_cluster([NODE, make_node_info("n2")], net)
    assert solve(known, claim_spec()) == [["r=net/d1"]]
    assert solve(known, claim_spec(request(allocationMode="All"))) == [["r=net/d1"]]


def test_a_constraint_of_a_kind_not_known() -> None:
    assert solve(cluster(), claim_spec(constraints=[{}])) == (
        "failed: claim default/c0, constraint #0: empty constraint (unsupported constraint type?)"
    )
