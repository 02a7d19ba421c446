"""Slices, classes and claims as they come and go."""

import pytest

from scheduler_svc.core.devices import inventory as inventory_module
from tests.builders import make_node_info
from tests.device_builders import (
    allocation,
    claim_spec,
    device,
    device_cluster,
    drop,
    make_claim,
    make_class,
    make_slice,
    put,
    request,
    result,
)

OWNER = {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
MADE = {
    "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
    "ownerReferences": [{"kind": "Node", "name": "n", "uid": "uid-n"}, OWNER],
}


def test_objects_are_found() -> None:
    cluster = device_cluster([make_node_info("n1")], make_class("gpu", extendedResourceName="a/b"))
    inventory = cluster.devices
    version = inventory.class_version
    found = inventory.class_of("gpu")
    assert found is not None
    assert inventory.class_of_resource("a/b") is found
    assert inventory.class_of("x") is None
    assert inventory.class_of_resource("a/c") is None
    drop(cluster, found)
    assert inventory.class_of_resource("a/b") is None
    assert inventory.class_version != version
    put(cluster, make_claim("c"))
    assert inventory.claim("default", "c") is not None
    assert inventory.claim("other", "c") is None


def test_claims_that_ask_for_the_same_share_a_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = device_cluster([])
    inventory = cluster.devices
    first = inventory.demand(claim_spec())
    assert inventory.demand(claim_spec()) is first
    assert inventory.demand(claim_spec(request("x"))) is not first
    put(cluster, make_class("gpu", "true"))
    ((wanted,),) = inventory.demand(claim_spec()).requests
    assert wanted.class_expressions == ("true",)
    monkeypatch.setattr(inventory_module, "_MAX_DEMANDS", 1)
    second = inventory.demand(claim_spec())
    assert inventory.demand(claim_spec()) is second
    inventory.demand(claim_spec(request("y")))
    assert inventory.demand(claim_spec()) is not second


def test_the_claim_made_for_a_pod_is_known_while_it_is_there() -> None:
    cluster = device_cluster([])
    claim = make_claim("p-extended-resources-x", metadata=MADE)
    put(cluster, claim)
    assert cluster.devices.claim_made_for("uid-p") is claim
    assert cluster.devices.claim_made_for("uid-n") is None
    drop(cluster, claim)
    assert cluster.devices.claim_made_for("uid-p") is None
    put(cluster, make_claim("plain", metadata={"ownerReferences": [OWNER]}))
    assert cluster.devices.claim_made_for("uid-p") is None


def test_slices_and_allocations_reach_who_looks_after_them() -> None:
    cluster = device_cluster([make_node_info("n1")])
    put(cluster, make_slice("n1", [device("d0")], nodeName="n1"))
    assert [one.name for one in cluster.devices.slices.slices()] == ["n1"]
    put(cluster, make_claim("c", status={"allocation": allocation(result("d0"))}))
    assert cluster.devices.allocated.is_exclusive(("gpu.example", "n1", "d0"))
