"""Which volumes claims count as, and how that follows their objects."""

from typing import Any

import pytest

from scheduler_svc.core.cluster_objects import ClusterObjects
from scheduler_svc.core.storage_objects import AzureDiskSource, VolumeIDSource
from scheduler_svc.core.volumes.counted_volumes import ResolvedClaims, resolve_claim
from scheduler_svc.core.volumes.migration import CSIVolume
from tests.storage import KINDS, csi, make_claim, make_class, make_volume

KEY = "default/data"
UNBOUND = "\0default/data"
BOUND = make_claim(volume="pv")


def objects(*told: Any) -> ClusterObjects:
    known = ClusterObjects()
    tell(known, *told)
    return known


def tell(known: ClusterObjects, *told: Any) -> None:
    for object_ in told:
        known[KINDS[type(object_)]].upsert(object_)


@pytest.mark.parametrize(
    ("told", "volume"),
    [
        ([], None),
        ([BOUND, make_volume(csi=csi("h", "d"))], CSIVolume("d", "h")),
        ([BOUND, make_volume(csi=csi("", "d"))], None),
        ([BOUND, make_volume(csi=csi("h", ""))], None),
        ([BOUND, make_volume()], None),
        (
            [BOUND, make_volume(cinder=VolumeIDSource("v"))],
            CSIVolume("cinder.csi.openstack.org", "v"),
        ),
        ([BOUND, make_volume(azure_disk=AzureDiskSource("/d", "Dedicated"))], None),
        # Without a volume, or while that is not known, the class decides.
        ([BOUND], None),
        ([BOUND, make_class(provisioner="d")], CSIVolume("d", UNBOUND)),
        ([make_claim(), make_class(provisioner="d")], CSIVolume("d", UNBOUND)),
        ([make_claim(storage_class=None), make_class(provisioner="d")], None),
        ([make_claim(), make_class(provisioner="")], None),
        (
            [make_claim(), make_class(provisioner="kubernetes.io/aws-ebs")],
            CSIVolume("ebs.csi.aws.com", UNBOUND),
        ),
        ([make_claim(), make_class(provisioner="kubernetes.io/azure-file")], None),
    ],
)
def test_which_volume_a_claim_counts_as(told: list[Any], volume: CSIVolume | None) -> None:
    assert resolve_claim(objects(*told), KEY).volume == volume


def test_it_follows_claim_volume_and_class() -> None:
    known, changes = ClusterObjects(), list[tuple[str, CSIVolume | None, CSIVolume | None]]()
    claims = ResolvedClaims(known, lambda *change: changes.append(change))
    to_be, volume = CSIVolume("d", UNBOUND), CSIVolume("d", "h")
    assert claims.hold(KEY) is None
    tell(known, make_class(provisioner="d"))
    tell(known, make_claim())
    assert claims.hold(KEY) == to_be
    tell(known, make_claim(volume="pv"))
    tell(known, make_volume(csi=csi("h", "d")))
    tell(known, make_volume(csi=csi("h", "d"), phase="Bound"))
    known[KINDS[type(BOUND)]].delete(KEY)
    assert changes == [(KEY, None, to_be), (KEY, to_be, volume), (KEY, volume, None)]


def test_a_class_that_comes_later() -> None:
    known, changes = objects(make_claim()), list[tuple[str, CSIVolume | None, CSIVolume | None]]()
    claims = ResolvedClaims(known, lambda *change: changes.append(change))
    claims.hold(KEY)
    tell(known, make_class("other", provisioner="d"), make_class(provisioner="d"))
    assert changes == [(KEY, None, CSIVolume("d", UNBOUND))]


def test_claims_that_nobody_uses_are_forgotten() -> None:
    known, changes = objects(BOUND, make_volume()), list[object]()
    claims = ResolvedClaims(known, lambda *change: changes.append(change))
    tell(known, make_claim("second", volume="pv"))
    claims.hold(KEY)
    claims.hold("default/second")
    claims.release(KEY)
    tell(known, make_volume(csi=csi("h", "d")))
    assert changes == [("default/second", None, CSIVolume("d", "h"))]
    claims.release("default/second")
    tell(known, make_volume(), make_claim("second"))
    assert len(changes) == 1
