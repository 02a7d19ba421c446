"""Storage objects as the API server tells them, as far as scheduling reads them.

Two objects are equal only if they are the same: what was read of an object is
remembered by holding on to it.

Source: staging/src/k8s.io/component-helpers/storage/volume/{helpers,pv_helpers}.go, v1.36.3.
"""

from typing import Final

import msgspec

from scheduler_svc.core.affinity_objects import LabelSelector
from scheduler_svc.core.objects import ApiStruct, NodeSelector, ObjectMeta, QuantityText
from scheduler_svc.core.quantity import parse_quantity

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"

_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_STORAGE: Final = "storage"
_FILESYSTEM: Final = "Filesystem"

Amounts = dict[str, QuantityText]


class StorageMeta(ObjectMeta, frozen=True):
    """Identity of a storage object, with its annotations."""

    annotations: dict[str, str] | None = None

    def annotation(self, key: str) -> str | None:
        """Give an annotation, None if it is not there."""
        return None if self.annotations is None else self.annotations.get(key)


class CSISource(ApiStruct, frozen=True):
    """A volume of a CSI driver."""

    driver: str
    volume_handle: str


class GCEDiskSource(ApiStruct, frozen=True):
    """A disk of GCE."""

    pd_name: str = ""


class VolumeIDSource(ApiStruct, frozen=True):
    """A volume of AWS EBS, Cinder or Portworx."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class AzureDiskSource(ApiStruct, frozen=True):
    """A disk of Azure; only the `kind` Managed (the default) can be migrated."""

    disk_uri: str = msgspec.field(default="", name="diskURI")
    kind: str | None = None


class PathSource(ApiStruct, frozen=True):
    """A volume of vSphere."""

    volume_path: str = ""


class VolumeNodeAffinity(ApiStruct, frozen=True):
    """Which Nodes can reach a volume."""

    required: NodeSelector | None = None


class ClaimReference(ApiStruct, frozen=True):
    """The claim that a volume is bound to, or kept for; without `uid`: any of that name."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class PersistentVolumeSpec(ApiStruct, frozen=True):
    """What a volume is; at most one of the sources is given."""

    capacity: Amounts | None = None
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    claim_ref: ClaimReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSISource | None = None
    gce_persistent_disk: GCEDiskSource | None = None
    aws_elastic_block_store: VolumeIDSource | None = None
    azure_disk: AzureDiskSource | None = None
    cinder: VolumeIDSource | None = None
    portworx_volume: VolumeIDSource | None = None
    vsphere_volume: PathSource | None = None


class Phase(ApiStruct, frozen=True):
    """A status: Pending, Available, Bound, Released, Failed or Lost."""

    phase: str = ""


class PersistentVolume(ApiStruct, frozen=True, eq=False, gc=True, weakref=True):
    """A volume that exists."""

    metadata: StorageMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: Phase = Phase()

    def __post_init__(self) -> None:
        parse_quantity(_storage(self.spec.capacity))

    @property
    def name(self) -> str:
        """The volume's name."""
        return self.metadata.name

    @property
    def storage_class(self) -> str:
        """The class, "" for none."""
        beta = self.metadata.annotation(_BETA_CLASS)
        return self.spec.storage_class_name if beta is None else beta

    @property
    def mode(self) -> str:
        """Filesystem or Block."""
        return _FILESYSTEM if self.spec.volume_mode is None else self.spec.volume_mode

    @property
    def nano_bytes(self) -> int:
        """The size, in 10^-9 bytes."""
        return parse_quantity(_storage(self.spec.capacity))

    def is_kept_for(self, claim: "PersistentVolumeClaim") -> bool:
        """Whether the volume is bound to the claim, or waits for it."""
        reference = self.spec.claim_ref
        return (
            reference is not None
            and (reference.namespace, reference.name)
            == (claim.metadata.namespace, claim.metadata.name)
            and reference.uid in ("", claim.metadata.uid)
        )


class ResourceRequests(ApiStruct, frozen=True):
    """What a claim asks for."""

    requests: Amounts | None = None


class PersistentVolumeClaimSpec(ApiStruct, frozen=True):
    """What a claim wants, and the volume it has been given."""

    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    selector: LabelSelector | None = None
    resources: ResourceRequests | None = None


class PersistentVolumeClaim(ApiStruct, frozen=True, eq=False, gc=True, weakref=True):
    """A wish for a volume."""

    metadata: StorageMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: Phase = Phase()

    def __post_init__(self) -> None:
        parse_quantity(self._requested or 0)

    @property
    def key(self) -> str:
        """The claim's name for people: namespace/name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def storage_class(self) -> str:
        """The class, "" for none."""
        beta = self.metadata.annotation(_BETA_CLASS)
        return (self.spec.storage_class_name or "") if beta is None else beta

    @property
    def mode(self) -> str:
        """Filesystem or Block."""
        return _FILESYSTEM if self.spec.volume_mode is None else self.spec.volume_mode

    @property
    def nano_bytes(self) -> int:
        """The size asked for, in 10^-9 bytes; 0 if none is."""
        return parse_quantity(self._requested or 0)

    @property
    def has_size(self) -> bool:
        """Whether a size is asked for."""
        return self._requested is not None

    @property
    def is_fully_bound(self) -> bool:
        """Whether the claim has its volume, and both sides know."""
        return bool(self.spec.volume_name) and self.metadata.annotation(BIND_COMPLETED) is not None

    @property
    def selected_node(self) -> str | None:
        """The Node on which a provisioner is to make the volume."""
        return self.metadata.annotation(SELECTED_NODE)

    @property
    def _requested(self) -> QuantityText | None:
        resources = self.spec.resources
        return None if resources is None else (resources.requests or {}).get(_STORAGE)


class TopologyRequirement(ApiStruct, frozen=True):
    """A label that must have one of the values."""

    key: str
    values: tuple[str, ...] = ()


class TopologyTerm(ApiStruct, frozen=True):
    """Requirements that must all hold; none matches no Node."""

    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(ApiStruct, frozen=True, eq=False, gc=True, weakref=True):
    """How volumes of a class are made, where, and when."""

    metadata: StorageMeta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologyTerm, ...] = ()

    @property
    def has_provisioner(self) -> bool:
        """Whether volumes of the class are made when they are wanted."""
        return self.provisioner not in ("", NO_PROVISIONER)


class VolumeNodeResources(ApiStruct, frozen=True):
    """How many volumes of a driver a Node takes; None: no limit."""

    count: int | None = None


class CSINodeDriver(ApiStruct, frozen=True):
    """A driver that runs on a Node."""

    name: str
    allocatable: VolumeNodeResources | None = None

    @property
    def limit(self) -> int | None:
        """How many of its volumes the Node takes; None: no limit."""
        return None if self.allocatable is None else self.allocatable.count


class CSINodeSpec(ApiStruct, frozen=True):
    """The drivers of a Node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(ApiStruct, frozen=True, eq=False):
    """What CSI drivers say of the Node of the same name."""

    metadata: StorageMeta
    spec: CSINodeSpec = CSINodeSpec()

    @property
    def migrated_plugins(self) -> frozenset[str]:
        """The in-tree plugins whose volumes CSI drivers serve on the Node."""
        text = self.metadata.annotation(MIGRATED_PLUGINS)
        return frozenset(text.split(",")) if text else frozenset()


class CSIDriverSpec(ApiStruct, frozen=True):
    """What a driver wants of its users."""

    storage_capacity: bool | None = None


class CSIDriver(ApiStruct, frozen=True, eq=False):
    """A CSI driver; with `storageCapacity` it tells how much room there is, and where."""

    metadata: StorageMeta
    spec: CSIDriverSpec = CSIDriverSpec()

    @property
    def tells_capacity(self) -> bool:
        """Whether volumes are only made where a CSIStorageCapacity says that there is room."""
        return bool(self.spec.storage_capacity)


class CSIStorageCapacity(ApiStruct, frozen=True, eq=False, gc=True, weakref=True):
    """Room for volumes of a class, on the Nodes that `node_topology` selects."""

    metadata: StorageMeta
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: QuantityText | None = None
    maximum_volume_size: QuantityText | None = None

    def __post_init__(self) -> None:
        for quantity in (self.capacity, self.maximum_volume_size):
            parse_quantity(0 if quantity is None else quantity)

    @property
    def limit_nano_bytes(self) -> int | None:
        """The largest volume there is room for, in 10^-9 bytes; None if unknown."""
        limit = self.capacity if self.maximum_volume_size is None else self.maximum_volume_size
        return None if limit is None else parse_quantity(limit)


class AttachmentSource(ApiStruct, frozen=True):
    """What is attached; None: a volume written into a Pod."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(ApiStruct, frozen=True):
    """Which volume is attached to which Node, and by whom."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachment(ApiStruct, frozen=True, eq=False):
    """A volume that is attached to a Node, or about to be."""

    metadata: StorageMeta
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()


def _storage(amounts: Amounts | None) -> QuantityText:
    return (amounts or {}).get(_STORAGE, 0)
