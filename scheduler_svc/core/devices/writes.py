"""What has to be written to the API server for claims: payloads for the shell."""

import msgspec

from scheduler_svc.core.device_objects import Allocation, ResourceClaimSpec
from scheduler_svc.core.devices.extended_resources import RequestMapping


class MadeClaim(msgspec.Struct, frozen=True):
    """A claim that is to be made for a Pod's extended resources, and what each request is for."""

    spec: ResourceClaimSpec
    mappings: tuple[RequestMapping, ...]


class ClaimWrite(msgspec.Struct, frozen=True):
    """Reserve a claim for a Pod, and write its allocation first if there is one.

    A claim that is yet to be made has no name.
    """

    name: str = ""
    uid: str = ""
    allocation: Allocation | None = None
    made: MadeClaim | None = None


class BindClaims(msgspec.Struct, frozen=True):
    """The work before a Pod with claims is bound.

    `announcement` is the note of the Event that its devices are awaited, "" if none are; then
    `drivers` names each device's driver, `awaited_drivers` those of devices that take time.
    """

    writes: tuple[ClaimWrite, ...]
    scheduler_name: str
    announcement: str = ""
    drivers: tuple[str, ...] = ()
    awaited_drivers: tuple[str, ...] = ()


class ReleaseClaims(msgspec.Struct, frozen=True):
    """A Pod will not use these claims (name, uid) for now: it is no user of them any more."""

    claims: tuple[tuple[str, str], ...]


class Deallocate(msgspec.Struct, frozen=True):
    """Take a claim's devices from it, if it is still as it was seen."""

    name: str
    uid: str
    resource_version: str


class DeleteClaim(msgspec.Struct, frozen=True):
    """Delete a claim that was made in an earlier attempt."""

    name: str
    uid: str
