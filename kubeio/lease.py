"""One ``coordination.k8s.io/v1`` Lease: read, create, update. Who leads is decided elsewhere."""

from dataclasses import dataclass
from datetime import datetime

from kubeio.client import KubeClient


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """A Lease's spec and the resourceVersion it was read at; times are UTC."""

    holder_identity: str
    lease_duration_seconds: int
    acquire_time: datetime | None
    renew_time: datetime | None
    lease_transitions: int
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class LeaseConflict:
    """Somebody else wrote first: read again before the next try."""

    message: str


class LeaseClient:
    """Reads and writes one Lease over the client's ``leases`` lane.

    Parameters
    ----------
    client
        Shared; the lane has connections of its own.
    namespace, name
        Which Lease.
    """

    def __init__(self, client: KubeClient, *, namespace: str, name: str) -> None:
        raise NotImplementedError

    async def get(self, *, timeout_seconds: float) -> LeaseRecord | None:
        """Read it; None if there is none. Raises `KubeError`."""
        raise NotImplementedError

    async def create(
        self, record: LeaseRecord, *, timeout_seconds: float
    ) -> LeaseRecord | LeaseConflict:
        """Create it; a conflict if it exists. Raises `KubeError` for anything else."""
        raise NotImplementedError

    async def update(
        self, record: LeaseRecord, *, timeout_seconds: float
    ) -> LeaseRecord | LeaseConflict:
        """Write it if it is still at ``record.resource_version``; else a conflict."""
        raise NotImplementedError
