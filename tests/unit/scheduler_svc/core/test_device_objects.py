"""Claims as they are decoded, and allocations as they are written."""

import msgspec

from scheduler_svc.core.device_objects import (
    Allocation,
    DeviceResult,
    DevicesResult,
    DeviceToleration,
    only_node,
)
from tests.device_builders import make_claim, used_by

OWNER = {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}


def test_a_claim_knows_its_owner_its_users_and_what_it_is_for() -> None:
    claim = make_claim(
        "c",
        status={"reservedFor": used_by("p")},
        metadata={
            "ownerReferences": [{**OWNER, "controller": False, "uid": "x"}, OWNER],
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        },
    )
    assert claim.key == "default/c"
    assert claim.is_owned_by("uid-p")
    assert not claim.is_owned_by("x")
    assert claim.is_reserved_for("uid-p")
    assert not claim.is_reserved_for("uid-q")
    assert claim.is_for_extended_resources
    assert not make_claim().is_for_extended_resources


def test_an_allocation_is_written_without_what_it_does_not_say() -> None:
    found = DeviceResult("r", "d.example", "pool", "d0", tolerations=(DeviceToleration(key="k"),))
    allocation = Allocation(DevicesResult((found,)), only_node("n1"))
    assert msgspec.json.decode(msgspec.json.encode(allocation)) == {
        "devices": {
            "results": [
                {
                    "request": "r",
                    "driver": "d.example",
                    "pool": "pool",
                    "device": "d0",
                    "tolerations": [{"key": "k"}],
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
