"""Which devices are taken, as claims come, change and go, and while they are in flight."""

from typing import Any

import msgspec

from scheduler_svc.core.device_objects import Allocation, ResourceClaim
from scheduler_svc.core.devices.allocated import AllocatedDevices, extended_key, in_flight_key
from tests.device_builders import allocation, make_claim, result

D0 = ("gpu.example", "n1", "d0")
GI = 2**30 * 10**9


def given(name: str, *results: dict[str, Any]) -> ResourceClaim:
    return make_claim(name, status={"allocation": allocation(*results)})


def share(memory: str | None, share_id: str) -> dict[str, Any]:
    found = result("d0", shareID=share_id)
    return found if memory is None else found | {"consumedCapacity": {"memory": memory}}


def test_a_device_is_taken_while_a_claim_has_it() -> None:
    devices = AllocatedDevices()
    claim = given("c", result("d0"))
    devices.claim_changed(None, claim)
    assert devices.is_exclusive(D0)
    assert devices.is_taken(D0)
    devices.claim_changed(claim, make_claim("c"))
    assert not devices.is_taken(D0)
    devices.claim_changed(make_claim("c"), claim)
    devices.claim_changed(claim, None)
    assert not devices.is_taken(D0)
    changed = devices.log.since(0)
    assert changed is not None
    assert set(changed.tolist()) == {devices.code(D0[:2])}


def test_a_change_of_something_else_changes_nothing() -> None:
    devices = AllocatedDevices()
    claim = given("c", result("d0"))
    devices.claim_changed(None, claim)
    position = devices.log.position
    devices.claim_changed(claim, given("c", result("d0")))
    assert devices.log.position == position


def test_administrators_take_nothing() -> None:
    devices = AllocatedDevices()
    devices.claim_changed(None, given("c", result("d0", adminAccess=True)))
    assert not devices.is_taken(D0)


def test_shares_add_up_until_the_last_is_given_back() -> None:
    devices = AllocatedDevices()
    first, second = given("a", share("10Gi", "1")), given("b", share("5Gi", "2"))
    third = given("c", share(None, "3"))
    for claim in (first, second, third):
        devices.claim_changed(None, claim)
    assert not devices.is_exclusive(D0)
    assert devices.is_taken(D0)
    assert devices.consumed == {D0: {"memory": 15 * GI}}
    devices.claim_changed(first, None)
    assert devices.consumed == {D0: {"memory": 5 * GI}}
    devices.claim_changed(second, None)
    assert devices.consumed == {}
    assert devices.is_taken(D0)
    devices.claim_changed(third, None)
    assert not devices.is_taken(D0)


def test_what_is_in_flight_is_taken_until_it_is_seen_or_given_up() -> None:
    devices = AllocatedDevices()
    found = msgspec.convert(allocation(result("d0")), Allocation)
    devices.launch("uid-c", found)
    assert devices.is_in_flight("uid-c")
    assert devices.is_exclusive(D0)
    claim = given("c", result("d0"))
    devices.claim_changed(make_claim("c"), claim)
    assert not devices.is_in_flight("uid-c")
    assert devices.is_exclusive(D0)
    devices.claim_changed(claim, None)
    assert not devices.is_taken(D0)
    devices.launch("uid-d", found)
    devices.land("uid-d")
    devices.land("uid-d")
    assert not devices.is_taken(D0)


def test_a_claim_that_goes_while_it_is_in_flight_gives_its_devices_back() -> None:
    devices = AllocatedDevices()
    devices.launch("uid-c", msgspec.convert(allocation(result("d0")), Allocation))
    devices.claim_changed(make_claim("c"), None)
    assert not devices.is_in_flight("uid-c")
    assert not devices.is_taken(D0)


def test_the_claim_of_extended_resources_goes_by_its_pod() -> None:
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    owner = {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    other = {"kind": "Pod", "name": "q", "uid": "uid-q"}
    made = make_claim(metadata={"annotations": annotations, "ownerReferences": [other, owner]})
    assert in_flight_key(made) == extended_key("uid-p")
    orphan = make_claim("o", metadata={"annotations": annotations})
    assert in_flight_key(orphan) == "uid-o"
    assert in_flight_key(make_claim("c")) == "uid-c"


def test_another_claim_of_that_name_ends_what_was_in_flight_for_the_first() -> None:
    devices = AllocatedDevices()
    devices.launch("uid-c", msgspec.convert(allocation(result("d0")), Allocation))
    devices.claim_changed(make_claim("c"), make_claim("c", metadata={"uid": "uid-other"}))
    assert not devices.is_taken(D0)


def test_what_is_in_flight_is_replaced_by_what_is_tried_next() -> None:
    devices = AllocatedDevices()
    devices.launch("uid-c", msgspec.convert(allocation(result("d0")), Allocation))
    devices.launch("uid-c", msgspec.convert(allocation(result("d1")), Allocation))
    assert not devices.is_taken(D0)
    devices.land("uid-c")
    assert not devices.is_taken(("gpu.example", "n1", "d1"))
