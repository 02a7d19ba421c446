"""Devices as the API server tells of them: ResourceSlice, DeviceClass and ResourceClaim.

Only what scheduling reads; amounts stay texts. The parts of an allocation are written as well
as read, so that fields with their defaults are left out of what is encoded.

Source: staging/src/k8s.io/api/resource/v1/types.go, v1.36.3.
"""

from typing import Any, Final

import msgspec

from scheduler_svc.core.annotated_objects import AnnotatedMeta
from scheduler_svc.core.objects import (
    ApiStruct,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    QuantityText,
    Requirement,
)

EXACT_COUNT: Final = "ExactCount"
ALL_DEVICES: Final = "All"
EXTENDED_CLAIM_ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
MAX_RESERVATIONS: Final = 256
MAX_DEVICES_OF_CLAIM: Final = 32
MAX_ALTERNATIVES: Final = 8


class CompactStruct(ApiStruct, frozen=True, omit_defaults=True):
    """Base of what is also written: defaults are left out."""


class DeviceAttribute(ApiStruct, frozen=True):
    """One value of one type; none of them is a type that is not known here."""

    int_value: int | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")


class CapacityRange(ApiStruct, frozen=True):
    """What may be consumed: from `min` to `max` in steps."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityPolicy(ApiStruct, frozen=True):
    """How much of a capacity a request may consume, and does if it does not say."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(ApiStruct, frozen=True):
    """An amount that a device has."""

    value: QuantityText
    request_policy: CapacityPolicy | None = None


class Counter(ApiStruct, frozen=True):
    """An amount that devices of a pool share, or that one of them consumes."""

    value: QuantityText


class CounterSet(ApiStruct, frozen=True):
    """Counters that devices of a pool share."""

    name: str
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)


class CounterConsumption(ApiStruct, frozen=True):
    """What a device takes of a counter set while it is allocated."""

    counter_set: str
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)


class DeviceTaint(ApiStruct, frozen=True):
    """A taint of a device; the effects NoSchedule and NoExecute keep requests away."""

    key: str
    effect: str = ""
    value: str = ""


class DeviceToleration(CompactStruct, frozen=True):
    """Of a request: which taints it accepts. An empty `effect` or `key` matches every one."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class Device(ApiStruct, frozen=True):
    """A device of a slice. Which Nodes reach it is said here only if the slice says so."""

    name: str
    attributes: dict[str, DeviceAttribute] = msgspec.field(default_factory=dict)
    capacity: dict[str, DeviceCapacity] = msgspec.field(default_factory=dict)
    consumes_counters: tuple[CounterConsumption, ...] = ()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


class ResourcePool(ApiStruct, frozen=True):
    """Which pool a slice belongs to, and how many slices its newest generation has."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(ApiStruct, frozen=True):
    """Some devices of a pool, or counters that they share, and the Nodes that reach them."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool = False
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(ApiStruct, frozen=True):
    """What a driver publishes."""

    metadata: ObjectMeta
    spec: ResourceSliceSpec = ResourceSliceSpec()


class CelSelector(ApiStruct, frozen=True):
    """An expression that is true for the devices wanted."""

    expression: str = ""


class DeviceSelector(ApiStruct, frozen=True):
    """A condition on devices; without `cel` one of a kind that is not known here."""

    cel: CelSelector | None = None


class DeviceClassSpec(ApiStruct, frozen=True):
    """What devices a class consists of, and what their driver is to be told."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[dict[str, Any], ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(ApiStruct, frozen=True):
    """A kind of devices that claims ask for by name."""

    metadata: ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()


class CapacityRequirements(ApiStruct, frozen=True):
    """How much of which capacities a request consumes."""

    requests: dict[str, QuantityText] = msgspec.field(default_factory=dict)


class ExactRequest(ApiStruct, frozen=True):
    """So many devices of a class, or all of them."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class SubRequest(ExactRequest, frozen=True):
    """One of several alternatives, named within its request."""

    name: str = ""


class DeviceRequest(ApiStruct, frozen=True):
    """A request of a claim: exactly one, or the first of some that can be had."""

    name: str
    exactly: ExactRequest | None = None
    first_available: tuple[SubRequest, ...] = ()


class DeviceConstraint(ApiStruct, frozen=True):
    """What must hold of all devices of some requests, or of the claim: attributes alike or not."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class ClaimDevices(ApiStruct, frozen=True):
    """The devices that a claim asks for; `config` is passed on to drivers as it is."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[dict[str, Any], ...] = ()


class ResourceClaimSpec(ApiStruct, frozen=True):
    """What a claim asks for."""

    devices: ClaimDevices = ClaimDevices()


class DeviceResult(CompactStruct, frozen=True):
    """A device given to a request (`request`, or `request/subrequest`)."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, QuantityText] | None = None


class DevicesResult(CompactStruct, frozen=True):
    """The devices of an allocation, and what their drivers are to be told."""

    results: tuple[DeviceResult, ...] = ()
    config: tuple[dict[str, Any], ...] = ()


class Allocation(CompactStruct, frozen=True):
    """What a claim has been given; `node_selector` says where it can be used (None: anywhere)."""

    devices: DevicesResult = DevicesResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ClaimConsumer(CompactStruct, frozen=True):
    """Who uses a claim; a Pod has the resource `pods`."""

    resource: str = ""
    name: str = ""
    uid: str = ""
    api_group: str = ""


class DeviceCondition(ApiStruct, frozen=True):
    """A condition that a driver has set on an allocated device."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class DeviceStatus(ApiStruct, frozen=True):
    """What a driver says of an allocated device."""

    driver: str
    pool: str
    device: str
    conditions: tuple[DeviceCondition, ...] = ()


class ResourceClaimStatus(ApiStruct, frozen=True):
    """What a claim has been given, and who uses it."""

    allocation: Allocation | None = None
    reserved_for: tuple[ClaimConsumer, ...] = ()
    devices: tuple[DeviceStatus, ...] = ()


class ResourceClaim(ApiStruct, frozen=True):
    """Devices that one Pod asks for, or that several share."""

    metadata: AnnotatedMeta
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()

    @property
    def key(self) -> str:
        """Its name for people: namespace/name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def is_for_extended_resources(self) -> bool:
        """Whether a scheduler has made it for a Pod's extended resources."""
        return (self.metadata.annotations or {}).get(EXTENDED_CLAIM_ANNOTATION) == "true"

    def is_owned_by(self, uid: str) -> bool:
        """Whether the Pod of `uid` is its controller."""
        return any(o.controller and o.uid == uid for o in self.metadata.owner_references)

    def is_reserved_for(self, uid: str) -> bool:
        """Whether the Pod of `uid` is among its users."""
        return any(user.uid == uid for user in self.status.reserved_for)


def only_node(name: str) -> NodeSelector:
    """Give the selector of one Node, as allocations of its own devices have it."""
    field = Requirement("metadata.name", "In", (name,))
    return NodeSelector((NodeSelectorTerm(match_fields=(field,)),))
