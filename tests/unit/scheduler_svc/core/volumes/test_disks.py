"""Disks that Pods name themselves: who disturbs whom."""

import pytest

from scheduler_svc.core.volume_objects import (
    AWSElasticBlockStoreVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    RBDVolumeSource,
    Volume,
)
from scheduler_svc.core.volumes.disks import DisksInUse, disks_of, disturb
from tests.storage import claiming, pod_with


def gce(name: str, *, read_only: bool = False) -> Volume:
    return Volume(gce_persistent_disk=GCEPersistentDiskVolumeSource(name, read_only))


def aws(name: str, *, read_only: bool = False) -> Volume:
    return Volume(aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(name, read_only))


def iscsi(name: str, *, read_only: bool = False) -> Volume:
    return Volume(iscsi=ISCSIVolumeSource(name, read_only))


def rbd(*monitors: str, image: str = "i", pool: str = "rbd", read_only: bool = False) -> Volume:
    return Volume(rbd=RBDVolumeSource(monitors, image, pool, read_only))


CONFLICTS = [
    (gce("d"), gce("d"), True),
    (gce("d"), gce("d", read_only=True), True),
    (gce("d", read_only=True), gce("d", read_only=True), False),
    (gce("d"), gce("e"), False),
    (aws("d", read_only=True), aws("d", read_only=True), True),
    (aws("d"), aws("e"), False),
    (iscsi("d"), iscsi("d"), True),
    (iscsi("d", read_only=True), iscsi("d", read_only=True), False),
    (iscsi("d"), gce("d"), False),
    (rbd("m1", "m2"), rbd("m2", "m3"), True),
    (rbd("m1"), rbd("m2"), False),
    (rbd("m1"), rbd("m1", image="j"), False),
    (rbd("m1"), rbd("m1", pool="other"), False),
    # The API server fills in the pool where it is left out; whoever reads does not.
    (rbd("m1"), Volume(rbd=RBDVolumeSource(("m1",), "i")), False),
    (rbd("m1", read_only=True), rbd("m1", read_only=True), False),
    (rbd(), rbd(), False),
    (claiming("c")[0], claiming("c")[0], False),
]


@pytest.mark.parametrize(("mine", "theirs", "conflict"), CONFLICTS)
def test_two_pods_on_one_node(mine: Volume, theirs: Volume, conflict: bool) -> None:
    pod, other = pod_with(mine), pod_with(theirs, name="o", node="n")
    assert disturb(pod, other) is conflict
    assert disturb(other, pod) is conflict
    in_use = DisksInUse()
    in_use.count(other, 3, 1)
    assert set(in_use.rows_disturbing(disks_of(pod))) == ({3} if conflict else set())
    in_use.count(other, 3, -1)
    assert in_use.rows_disturbing(disks_of(pod)) == []
    assert in_use.held() == {}


def test_a_disk_is_in_use_until_the_last_pod_has_left() -> None:
    in_use = DisksInUse()
    reader = pod_with(gce("d", read_only=True))
    in_use.count(reader, 0, 1)
    in_use.count(reader, 0, 1)
    in_use.count(reader, 4, 1)
    assert in_use.held() == {(("gce", "d"), True): {0: 2, 4: 1}}
    in_use.count(reader, 0, -1)
    assert sorted(in_use.rows_disturbing(disks_of(pod_with(gce("d"))))) == [0, 4]
