"""Shared devices and counters while several are chosen."""

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
    make_slice,
    request,
    result,
    wanted,
)
from tests.unit.scheduler_svc.core.devices.searching import held, search, solve

NODE = make_node_info("n1")
COUNTERS = [{"name": "cs", "counters": {"memory": {"value": "80Gi"}}}]


def consuming(name: str, amount: str, **fields: Any) -> dict[str, Any]:
    taken = [{"counterSet": "cs", "counters": {"memory": {"value": amount}}}]
    return device(name, consumesCounters=taken, **fields)


def partitioned(*devices: dict[str, Any]) -> Cluster:
    return device_cluster(
        [NODE],
        make_slice("a", devices, pool="p", count=2, nodeName="n1"),
        make_slice("b", pool="p", count=2, nodeName="n1", sharedCounters=COUNTERS),
    )


def shared(**fields: Any) -> Cluster:
    one = device("d0", memory="10Gi", allowMultipleAllocations=True, **fields)
    return device_cluster([NODE], make_slice("n1", [one], nodeName="n1"))


def some(memory: str, name: str = "r", **fields: Any) -> dict[str, Any]:
    return request(name, capacity={"requests": {"memory": memory}}, **fields)


def test_counters_limit_what_can_be_had_together() -> None:
    known = partitioned(consuming("d0", "60Gi"), consuming("d1", "40Gi"), consuming("d2", "40Gi"))
    assert solve(known, claim_spec(request(count=2))) == [["r=p/d1", "r=p/d2"]]
    assert solve(known, claim_spec(request(count=3))) == "none"


def test_counters_of_what_others_have_are_taken() -> None:
    known = partitioned(consuming("d0", "60Gi"), consuming("d1", "40Gi"), device("d2"))
    known.devices.allocated.claim_changed(None, held("h", allocation(result("d0", "p"))))
    assert solve(known, claim_spec()) == [["r=p/d2"]]


def test_what_is_turned_away_gives_its_counters_back() -> None:
    tainted = consuming("d0", "60Gi", taints=[{"key": "k", "effect": "NoSchedule"}])
    known = partitioned(tainted, consuming("d1", "60Gi"))
    assert solve(known, claim_spec()) == [["r=p/d1"]]


def test_capacity_is_shared_within_and_among_claims() -> None:
    two = claim_spec(some("4Gi", "a"), some("6Gi", "b"))
    assert solve(shared(), two) == [["a=n1/d0", "b=n1/d0"]]
    assert solve(shared(), claim_spec(some("6Gi")), claim_spec(some("6Gi"))) == "none"
    known = shared()
    taken = result("d0", shareID="1", consumedCapacity={"memory": "5Gi"})
    known.devices.allocated.claim_changed(None, held("h", allocation(taken)))
    assert solve(known, claim_spec(some("6Gi"))) == "none"
    assert solve(known, claim_spec(some("5Gi"))) == [["r=n1/d0"]]


def test_a_share_that_leads_nowhere_is_given_back() -> None:
    alternatives = [
        wanted(name="large", capacity={"requests": {"memory": "8Gi"}}),
        wanted(name="small", capacity={"requests": {"memory": "2Gi"}}),
    ]
    spec = claim_spec(first_available("a", *alternatives), some("5Gi", "b"))
    assert solve(shared(), spec) == [["a/small=n1/d0", "b=n1/d0"]]


def test_the_amounts_are_part_of_the_solution() -> None:
    solution = search(shared(), claim_spec(some("4Gi")))
    assert solution is not None
    assert solution[0][0].amounts == {"memory": (4 * 2**30 * 10**9, "4Gi")}


def test_a_second_share_takes_no_counters() -> None:
    one = consuming("d0", "60Gi", memory="10Gi", allowMultipleAllocations=True)
    known = partitioned(one, consuming("d1", "20Gi"), consuming("d2", "30Gi"))
    spec = claim_spec(some("4Gi", "a"), some("4Gi", "b"), request("c", allocationMode="ExactCount"))
    assert solve(known, spec) == [["a=p/d0", "b=p/d0", "c=p/d1"]]
    taken = result("d0", "p", shareID="1", consumedCapacity={"memory": "1Gi"})
    known.devices.allocated.claim_changed(None, held("h", allocation(taken)))
    assert solve(known, claim_spec(some("4Gi"))) == [["r=p/d0"]]


def test_all_of_shared_devices_may_be_too_much() -> None:
    spec = claim_spec(some("6Gi", "a"), some("6Gi", "b", allocationMode="All"))
    assert solve(shared(), spec) == "none"
    admin = claim_spec(some("4Gi", "a", adminAccess=True), some("4Gi", "b", adminAccess=True))
    assert solve(shared(), admin) == [["a=n1/d0", "b=n1/d0"]]


@pytest.mark.parametrize(("quirks", "outcome"), [(True, [["r=q/d0", "r=q/d1"]]), (False, "none")])
def test_pools_of_one_name_share_counters_where_the_quirk_is_followed(
    quirks: bool, outcome: object
) -> None:
    """kube-scheduler looks counters up by the pool's name, whatever its driver."""
    roomy = [{"name": "other", "counters": {"x": {"value": "1"}}}]
    uses = [{"counterSet": "other", "counters": {"x": {"value": "1"}}}]
    first = device("d9", consumesCounters=uses, taints=[{"key": "k", "effect": "NoSchedule"}])
    known = device_cluster(
        [NODE],
        make_slice("a", [first], pool="q", count=2, nodeName="n1", driver="a.example"),
        make_slice("b", pool="q", count=2, nodeName="n1", driver="a.example", sharedCounters=roomy),
        make_slice(
            "c",
            [consuming("d0", "60Gi"), consuming("d1", "60Gi")],
            pool="q",
            count=2,
            nodeName="n1",
        ),
        make_slice("d", pool="q", count=2, nodeName="n1", sharedCounters=COUNTERS),
    )
    assert solve(known, claim_spec(request(count=2)), follows_quirks=quirks) == outcome
