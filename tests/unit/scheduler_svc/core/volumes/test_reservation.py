"""Volumes set aside for a Pod: assumed, written, awaited."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.status import Code, Status
from scheduler_svc.core.storage_objects import (
    BIND_COMPLETED,
    SELECTED_NODE,
    ClaimReference,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageMeta,
    VolumeIDSource,
)
from scheduler_svc.core.volumes.migration import AWS, ZONE
from scheduler_svc.core.volumes.pod_volumes import NodeDecision, StaticBinding
from scheduler_svc.core.volumes.reservation import Reservation
from scheduler_svc.core.volumes.writes import KeepVolume, ObjectVersion, SelectNode, VolumeWrites
from tests.builders import make_node_info, term, where
from tests.storage import (
    HOSTNAME,
    make_claim,
    make_csi_node,
    make_storage_cluster,
    make_volume,
    tell,
    untell,
)

NODE = make_node_info("a", labels={HOSTNAME: "a"})
DONE = Status(Code.SUCCESS)
WAIT = Status(Code.WAIT)


def error(text: str) -> Status:
    return Status(Code.ERROR, (f"binding volumes: {text}",))


class Rig:
    """A cluster in which one volume is kept for claim x, and one is made for claim y."""

    def __init__(
        self,
        volume: PersistentVolume | None = None,
        to_make: PersistentVolumeClaim | None = None,
        *,
        assume: bool = True,
    ) -> None:
        self.volume = volume or make_volume("disk", on="a")
        self.to_bind = make_claim("x")
        self.to_make = to_make or make_claim("y", storage_class="made")
        self.cluster: Cluster = make_storage_cluster(
            [NODE], [self.volume, self.to_bind, self.to_make]
        )
        self.volumes = self.cluster.volumes
        self.reservation = self.reserve()
        if assume:
            self.reservation.assume()

    def reserve(self) -> Reservation:
        decision = NodeDecision((StaticBinding(self.to_bind, self.volume),), (self.to_make,))
        return Reservation(self.volumes, "a", decision)

    def progress(self, node: NodeInfo | None = NODE) -> Status:
        return self.reservation.progress(node)


class ToBind(Rig):
    """Only the volume that is there."""

    def reserve(self) -> Reservation:
        return Reservation(
            self.volumes, "a", NodeDecision((StaticBinding(self.to_bind, self.volume),))
        )


class ToMake(Rig):
    """Only the volume to be made."""

    def reserve(self) -> Reservation:
        return Reservation(self.volumes, "a", NodeDecision((), (self.to_make,)))


def test_others_see_what_is_going_to_be() -> None:
    rig = Rig()
    kept = rig.volumes.persistent_volumes.get("disk")
    selected = rig.volumes.claim("default", "y")
    assert kept is not None
    assert selected is not None
    assert kept.spec.claim_ref == ClaimReference("default", "x", "uid-x")
    assert kept.metadata.annotations == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert selected.selected_node == "a"
    rig.reservation.revert()
    assert rig.volumes.persistent_volumes.get("disk") is rig.volume
    assert rig.volumes.claim("default", "y") is rig.to_make


def test_what_is_written() -> None:
    rig = Rig()
    volume, x, y = (
        ObjectVersion(namespace, name, f"uid-{name}", "")
        for namespace, name in (("", "disk"), ("default", "x"), ("default", "y"))
    )
    assert rig.reservation.writes() == VolumeWrites(
        (KeepVolume(volume, x, by_controller=True),), (SelectNode(y, "a"),)
    )


def test_a_volume_that_its_user_keeps_for_the_claim_gets_the_uid_only() -> None:
    wished = ClaimReference("default", "x")
    rig = Rig(make_volume("disk", claim_ref=wished))
    [keep] = rig.reservation.writes().keep
    assert not keep.by_controller
    kept = rig.volumes.persistent_volumes.get("disk")
    assert kept is not None
    assert kept.metadata.annotations is None
    assert kept.spec.claim_ref == ClaimReference("default", "x", "uid-x")


def test_what_is_so_already_is_not_written() -> None:
    chosen = make_claim("y", storage_class="made", selected_node="a")
    rig = Rig(make_volume("disk", claim="x"), chosen)
    assert rig.reservation.writes() == VolumeWrites()
    assert len(rig.volumes.claims) == 0
    rig.reservation.revert()


def seen(rig: Rig) -> None:
    """Have the API server tell of what was written."""
    tell(
        rig.cluster,
        make_volume("disk", on="a", claim="x"),
        make_claim("y", storage_class="made", selected_node="a"),
    )


def bound(rig: Rig) -> None:
    """Have the API server tell that the claims are bound."""
    annotations = {SELECTED_NODE: "a", BIND_COMPLETED: "yes"}
    tell(
        rig.cluster,
        make_claim("x", volume="disk"),
        make_claim("y", volume="made", annotations=annotations),
        make_volume("made", on="a"),
    )


VOLUME, CLAIM = ObjectKind.PERSISTENT_VOLUME, ObjectKind.PERSISTENT_VOLUME_CLAIM


def test_the_objects_that_are_awaited() -> None:
    rig = Rig()
    first = {(VOLUME, "disk"), (CLAIM, "default/x"), (CLAIM, "default/y")}
    assert rig.reservation.awaited() == first
    bound(rig)
    assert rig.reservation.awaited() == {*first, (VOLUME, "made")}
    untell(rig.cluster, make_claim("y"))
    assert rig.reservation.awaited() == first


def test_success_once_every_claim_has_its_volume() -> None:
    rig = Rig()
    assert rig.progress() == WAIT
    seen(rig)
    assert rig.progress() == WAIT
    bound(rig)
    assert rig.progress() == DONE


def test_a_claim_may_be_told_of_before_its_volume() -> None:
    rig = ToMake()
    tell(rig.cluster, make_claim("y", selected_node="a"))
    assert rig.progress() == WAIT
    annotations = {SELECTED_NODE: "a", BIND_COMPLETED: "yes"}
    tell(rig.cluster, make_claim("y", volume="made", annotations=annotations))
    assert rig.progress() == WAIT
    tell(rig.cluster, make_volume("made"))
    assert rig.progress() == DONE


Change = Callable[[Rig], None]


def lose_volume(rig: Rig) -> None:
    untell(rig.cluster, make_volume("disk"))


def lose_claim(rig: Rig) -> None:
    untell(rig.cluster, make_claim("x"))


def reset_reference(rig: Rig) -> None:
    tell(rig.cluster, make_volume("disk", on="a"))


def keep_without_uid(rig: Rig) -> None:
    tell(rig.cluster, make_volume("disk", on="a", claim_ref=ClaimReference("default", "x")))


def move_volume(rig: Rig) -> None:
    tell(rig.cluster, make_volume("disk", on="b", claim="x"))


def replace_claim(rig: Rig) -> None:
    other = make_claim("x")
    tell(rig.cluster, msgspec.structs.replace(other, metadata=another(other.metadata)))


def keep_for_another(rig: Rig) -> None:
    tell(rig.cluster, make_volume("disk", on="a", claim="z"))


def another(metadata: StorageMeta) -> StorageMeta:
    return msgspec.structs.replace(metadata, uid="uid-another")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (replace_claim, 'failed to check binding: persistentvolumeclaims "default/x" not found'),
        (keep_for_another, 'pv "disk" is kept for another claim'),
        (lose_volume, 'failed to check binding: persistentvolumes "disk" not found'),
        (lose_claim, 'failed to check binding: persistentvolumeclaims "default/x" not found'),
        (reset_reference, 'ClaimRef got reset for pv "disk"'),
        (keep_without_uid, 'ClaimRef got reset for pv "disk"'),
        (
            move_volume,
            'pv "disk" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
        ),
    ],
)
def test_what_goes_wrong_with_a_volume_that_is_there(change: Change, text: str) -> None:
    rig = ToBind()
    change(rig)
    assert rig.progress() == error(text)


def lose_claim_to_make(rig: Rig) -> None:
    untell(rig.cluster, make_claim("y"))


def refuse(rig: Rig) -> None:
    tell(rig.cluster, make_claim("y", annotations={"other": "note"}))


def forget_annotations(rig: Rig) -> None:
    tell(rig.cluster, make_claim("y"))


def replace_claim_to_make(rig: Rig) -> None:
    other = make_claim("y", selected_node="a")
    tell(rig.cluster, msgspec.structs.replace(other, metadata=another(other.metadata)))


def make_elsewhere(rig: Rig) -> None:
    annotations = {SELECTED_NODE: "a", BIND_COMPLETED: "yes"}
    tell(rig.cluster, make_claim("y", volume="made", annotations=annotations))
    tell(rig.cluster, make_volume("made", on="b"))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lose_claim_to_make,
            'failed to check provisioning pvc: persistentvolumeclaims "default/y" not found',
        ),
        (refuse, 'provisioning failed for PVC "y"'),
        (
            replace_claim_to_make,
            'failed to check provisioning pvc: persistentvolumeclaims "default/y" not found',
        ),
        (forget_annotations, 'selectedNode annotation reset for PVC "y"'),
        (
            make_elsewhere,
            'pv "made" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
        ),
    ],
)
def test_what_goes_wrong_with_a_volume_to_be_made(change: Change, text: str) -> None:
    rig = ToMake()
    change(rig)
    assert rig.progress() == error(text)


def test_a_node_that_is_gone() -> None:
    assert Rig().progress(None) == error('failed to get node "a": node "a" not found')


def test_a_volume_that_another_pod_keeps_for_the_claim_is_waited_for() -> None:
    first = ToBind()
    first.volume = first.volumes.persistent_volumes.get("disk") or first.volume
    second = first.reserve()
    second.assume()
    assert second.writes() == VolumeWrites()
    assert second.progress(NODE) == WAIT
    # The other Pod gives it back: nobody will write it.
    first.reservation.revert()
    assert second.progress(NODE) == error('ClaimRef got reset for pv "disk"')


def migrated(volume_id: str, **fields: Any) -> PersistentVolume:
    source = VolumeIDSource(volume_id)
    return make_volume(
        "disk", claim="x", aws_elastic_block_store=source, on=term(where(ZONE, "In", "1")), **fields
    )


def test_migrated_volumes_are_reached_by_the_drivers_labels() -> None:
    rig = ToBind(migrated("vol-1"))
    node = make_node_info("a", labels={ZONE: "1"})
    tell(rig.cluster, make_claim("x", volume="disk"))
    assert rig.progress(node) == DONE
    tell(rig.cluster, make_csi_node("a", migrated=AWS))
    assert rig.progress(node).code is Code.ERROR
    by_driver = make_node_info("a", labels={"topology.ebs.csi.aws.com/zone": "1"})
    assert rig.progress(by_driver) == DONE


def test_migrated_volumes_that_make_no_sense() -> None:
    rig = ToBind(migrated("aws://a/x"))
    tell(rig.cluster, make_claim("x", volume="disk"), make_csi_node("a", migrated=AWS))
    [text] = rig.progress().reasons
    assert text.startswith("binding volumes: failed to translate pv to csi: could not translate pv")
