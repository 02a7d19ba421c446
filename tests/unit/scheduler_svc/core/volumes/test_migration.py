"""In-tree volumes as CSI drivers see them."""

from typing import Any

import pytest

from scheduler_svc.core.objects import Requirement
from scheduler_svc.core.storage_objects import AzureDiskSource, GCEDiskSource, VolumeIDSource
from scheduler_svc.core.volume_objects import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    Volume,
)
from scheduler_svc.core.volume_objects import VolumeIDSource as InlineVolumeIDSource
from scheduler_svc.core.volumes.migration import (
    AWS,
    AZURE_DISK,
    BETA_REGION,
    BETA_ZONE,
    CINDER,
    GCE,
    PORTWORX,
    REGION,
    ZONE,
    CSIVolume,
    Untranslatable,
    csi_volume,
    in_tree_plugin,
    inline_csi_volume,
    migrated_terms,
)
from tests.builders import where
from tests.storage import csi, make_volume

AWS_KEY = "topology.ebs.csi.aws.com/zone"
AWS_ERROR = (
    "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://a/x)"
)


def aws(volume_id: str) -> dict[str, Any]:
    return {"aws_elastic_block_store": VolumeIDSource(volume_id)}


@pytest.mark.parametrize(
    ("source", "plugin", "expected"),
    [
        ({"csi": csi("h", "d")}, None, CSIVolume("d", "h")),
        ({}, None, None),
        (aws("vol-1"), AWS, CSIVolume("ebs.csi.aws.com", "vol-1")),
        (aws("any"), AWS, CSIVolume("ebs.csi.aws.com", "any")),
        (aws("aws://us-1a/vol-1"), AWS, CSIVolume("ebs.csi.aws.com", "vol-1")),
        (aws("aws:///vol-1"), AWS, CSIVolume("ebs.csi.aws.com", "vol-1")),
        (aws("aws://a/x"), AWS, Untranslatable(AWS_ERROR)),
        (
            {"azure_disk": AzureDiskSource("/d")},
            AZURE_DISK,
            CSIVolume("disk.csi.azure.com", "/d"),
        ),
        (
            {"azure_disk": AzureDiskSource("/d", "managed")},
            AZURE_DISK,
            CSIVolume("disk.csi.azure.com", "/d"),
        ),
        (
            {"azure_disk": AzureDiskSource("/d", "Dedicated")},
            AZURE_DISK,
            Untranslatable("kind(Dedicated) is not supported in csi migration"),
        ),
        ({"cinder": VolumeIDSource("v")}, CINDER, CSIVolume("cinder.csi.openstack.org", "v")),
        ({"portworx_volume": VolumeIDSource("v")}, PORTWORX, CSIVolume("pxd.portworx.com", "v")),
    ],
)
def test_volumes(
    source: dict[str, Any], plugin: str | None, expected: CSIVolume | Untranslatable | None
) -> None:
    volume = make_volume(**source)
    assert in_tree_plugin(volume) == plugin
    assert csi_volume(volume) == expected


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ({}, "zones/UNSPECIFIED"),
        ({ZONE: "us-a-1"}, "zones/us-a-1"),
        ({BETA_ZONE: "us-a-1", ZONE: "eu-b-1"}, "zones/us-a-1"),
        ({ZONE: "us-a-1__us-a-2"}, "regions/us-a"),
    ],
)
def test_disks_of_gce_are_named_by_place(labels: dict[str, str], place: str) -> None:
    volume = make_volume(labels=labels, gce_persistent_disk=GCEDiskSource("d"))
    handle = f"projects/UNSPECIFIED/{place}/disks/d"
    assert in_tree_plugin(volume) == GCE
    assert csi_volume(volume) == CSIVolume("pd.csi.storage.gke.io", handle)


@pytest.mark.parametrize(
    ("zones", "error"),
    [
        (
            "us-a-1__us",
            "zone in unexpected format, expected: {locale}-{region}-{zone}, got: us",
        ),
        (
            "us-a-1__eu-b-1",
            "multiple or no regions gotten from zones, got: map[eu-b:{} us-a:{}]",
        ),
    ],
)
def test_zones_of_gce_that_make_no_region(zones: str, error: str) -> None:
    volume = make_volume(labels={ZONE: zones}, gce_persistent_disk=GCEDiskSource("d"))
    assert csi_volume(volume) == Untranslatable(f"failed to get region from zones: {error}")


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        (
            Volume(aws_elastic_block_store=AWSElasticBlockStoreVolumeSource("vol-1")),
            CSIVolume("ebs.csi.aws.com", "vol-1"),
        ),
        (
            Volume(gce_persistent_disk=GCEPersistentDiskVolumeSource("d")),
            CSIVolume("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        ),
        (
            Volume(azure_disk=AzureDiskVolumeSource("/d")),
            CSIVolume("disk.csi.azure.com", "/d"),
        ),
        (Volume(cinder=InlineVolumeIDSource("v")), CSIVolume("cinder.csi.openstack.org", "v")),
        (Volume(portworx_volume=InlineVolumeIDSource("v")), CSIVolume("pxd.portworx.com", "v")),
        (Volume(iscsi=ISCSIVolumeSource("i")), None),
    ],
)
def test_volumes_written_into_pods(volume: Volume, expected: CSIVolume | None) -> None:
    assert inline_csi_volume(volume) == expected


Terms = list[tuple[Requirement, ...]] | None


@pytest.mark.parametrize(
    ("labels", "terms", "expected"),
    [
        ({}, None, None),
        ({}, [(where("k", "Exists"),)], [(where("k", "Exists"),)]),
        ({}, [(where(ZONE, "In", "a"),)], [(where(AWS_KEY, "In", "a"),)]),
        ({}, [(where(BETA_ZONE, "In", "a"),)], [(where(AWS_KEY, "In", "a"),)]),
        ({ZONE: "a"}, None, [(where(AWS_KEY, "In", "a"),)]),
        ({ZONE: "b__a"}, None, [(where(AWS_KEY, "In", "a", "b"),)]),
        ({ZONE: ""}, None, None),
        (
            {BETA_ZONE: "a"},
            [(where("k", "Exists"),)],
            [(where("k", "Exists"), where(AWS_KEY, "In", "a"))],
        ),
        # Zones that the affinity names come before labels.
        ({ZONE: "b"}, [(where(ZONE, "In", "a"),)], [(where(AWS_KEY, "In", "a"),)]),
        (
            {BETA_ZONE: "a"},
            [(where(BETA_REGION, "In", "r"),)],
            [(where(REGION, "In", "r"), where(AWS_KEY, "In", "a"))],
        ),
        ({}, [(where(BETA_REGION, "In", "r"),)], [(where(BETA_REGION, "In", "r"),)]),
        ({BETA_ZONE: ""}, None, None),
    ],
)
def test_topology_of_migrated_volumes(
    labels: dict[str, str], terms: Terms, expected: Terms
) -> None:
    assert migrated_terms(make_volume(labels=labels), AWS, terms) == expected


def test_drivers_without_topology_keep_the_terms() -> None:
    terms = [(where(ZONE, "In", "a"),)]
    assert migrated_terms(make_volume(labels={ZONE: "b"}), AZURE_DISK, terms) is terms
