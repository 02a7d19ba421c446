"""Whether the devices of an allocated claim are ready to be bound, by their conditions.

Source: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
(`isClaimReadyForBinding`, `isClaimTimeout`), v1.36.3.
"""

import re
from typing import Final

from scheduler_svc.core.device_objects import DeviceResult, DeviceStatus, ResourceClaim

_TIMESTAMP: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?Z")


def binding_failure(claim: ResourceClaim) -> str:
    """Give which failure condition is true of a device, "" for none."""
    for result, status in _conditional(claim):
        for condition in () if status is None else status.conditions:
            is_failure = condition.type in result.binding_failure_conditions
            if is_failure and condition.status == "True":
                return (
                    f"device binding failed: claim={claim.metadata.name}, "
                    f'reason={condition.reason}, message="{condition.message}"'
                )
        if not _is_ready(result, status):
            # Upstream looks no further than the first that is not ready.
            return ""
    return ""


def is_ready(claim: ResourceClaim) -> bool:
    """Whether the claim is allocated and all binding conditions of its devices are true."""
    return claim.status.allocation is not None and all(
        _is_ready(result, status) for result, status in _conditional(claim)
    )


def has_timed_out(claim: ResourceClaim, timeout_seconds: float, wall_seconds: float) -> bool:
    """Whether a claim with binding conditions was allocated longer ago than that."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None or not _conditional(claim):
        return False
    return unix_seconds(allocation.allocation_timestamp) + timeout_seconds < wall_seconds


def unix_seconds(text: str) -> float:
    """Read a time as the API server writes it, RFC 3339 in UTC; what is none is long ago."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return 0
    year, month, day, hour, minute, second = (int(part) for part in match.groups())
    # Days since 1970 in the Gregorian calendar, with years that begin in March.
    year -= month <= 2
    days = 365 * year + year // 4 - year // 100 + year // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 1 - 719468
    return days * 86400 + hour * 3600 + minute * 60 + second


def _conditional(claim: ResourceClaim) -> list[tuple[DeviceResult, DeviceStatus | None]]:
    """Give the devices that have binding conditions, with what their drivers say of them."""
    allocation = claim.status.allocation
    if allocation is None:
        return []
    statuses = {(s.driver, s.pool, s.device): s for s in reversed(claim.status.devices)}
    return [
        (result, statuses.get((result.driver, result.pool, result.device)))
        for result in allocation.devices.results
        if result.binding_conditions
    ]


def _is_ready(result: DeviceResult, status: DeviceStatus | None) -> bool:
    if status is None:
        return False
    true = {condition.type for condition in status.conditions if condition.status == "True"}
    return true.issuperset(result.binding_conditions)
