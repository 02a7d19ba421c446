"""Which Nodes reach a volume."""

import pytest

from scheduler_svc.core.objects import NodeSelector, NodeSelectorTerm
from scheduler_svc.core.storage_objects import (
    GCEDiskSource,
    PersistentVolume,
    VolumeIDSource,
    VolumeNodeAffinity,
)
from scheduler_svc.core.volumes.migration import AWS, GCE, ZONE
from scheduler_svc.core.volumes.reach import reach_of
from tests.builders import term, where
from tests.storage import make_volume

LABELS = {"zone": "1", "size": "5"}


@pytest.mark.parametrize(
    ("on", "reached"),
    [
        (None, True),
        (term(where("zone", "In", "1")), True),
        (term(where("zone", "In", "2")), False),
        (term(where("zone", "In", "1"), where("disk", "Exists")), False),
        (term(where("size", "Gt", "4")), True),
        (term(where("size", "Lt", "4")), False),
        # Fields are not looked at, as long as they are valid.
        (term(fields=[where("metadata.name", "In", "other")]), True),
        (term(where("zone", "In", "2"), fields=[where("metadata.name", "In", "a")]), False),
        (term(where("zone", "In", "1"), fields=[where("metadata.name", "In", "a", "b")]), False),
        (term(fields=[where("metadata.name", "Exists")]), False),
        # Invalid or empty terms match nothing.
        (term(), False),
        (term(where("zone", "In")), False),
        (term(where("other", "NotIn")), False),
        (term(where("zone", "Exists", "1")), False),
        (term(where("other", "DoesNotExist")), True),
        (term(where("size", "Gt", "x")), False),
        (term(where("size", "Gt", "1", "2")), False),
        (term(where("zone", "Like", "1")), False),
    ],
)
def test_node_affinity(on: NodeSelectorTerm | None, reached: bool) -> None:
    assert reach_of(make_volume(on=on)).own.includes(LABELS) is reached


def test_one_term_is_enough() -> None:
    volume = make_volume(on=term(where("zone", "In", "2")))
    assert volume.spec.node_affinity is not None
    spec = VolumeNodeAffinity(
        NodeSelector((term(where("zone", "In", "2")), term(where("zone", "In", "1"))))
    )
    either = make_either(spec)
    assert reach_of(either).own.includes(LABELS)
    assert not reach_of(make_either(VolumeNodeAffinity(NodeSelector(())))).own.includes(LABELS)
    assert reach_of(make_either(VolumeNodeAffinity())).own.includes({})


def make_either(affinity: VolumeNodeAffinity) -> PersistentVolume:
    return make_volume(node_affinity=affinity)


def test_it_is_computed_once_for_each_version() -> None:
    volume = make_volume(on="n1")
    assert reach_of(volume) is reach_of(volume)
    assert reach_of(volume) is not reach_of(make_volume(on="n1"))


def test_migrated_volumes_are_reached_by_the_drivers_labels() -> None:
    disk = VolumeIDSource("vol-1")
    volume = make_volume(on=term(where(ZONE, "In", "a")), aws_elastic_block_store=disk)
    reach = reach_of(volume)
    assert reach.plugin == AWS
    assert reach.own.includes({ZONE: "a"})
    assert reach.migrated is not None
    assert not reach.migrated.includes({ZONE: "a"})
    assert reach.migrated.includes({"topology.ebs.csi.aws.com/zone": "a"})
    assert reach.error == ""


def test_what_the_driver_cannot_make_sense_of() -> None:
    volume = make_volume(labels={ZONE: "a__b"}, gce_persistent_disk=GCEDiskSource("d"))
    reach = reach_of(volume)
    assert (reach.plugin, reach.migrated) == (GCE, None)
    assert reach.error.startswith("could not translate pv: failed to get region from zones")
    assert reach.own.includes({})
