"""Searches for devices on one Node, as tests describe them."""

from typing import Any

import msgspec

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.device_objects import ResourceClaim, ResourceClaimSpec
from scheduler_svc.core.devices.demands import Claim
from scheduler_svc.core.devices.outcomes import OutOfSteps, SearchFailure, Solution
from scheduler_svc.core.devices.search import Search

FAILED = "failed: "


def claims_for(cluster: Cluster, *specs: ResourceClaimSpec) -> list[Claim]:
    """Give claims c0, c1 … of these demands."""
    return [
        Claim(f"default/c{number}", f"uid-c{number}", cluster.devices.demand(spec))
        for number, spec in enumerate(specs)
    ]


def search(cluster: Cluster, *specs: ResourceClaimSpec, **options: Any) -> Solution | None:
    """Search on the first Node."""
    inventory = cluster.devices
    group = inventory.slices.grouping(cluster.columns).group_of_row[0]
    assert group is not None
    options = {"step_limit": 100_000} | options
    claims = claims_for(cluster, *specs)
    return Search(claims, group.pools, inventory.allocated, inventory.selectors, **options).run()


def solve(cluster: Cluster, *specs: ResourceClaimSpec, **options: Any) -> list[list[str]] | str:
    """Give for each claim `request=pool/device`, or what came of it."""
    try:
        solution = search(cluster, *specs, **options)
    except SearchFailure as failure:
        return f"{FAILED}{failure}"
    except OutOfSteps:
        return "out of steps"
    if solution is None:
        return "none"
    return [
        [f"{c.wanted.full_name}={'/'.join(c.device.id[1:])}" for c in chosen] for chosen in solution
    ]


def spec_of(manifest: dict[str, Any]) -> ResourceClaimSpec:
    """Decode a specification."""
    return msgspec.convert(manifest, ResourceClaimSpec)


def held(name: str, allocation: dict[str, Any]) -> ResourceClaim:
    """Give a claim that has devices."""
    manifest = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "status": {"allocation": allocation},
    }
    return msgspec.convert(manifest, ResourceClaim)
