"""What is written into claims."""

from typing import Any

import msgspec
import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.device_objects import Allocation, ResourceClaimSpec
from scheduler_svc.core.devices.results import allocation_of
from tests.builders import make_node_info
from tests.device_builders import (
    claim_spec,
    device,
    device_cluster,
    first_available,
    make_class,
    make_slice,
    request,
    wanted,
)
from tests.unit.scheduler_svc.core.devices.searching import claims_for, search

NODE = make_node_info("n1", labels={"zone": "a"})
OPAQUE = {"opaque": {"driver": "gpu.example", "parameters": {"mode": "fast"}}}


def allocate(cluster: Cluster, spec: ResourceClaimSpec) -> Allocation:
    (claim,) = claims_for(cluster, spec)
    solution = search(cluster, spec)
    assert solution is not None
    # The demand of the claim is the one that was searched with.
    assert claim.demand.requests[0][0] is solution[0][0].wanted or claim.demand.is_prioritized
    return allocation_of(claim, solution[0], "n1")


def in_zone(*values: str) -> dict[str, Any]:
    expression = {"key": "zone", "operator": "In", "values": list(values)}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def test_a_device_of_the_node_binds_the_claim_to_it() -> None:
    one = device("d0", bindingConditions=["ready"], bindingFailureConditions=["broken"])
    cluster = device_cluster([NODE], make_slice("n1", [one], nodeName="n1"))
    toleration = {"key": "k", "operator": "Exists"}
    found = allocate(cluster, claim_spec(request(adminAccess=True, tolerations=[toleration])))
    assert msgspec.json.decode(msgspec.json.encode(found)) == {
        "devices": {
            "results": [
                {
                    "request": "r",
                    "driver": "gpu.example",
                    "pool": "n1",
                    "device": "d0",
                    "adminAccess": True,
                    "tolerations": [toleration],
                    "bindingConditions": ["ready"],
                    "bindingFailureConditions": ["broken"],
                }
            ]
        },
        "nodeSelector": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [],
                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
                }
            ]
        },
    }


@pytest.mark.parametrize(
    ("devices", "places", "expressions"),
    [
        ([device("d0")], {"allNodes": True}, None),
        ([device("d0")], {"nodeSelector": in_zone("a", "b")}, [["a", "b"]]),
        ([device("d0", bindsToNode=True)], {"allNodes": True}, "n1"),
        (
            [
                device("d0", nodeSelector=in_zone("a")),
                device("d1", nodeSelector=in_zone("a", "b")),
                device("d2", nodeSelector=in_zone("b", "a")),
                device("d3", allNodes=True),
            ],
            {"perDeviceNodeSelection": True},
            [["a"], ["a", "b"]],
        ),
        ([device("d0", nodeName="n1")], {"perDeviceNodeSelection": True}, "n1"),
    ],
)
def test_where_a_claim_can_be_used(
    devices: list[dict[str, Any]], places: dict[str, Any], expressions: object
) -> None:
    cluster = device_cluster([NODE], make_slice("net", devices, **places))
    selector = allocate(cluster, claim_spec(request(count=len(devices)))).node_selector
    if expressions is None:
        assert selector is None
        return
    assert selector is not None
    (term,) = selector.node_selector_terms
    if isinstance(expressions, str):
        assert term.match_fields[0].values == (expressions,)
    else:
        assert [list(one.values) for one in term.match_expressions] == expressions


def test_a_share_has_an_id_of_its_own_and_what_it_consumes() -> None:
    shared = [device(n, memory="10Gi", allowMultipleAllocations=True) for n in ("d0", "d1")]
    bare = device("d2", allowMultipleAllocations=True)
    cluster = device_cluster([NODE], make_slice("n1", [*shared, bare], nodeName="n1"))
    some = {"capacity": {"requests": {"memory": "4Gi"}}}
    found = allocate(cluster, claim_spec(request("a", **some), request("b", **some)))
    first, second = found.devices.results
    assert first.consumed_capacity == second.consumed_capacity == {"memory": "4Gi"}
    assert first.share_id != second.share_id
    assert [len(part) for part in str(first.share_id).split("-")] == [8, 4, 4, 4, 12]
    assert found == allocate(cluster, claim_spec(request("a", **some), request("b", **some)))
    plain = request(expression="size(device.capacity) == 0")
    (only,) = allocate(cluster, claim_spec(plain)).devices.results
    assert (only.share_id is None, only.consumed_capacity) == (False, None)


def test_drivers_are_told_what_class_and_claim_say() -> None:
    gpu = make_class("gpu", config=[OPAQUE])
    cluster = device_cluster(
        [NODE], make_slice("n1", [device(f"d{n}") for n in range(5)], nodeName="n1"), gpu
    )
    spec = claim_spec(
        request("a"),
        request("b"),
        first_available("c", wanted(name="x", count=9), wanted(name="y")),
        config=[
            {**OPAQUE},
            {"requests": ["b"], **OPAQUE},
            {"requests": ["c"], **OPAQUE},
            {"requests": ["c/x"], **OPAQUE},
            {"requests": ["a", "c/y"], **OPAQUE},
        ],
    )
    config = allocate(cluster, spec).devices.config
    assert [(entry["source"], entry.get("requests")) for entry in config] == [
        ("FromClass", ["a", "b", "c/y"]),
        ("FromClaim", None),
        ("FromClaim", ["b"]),
        ("FromClaim", ["c"]),
        # kube-scheduler repeats it for each of its requests.
        ("FromClaim", ["a", "c/y"]),
        ("FromClaim", ["a", "c/y"]),
    ]
    assert all(entry["opaque"] == OPAQUE["opaque"] for entry in config)
