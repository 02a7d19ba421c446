"""The volumes of a Pod, as far as scheduling cares which Node they can be on."""

import msgspec


class _Source(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Base of the sources: camelCase on the wire, unknown fields skipped."""


class ImageVolumeSource(_Source, frozen=True):
    """A volume whose content is an image."""

    reference: str = ""


class PersistentVolumeClaimVolumeSource(_Source, frozen=True):
    """A claim of the Pod's namespace."""

    claim_name: str
    read_only: bool = False


class EphemeralVolumeSource(_Source, frozen=True):
    """A claim that a controller makes for this Pod alone, named after Pod and volume."""


class GCEPersistentDiskVolumeSource(_Source, frozen=True):
    """A disk that may be mounted by several Nodes only read-only."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(_Source, frozen=True):
    """A disk of one Node."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class ISCSIVolumeSource(_Source, frozen=True):
    """A target, shared only read-only."""

    iqn: str = ""
    read_only: bool = False


class RBDVolumeSource(_Source, frozen=True):
    """A Ceph image, shared only read-only."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class AzureDiskVolumeSource(_Source, frozen=True):
    """A disk of Azure; `kind` is Managed if it is not given."""

    disk_uri: str = msgspec.field(default="", name="diskURI")
    kind: str | None = None


class VolumeIDSource(_Source, frozen=True):
    """A volume of Cinder or Portworx."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class CSIVolumeSource(_Source, frozen=True):
    """An inline volume of a CSI driver."""

    driver: str


class Volume(_Source, frozen=True):
    """A volume; other sources than these never keep a Pod from a Node."""

    name: str = ""
    image: ImageVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    cinder: VolumeIDSource | None = None
    portworx_volume: VolumeIDSource | None = None
    csi: CSIVolumeSource | None = None

    @property
    def is_tied(self) -> bool:
        """Whether the volume may keep the Pod from some Nodes."""
        return self.image is None and any(
            source is not None
            for source in (
                self.persistent_volume_claim,
                self.ephemeral,
                self.gce_persistent_disk,
                self.aws_elastic_block_store,
                self.iscsi,
                self.rbd,
                self.azure_disk,
                self.cinder,
                self.portworx_volume,
                self.csi,
            )
        )
