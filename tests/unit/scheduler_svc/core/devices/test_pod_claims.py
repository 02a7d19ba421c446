"""A Pod's claims as they stand, with kube-scheduler's words for what keeps it waiting."""

from typing import Any

import msgspec
import pytest

from scheduler_svc.core.device_objects import Allocation
from scheduler_svc.core.devices.extended_resources import container_demand
from scheduler_svc.core.devices.pod_claims import claims_of, unmade_claim, waits_for_claim
from tests.device_builders import (
    allocation,
    container,
    device_cluster,
    first_available,
    make_claim,
    make_claiming_pod,
    make_class,
    put,
    request,
    result,
    used_by,
    wanted,
)

GPU = "example.com/gpu"
OWNER = {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}


@pytest.mark.parametrize(
    ("generated", "metadata", "problem"),
    [
        ({}, {}, ""),
        ({"g": "?"}, {}, 'pod "default/p": ResourceClaim not created yet'),
        ({"g": ""}, {}, ""),
        ({"g": "x"}, {}, 'could not find ResourceClaim "default/x"'),
        (
            {"g": "c"},
            {},
            "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)",
        ),
        ({"g": "c"}, {"ownerReferences": [OWNER]}, ""),
        (
            {"g": "c"},
            {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            'resourceclaim "c" is being deleted',
        ),
    ],
)
def test_all_claims_must_be_there(
    generated: dict[str, str], metadata: dict[str, Any], problem: str
) -> None:
    cluster = device_cluster([], make_claim("c", metadata=metadata))
    pod = make_claiming_pod("p", generated=generated)
    assert waits_for_claim(pod, cluster.devices) == problem
    assert claims_of(pod, cluster.devices).problem == problem


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        (make_claim("c"), ""),
        (
            make_claim("c", request("r", deviceClassName="x")),
            "request r: device class x does not exist",
        ),
        (
            make_claim("c", first_available("r", wanted(name="s", deviceClassName="x"))),
            "request r/s: device class x does not exist",
        ),
        (
            make_claim("c", {"name": "r"}),
            "resource claim default/c, request r: unknown request type",
        ),
        (make_claim("c", {"name": "r"}, status={"allocation": allocation(result("d0"))}), ""),
    ],
)
def test_a_claim_must_make_sense_unless_it_is_allocated(claim: Any, problem: str) -> None:
    cluster = device_cluster([], claim)
    found = claims_of(make_claiming_pod("p", "c"), cluster.devices)
    assert found.problem == problem
    assert found.claims == (() if problem else (claim,))


def test_a_claim_in_flight_is_waited_for() -> None:
    cluster = device_cluster([], make_claim("c"))
    cluster.devices.allocated.launch("uid-c", Allocation())
    problem = claims_of(make_claiming_pod("p", "c"), cluster.devices).problem
    assert problem == "resource claim default/c is in the process of being allocated"


def test_a_claim_has_256_users_where_that_is_looked_at() -> None:
    users = used_by(*(f"u{number}" for number in range(256)))
    status = {"allocation": allocation(result("d0")), "reservedFor": users}
    cluster = device_cluster([], make_claim("c", status=status))
    pod, user = make_claiming_pod("p", "c"), make_claiming_pod("u7", "c")
    assert claims_of(pod, cluster.devices).problem == ""
    assert claims_of(pod, cluster.devices, limits_users=True).problem == "resourceclaim in use"
    assert claims_of(user, cluster.devices, limits_users=True).problem == ""


def test_extended_resources_that_a_class_stands_for() -> None:
    cluster = device_cluster([], make_class("gpu", extendedResourceName=GPU))
    amounts = {GPU: "2", "example.com/other": "1", "hugepages-2Mi": "4Mi"}
    pod = make_claiming_pod("p", containers=[container("c", amounts)])
    need = claims_of(pod, cluster.devices).extended
    assert need is not None
    assert need.amounts == ((GPU, 2), ("example.com/other", 1))
    assert need.classes == ((GPU, "gpu"),)
    assert need.stale_claim is None
    demand = container_demand(pod.shape.extended_requests, dict(need.classes))
    made = unmade_claim(pod, demand, cluster.devices)
    assert made.key == "default/<extended-resources>"
    assert [w.full_name for (w,) in made.demand.requests] == ["container-0-request-0"]
    other = make_claiming_pod("q", containers=[container("c", {"example.com/other": "1"})])
    assert claims_of(other, cluster.devices).is_empty
    none = make_claiming_pod("r", containers=[container("c", {GPU: "0"})])
    assert claims_of(none, cluster.devices).is_empty
    assert claims_of(make_claiming_pod("s"), cluster.devices).is_empty


def test_a_claim_left_from_an_earlier_attempt_is_seen() -> None:
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    stale = make_claim(
        "old",
        request("r", deviceClassName="gone"),
        metadata={"annotations": annotations, "ownerReferences": [OWNER]},
    )
    cluster = device_cluster([], make_class("gpu", extendedResourceName=GPU), stale)
    pod = make_claiming_pod("p", containers=[container("c", {GPU: "1"})])
    found = claims_of(pod, cluster.devices)
    assert found.problem == ""
    assert found.extended is not None
    assert found.extended.stale_claim is stale
    put(cluster, make_claim("plain"))
    assert not found.is_empty
    assert msgspec.structs.replace(found, extended=None).is_empty
