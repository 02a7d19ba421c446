"""In-tree volumes as the CSI drivers see them that have taken over: driver, handle, topology.

Source: staging/src/k8s.io/csi-translation-lib (translate.go, plugins/*.go) and
pkg/scheduler/framework/plugins/nodevolumelimits/utils.go, v1.36.3. Left out: Azure Files,
which no scheduler plugin migrates.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from scheduler_svc.core.objects import Requirement
from scheduler_svc.core.storage_objects import PersistentVolume
from scheduler_svc.core.volume_objects import Volume
from scheduler_svc.core.volumes.node_rows import Conjunction

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
ZONE_DELIMITER: Final = "__"

AWS: Final = "kubernetes.io/aws-ebs"
GCE: Final = "kubernetes.io/gce-pd"
AZURE_DISK: Final = "kubernetes.io/azure-disk"
CINDER: Final = "kubernetes.io/cinder"
PORTWORX: Final = "kubernetes.io/portworx-volume"

DRIVERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        AWS: "ebs.csi.aws.com",
        GCE: "pd.csi.storage.gke.io",
        AZURE_DISK: "disk.csi.azure.com",
        CINDER: "cinder.csi.openstack.org",
        PORTWORX: "pxd.portworx.com",
    }
)
"""The CSI drivers, by the name of the in-tree plugin they have replaced."""

NOT_MIGRATED: Final = frozenset({"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"})
"""Plugins that could be migrated, but whose volumes the scheduler does not take for CSI's."""

_TOPOLOGY_KEYS: Final = MappingProxyType(
    {
        AWS: "topology.ebs.csi.aws.com/zone",
        GCE: "topology.gke.io/zone",
        CINDER: "topology.cinder.csi.openstack.org/zone",
    }
)
_AWS_VOLUME: Final = re.compile(r"vol-[^/]*")
_AWS_SCHEME: Final = "aws://"


class CSIVolume(msgspec.Struct, frozen=True, gc=False):
    """A volume as it is counted: its driver, and its handle there."""

    driver: str
    handle: str


class Untranslatable(msgspec.Struct, frozen=True, gc=False):
    """An in-tree volume that its CSI driver could not make sense of; the text is upstream's."""

    reason: str


def in_tree_plugin(volume: PersistentVolume) -> str | None:
    """Name the migrated in-tree plugin of a volume; None for any other volume."""
    spec = volume.spec
    sources = (
        (AWS, spec.aws_elastic_block_store),
        (GCE, spec.gce_persistent_disk),
        (AZURE_DISK, spec.azure_disk),
        (CINDER, spec.cinder),
        (PORTWORX, spec.portworx_volume),
    )
    return next((plugin for plugin, source in sources if source is not None), None)


def csi_volume(volume: PersistentVolume) -> CSIVolume | Untranslatable | None:
    """Give a volume as CSI drivers see it; None for one that none serves."""
    spec = volume.spec
    if spec.csi is not None:
        return CSIVolume(spec.csi.driver, spec.csi.volume_handle)
    if spec.aws_elastic_block_store is not None:
        return _aws_volume(spec.aws_elastic_block_store.volume_id)
    if spec.gce_persistent_disk is not None:
        return _gce_volume(spec.gce_persistent_disk.pd_name, _gce_zones(volume))
    if spec.azure_disk is not None:
        return _azure_volume(spec.azure_disk.disk_uri, spec.azure_disk.kind)
    if spec.cinder is not None:
        return CSIVolume(DRIVERS[CINDER], spec.cinder.volume_id)
    if spec.portworx_volume is not None:
        return CSIVolume(DRIVERS[PORTWORX], spec.portworx_volume.volume_id)
    return None


def inline_csi_volume(volume: Volume) -> CSIVolume | Untranslatable | None:
    """Give a volume written into a Pod as a CSI driver sees it; None for others."""
    if volume.aws_elastic_block_store is not None:
        return _aws_volume(volume.aws_elastic_block_store.volume_id)
    if volume.gce_persistent_disk is not None:
        return _gce_volume(volume.gce_persistent_disk.pd_name, [""])
    if volume.azure_disk is not None:
        return _azure_volume(volume.azure_disk.disk_uri, volume.azure_disk.kind)
    if volume.cinder is not None:
        return CSIVolume(DRIVERS[CINDER], volume.cinder.volume_id)
    if volume.portworx_volume is not None:
        return CSIVolume(DRIVERS[PORTWORX], volume.portworx_volume.volume_id)
    return None


def migrated_terms(
    volume: PersistentVolume, plugin: str, terms: Sequence[Conjunction] | None
) -> Sequence[Conjunction] | None:
    """Give the Nodes that reach a migrated volume, by the labels its CSI driver uses.

    `terms` are those of its node affinity, None for none. Zones that only its labels name
    become a demand; beta labels of regions become today's.
    """
    key = _TOPOLOGY_KEYS.get(plugin)
    if key is None:
        return terms
    labels = volume.metadata.labels or {}
    zone_label, region_label = _topology_labels(labels, terms)
    if any(r.key == zone_label and r.values for term in terms or () for r in term):
        terms = _renamed(terms, zone_label, key)
    elif zone_label in labels:
        zones = {z.strip() for z in labels[zone_label].split(ZONE_DELIMITER)} - {""}
        if zones:
            added = Requirement(key, "In", tuple(sorted(zones)))
            terms = [(*term, added) for term in terms or [()]]
    if region_label == BETA_REGION:
        terms = _renamed(terms, BETA_REGION, REGION)
    return terms


def _renamed(
    terms: Sequence[Conjunction] | None, old: str, new: str
) -> Sequence[Conjunction] | None:
    if terms is None:
        return None
    return [
        tuple(Requirement(new, r.operator, r.values) if r.key == old else r for r in term)
        for term in terms
    ]


def _topology_labels(
    labels: Mapping[str, str], terms: Sequence[Conjunction] | None
) -> tuple[str, str]:
    """Give the labels of zone and region that a volume uses: today's or beta."""
    demanded = {r.key for term in terms or () for r in term}
    for names in (demanded, labels):
        if ZONE in names:
            return ZONE, REGION
        if BETA_ZONE in names:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _aws_volume(volume_id: str) -> CSIVolume | Untranslatable:
    handle = volume_id
    if volume_id.startswith(_AWS_SCHEME):
        # aws://zone/id or aws:///id
        handle = volume_id.removeprefix(_AWS_SCHEME).partition("/")[2].strip("/")
        if _AWS_VOLUME.fullmatch(handle) is None:
            return Untranslatable(
                "failed to translate Kubernetes ID to EBS Volume ID "
                f"Invalid format for AWS volume ({volume_id})"
            )
    return CSIVolume(DRIVERS[AWS], handle)


def _gce_zones(volume: PersistentVolume) -> list[str]:
    labels = volume.metadata.labels or {}
    return (labels.get(BETA_ZONE) or labels.get(ZONE) or "").split(ZONE_DELIMITER)


def _gce_volume(disk: str, zones: list[str]) -> CSIVolume | Untranslatable:
    place = f"zones/{zones[0] or 'UNSPECIFIED'}"
    if len(zones) > 1:
        regions = {tuple(zone.split("-")[:2]) for zone in zones}
        odd = next((zone for zone in zones if zone.count("-") != 2), None)
        if odd is not None:
            return Untranslatable(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {odd}"
            )
        if len(regions) > 1:
            listed = " ".join(f"{'-'.join(region)}:{{}}" for region in sorted(regions))
            return Untranslatable(
                "failed to get region from zones: multiple or no regions gotten from zones, "
                f"got: map[{listed}]"
            )
        place = f"regions/{'-'.join(regions.pop())}"
    return CSIVolume(DRIVERS[GCE], f"projects/UNSPECIFIED/{place}/disks/{disk}")


def _azure_volume(disk_uri: str, kind: str | None) -> CSIVolume | Untranslatable:
    if kind is not None and kind.lower() != "managed":
        return Untranslatable(f"kind({kind}) is not supported in csi migration")
    return CSIVolume(DRIVERS[AZURE_DISK], disk_uri)
