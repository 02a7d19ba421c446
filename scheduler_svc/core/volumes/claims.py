"""The claims of a Pod: by name, and whose they are.

Source: staging/src/k8s.io/component-helpers/storage/ephemeral, v1.36.3.
"""

import msgspec

from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.storage_objects import PersistentVolumeClaim


class PodVolumeClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim that a Pod names, or that is made for it (`is_ephemeral`)."""

    name: str
    is_ephemeral: bool


def claims_of(pod: PodInfo) -> list[PodVolumeClaim]:
    """Give the Pod's claims in the order of its volumes; one named twice is given twice."""
    claims = []
    for volume in pod.volumes:
        if volume.persistent_volume_claim is not None:
            claims.append(PodVolumeClaim(volume.persistent_volume_claim.claim_name, False))
        elif volume.ephemeral is not None:
            claims.append(PodVolumeClaim(f"{pod.name}-{volume.name}", True))
    return claims


def ownership_error(pod: PodInfo, claim: PersistentVolumeClaim) -> str:
    """Say that a claim made for a Pod is not this Pod's; "" where it is."""
    owners = (owner for owner in claim.metadata.owner_references if owner.controller)
    owner = next(owners, None)
    if claim.metadata.namespace == pod.namespace and owner is not None and owner.uid == pod.uid:
        return ""
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def names_claim(pod: PodInfo, claim: PersistentVolumeClaim, *, with_ephemeral: bool = True) -> bool:
    """Whether a claim is one of those that the Pod names."""
    return claim.metadata.namespace == pod.namespace and any(
        named.name == claim.metadata.name and (with_ephemeral or not named.is_ephemeral)
        for named in claims_of(pod)
    )
