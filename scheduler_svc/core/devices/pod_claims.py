"""The claims of one Pod as they stand: which are to be allocated, and what keeps it waiting.

Source: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
(`foreachPodResourceClaim`, `PreFilter`) and staging/src/k8s.io/dynamic-resource-allocation/
resourceclaim/resourceclaim.go, v1.36.3.
"""

from collections.abc import Iterator

import msgspec

from scheduler_svc.core.device_objects import (
    MAX_RESERVATIONS,
    ClaimDevices,
    ResourceClaim,
    ResourceClaimSpec,
)
from scheduler_svc.core.devices.allocated import extended_key, in_flight_key
from scheduler_svc.core.devices.demands import Claim, missing_class
from scheduler_svc.core.devices.extended_resources import ContainerDemand, may_be_devices
from scheduler_svc.core.devices.inventory import DeviceInventory
from scheduler_svc.core.pods import PodClaim, PodInfo

# The name of a claim that has not been made yet: no claim can have it.
UNMADE_NAME = "<extended-resources>"


class ExtendedNeed(msgspec.Struct, frozen=True):
    """Extended resources that a class may stand for, by resource: amounts and classes.

    `classes` has those for which there is one; `stale_claim` was made in an earlier attempt.
    """

    amounts: tuple[tuple[str, int], ...]
    classes: tuple[tuple[str, str], ...]
    stale_claim: ResourceClaim | None = None


class PodClaims(msgspec.Struct, frozen=True):
    """A Pod's claims in order, and what it needs by extended resources.

    `problem` is what keeps the Pod from being scheduled anywhere, "" for nothing.
    """

    claims: tuple[ResourceClaim, ...] = ()
    extended: ExtendedNeed | None = None
    problem: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do for the Pod."""
        return not self.claims and self.extended is None and not self.problem


def claims_of(pod: PodInfo, inventory: DeviceInventory, *, limits_users: bool = False) -> PodClaims:
    """Look up the claims of a Pod, and whether it has to wait for any of them.

    With `limits_users` also for a claim that has as many users as it can have; upstream lets
    the API server refuse one more.
    """
    claims: list[ResourceClaim] = []
    for found in _claims(pod, inventory):
        if isinstance(found, str):
            return PodClaims(problem=found)
        claims.append(found)
    extended = extended_need(pod, inventory)
    stale = None if extended is None else extended.stale_claim
    if extended is not None and inventory.allocated.is_in_flight(extended_key(pod.uid)):
        # It was made in an earlier attempt, and is still to be seen.
        return PodClaims(problem=f"the claim for {pod.key} is in the process of being allocated")
    for claim in (*claims, *(() if stale is None else (stale,))):
        problem = _obstacle(claim, inventory, is_stale=claim is stale)
        if limits_users and not problem and _is_full(claim, pod):
            problem = "resourceclaim in use"
        if problem:
            return PodClaims(problem=problem)
    return PodClaims(tuple(claims), extended)


def waits_for_claim(pod: PodInfo, inventory: DeviceInventory) -> str:
    """Give why a Pod's claims are not all there, "" if they are."""
    return next((found for found in _claims(pod, inventory) if isinstance(found, str)), "")


def _claims(pod: PodInfo, inventory: DeviceInventory) -> Iterator[ResourceClaim | str]:
    """Give each claim, or what is the matter with it."""
    for reference in pod.claims:
        # One with an empty name has turned out not to be needed.
        if reference.claim_name != "":
            yield _claim(pod, reference, inventory)


def _claim(pod: PodInfo, reference: PodClaim, inventory: DeviceInventory) -> ResourceClaim | str:
    name = reference.claim_name
    if name is None:
        return f'pod "{pod.key}": ResourceClaim not created yet'
    claim = inventory.claim(pod.namespace, name)
    if claim is None:
        return f'could not find ResourceClaim "{pod.namespace}/{name}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'resourceclaim "{name}" is being deleted'
    if reference.is_generated and not claim.is_owned_by(pod.uid):
        return f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)"
    return claim


def _is_full(claim: ResourceClaim, pod: PodInfo) -> bool:
    users = claim.status.reserved_for
    return len(users) >= MAX_RESERVATIONS and not claim.is_reserved_for(pod.uid)


def _obstacle(claim: ResourceClaim, inventory: DeviceInventory, *, is_stale: bool) -> str:
    """Give what keeps every Node from using a claim, "" for nothing."""
    if claim.status.allocation is not None:
        return ""
    if inventory.allocated.is_in_flight(in_flight_key(claim)):
        return f"resource claim {claim.key} is in the process of being allocated"
    if is_stale:
        return ""
    for request in claim.spec.devices.requests:
        if request.exactly is None and not request.first_available:
            return f"resource claim {claim.key}, request {request.name}: unknown request type"
    missing = missing_class(claim.spec, inventory.class_of)
    if missing is None:
        return ""
    return f"request {missing[0]}: device class {missing[1]} does not exist"


def extended_need(pod: PodInfo, inventory: DeviceInventory) -> ExtendedNeed | None:
    """Give what a Pod needs of extended resources, None unless a class stands for one."""
    scalars = pod.shape.requests.scalars
    if not scalars:
        return None
    amounts = tuple((name, n) for name, n in scalars if n and may_be_devices(name))
    found = [(name, inventory.class_of_resource(name)) for name, _ in amounts]
    classes = tuple((name, known.metadata.name) for name, known in found if known is not None)
    if not classes:
        return None
    return ExtendedNeed(amounts, classes, inventory.claim_made_for(pod.uid))


def unmade_claim(pod: PodInfo, demand: ContainerDemand, inventory: DeviceInventory) -> Claim:
    """Give the claim that is to be made for a Pod's extended resources on some Node."""
    spec = ResourceClaimSpec(ClaimDevices(requests=demand.requests))
    return Claim(f"{pod.namespace}/{UNMADE_NAME}", extended_key(pod.uid), inventory.demand(spec))
