"""Storage objects: what the fields mean, and that objects are themselves only."""

from typing import Any

import msgspec
import pytest

from scheduler_svc.core.storage_objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tests.storage import make_capacity, make_claim, make_class, make_csi_node, make_volume, meta

GIB = 2**30 * 10**9
BETA_CLASS = {"volume.beta.kubernetes.io/storage-class": "old"}


def decode(kind: type[Any], **fields: Any) -> Any:
    body = {"metadata": {"name": "x", "namespace": "ns"}, **fields}
    return msgspec.json.decode(msgspec.json.encode(body), type=kind)


def test_equal_fields_do_not_make_one_object() -> None:
    assert make_volume() != make_volume()
    assert len({make_claim(), make_claim()}) == 2


def test_a_volume_as_the_api_server_tells_it() -> None:
    volume = decode(
        PersistentVolume,
        spec={
            "capacity": {"storage": "5Gi"},
            "storageClassName": "fast",
            "claimRef": {"namespace": "ns", "name": "c", "uid": "u"},
            "awsElasticBlockStore": {"volumeID": "vol-1"},
            "azureDisk": {"diskURI": "/disk", "diskName": "d"},
        },
        status={"phase": "Bound"},
    )
    assert (volume.name, volume.storage_class, volume.mode) == ("x", "fast", "Filesystem")
    assert volume.nano_bytes == 5 * GIB
    assert volume.spec.aws_elastic_block_store.volume_id == "vol-1"
    assert volume.spec.azure_disk.disk_uri == "/disk"
    assert volume.status.phase == "Bound"


def test_sizes_that_are_not_given() -> None:
    assert make_volume(size=None).nano_bytes == 0
    assert (make_claim(size=None).nano_bytes, make_claim(size=None).has_size) == (0, False)
    no_storage = decode(PersistentVolumeClaim, spec={"resources": {"requests": {}}})
    assert not no_storage.has_size
    assert (make_claim(size="2Gi").nano_bytes, make_claim(size="2Gi").has_size) == (2 * GIB, True)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (PersistentVolume, {"spec": {"capacity": {"storage": "5Gx"}}}),
        (PersistentVolumeClaim, {"spec": {"resources": {"requests": {"storage": "much"}}}}),
        (CSIStorageCapacity, {"capacity": "1Q"}),
    ],
)
def test_an_unreadable_size_is_refused_when_it_comes(
    kind: type[Any], fields: dict[str, Any]
) -> None:
    with pytest.raises(msgspec.ValidationError, match="is no quantity"):
        decode(kind, **fields)


def test_the_beta_annotation_of_the_class_comes_first() -> None:
    assert make_volume(annotations=BETA_CLASS).storage_class == "old"
    assert make_claim(annotations=BETA_CLASS).storage_class == "old"
    assert make_claim(storage_class=None).storage_class == ""


def test_modes() -> None:
    assert make_volume(volume_mode="Block").mode == "Block"
    assert make_volume(volume_mode="").mode == make_claim(volume_mode="").mode == ""
    assert (make_claim().mode, make_claim(volume_mode="Block").mode) == ("Filesystem", "Block")


@pytest.mark.parametrize(
    ("reference", "is_kept"),
    [
        (None, False),
        ({"namespace": "default", "name": "data", "uid": "uid-data"}, True),
        ({"namespace": "default", "name": "data"}, True),
        ({"namespace": "default", "name": "data", "uid": "another"}, False),
        ({"namespace": "other", "name": "data"}, False),
        ({"namespace": "default", "name": "other"}, False),
    ],
)
def test_whom_a_volume_is_kept_for(reference: dict[str, str] | None, is_kept: bool) -> None:
    spec = {} if reference is None else {"claimRef": reference}
    assert decode(PersistentVolume, spec=spec).is_kept_for(make_claim("data")) is is_kept


def test_a_claim_is_bound_once_both_sides_know() -> None:
    assert make_claim(volume="pv").is_fully_bound
    assert not make_claim(volume="pv", is_bound=False).is_fully_bound
    assert not make_claim(is_bound=True).is_fully_bound
    assert make_claim().key == "default/data"


def test_the_selected_node() -> None:
    assert make_claim().selected_node is None
    assert make_claim(selected_node="n1").selected_node == "n1"
    assert meta("x").annotation("any") is None


@pytest.mark.parametrize(
    ("provisioner", "provisions"),
    [("csi.example.com", True), ("kubernetes.io/no-provisioner", False), ("", False)],
)
def test_who_makes_volumes(provisioner: str, provisions: bool) -> None:
    assert make_class(provisioner=provisioner).has_provisioner is provisions


def test_a_class_as_the_api_server_tells_it() -> None:
    terms = [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]
    found = decode(
        StorageClass, provisioner="p", volumeBindingMode="Immediate", allowedTopologies=terms
    )
    assert found.volume_binding_mode == "Immediate"
    assert found.allowed_topologies[0].match_label_expressions[0].values == ("a", "b")


def test_csi_nodes() -> None:
    limited = decode(
        CSINode,
        spec={"drivers": [{"name": "a", "allocatable": {"count": 3}}, {"name": "b"}]},
    )
    assert [driver.limit for driver in limited.spec.drivers] == [3, None]
    assert limited.migrated_plugins == frozenset()
    assert make_csi_node("n", migrated="").migrated_plugins == frozenset()
    assert make_csi_node("n", migrated="a,b").migrated_plugins == {"a", "b"}


def test_csi_drivers() -> None:
    assert decode(CSIDriver, spec={"storageCapacity": True}).tells_capacity
    assert not decode(CSIDriver, spec={}).tells_capacity


def test_the_largest_volume_counts_before_the_room() -> None:
    assert make_capacity().limit_nano_bytes is None
    assert make_capacity(capacity="4Gi").limit_nano_bytes == 4 * GIB
    assert make_capacity(capacity="4Gi", largest="1Gi").limit_nano_bytes == GIB


def test_attachments() -> None:
    found = decode(
        VolumeAttachment,
        spec={"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "pv"}},
    )
    assert found.spec.source.persistent_volume_name == "pv"
