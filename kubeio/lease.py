"""One ``coordination.k8s.io/v1`` Lease: read, create, update. Who leads is decided elsewhere.

An update writes the object as it was read, with another spec, so that labels and
fields we know nothing of stay. ``LeaseObject`` is the type for a reflector that
watches the Lease. Its times are for people, so one that cannot be read is no error:
Kubernetes knows the years 0 and 10000, which `datetime` does not.
"""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from kubeio.client import KubeClient, Lane, decode_body
from kubeio.decoding import ObjectMetadata
from kubeio.errors import ConflictError, NotFoundError
from kubeio.resources import ResourcePath
from kubeio.response import Response

LEASES: Final = ResourcePath("coordination.k8s.io", "v1", "leases")


class LeaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A Lease's spec and the resourceVersion it was read at; times are UTC.

    ``holder_identity`` is "" for a Lease that was released.
    """

    holder_identity: str
    lease_duration_seconds: int
    acquire_time: datetime | None
    renew_time: datetime | None
    lease_transitions: int
    resource_version: str = ""


class LeaseConflict(msgspec.Struct, frozen=True):
    """Somebody else wrote first: read again before the next try."""

    message: str


class LeaseSpec(msgspec.Struct, rename="camel", frozen=True):
    """``Lease.spec``; every field may be absent or null."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class LeaseObject(msgspec.Struct, frozen=True):
    """A Lease, as far as we read it."""

    metadata: ObjectMetadata
    spec: LeaseSpec = LeaseSpec()

    def record(self) -> LeaseRecord:
        """Give it with defaults for what is absent."""
        spec = self.spec
        return LeaseRecord(
            holder_identity=spec.holder_identity or "",
            lease_duration_seconds=spec.lease_duration_seconds or 0,
            acquire_time=_read_time(spec.acquire_time),
            renew_time=_read_time(spec.renew_time),
            lease_transitions=spec.lease_transitions or 0,
            resource_version=self.metadata.resource_version,
        )


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
        self._client = client
        self._namespace = namespace
        self._name = name
        self._resource = LEASES.in_namespace(namespace)
        self._last_read: dict[str, Any] = {}

    async def get(self, *, timeout_seconds: float) -> LeaseRecord | None:
        """Read it; None if there is none.

        Raises
        ------
        KubeError
            For anything else; so do the other methods.
        """
        path = self._resource.object(self._name)
        try:
            response = await self._client.call(
                "GET", path, timeout_seconds=timeout_seconds, lane=Lane.LEASES
            )
        except NotFoundError:
            return None
        return self._remember(response)

    async def create(
        self, record: LeaseRecord, *, timeout_seconds: float
    ) -> LeaseRecord | LeaseConflict:
        """Create it; a conflict if it exists."""
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": self._namespace, "name": self._name},
            "spec": _spec_of(record),
        }
        return await self._write("POST", self._resource.collection, lease, timeout_seconds)

    async def update(
        self, record: LeaseRecord, *, timeout_seconds: float
    ) -> LeaseRecord | LeaseConflict:
        """Write it if it is still at ``record.resource_version``; else a conflict.

        Only after `get` or `create` by this client, whose metadata it keeps.
        """
        lease = {
            **self._last_read,
            "metadata": {
                **self._last_read["metadata"],
                "resourceVersion": record.resource_version,
            },
            "spec": {**(self._last_read.get("spec") or {}), **_spec_of(record)},
        }
        return await self._write("PUT", self._resource.object(self._name), lease, timeout_seconds)

    async def _write(
        self, method: str, path: str, lease: dict[str, Any], timeout_seconds: float
    ) -> LeaseRecord | LeaseConflict:
        try:
            response = await self._client.call(
                method,
                path,
                body=msgspec.json.encode(lease),
                timeout_seconds=timeout_seconds,
                lane=Lane.LEASES,
            )
        except ConflictError as error:
            return LeaseConflict(error.message)
        return self._remember(response)

    def _remember(self, response: Response) -> LeaseRecord:
        request = f"Lease {self._namespace}/{self._name}"
        record = decode_body(response, LeaseObject, request=request).record()
        self._last_read = decode_body(response, dict, request=request)
        return record


def _spec_of(record: LeaseRecord) -> dict[str, Any]:
    spec = LeaseSpec(
        holder_identity=record.holder_identity,
        lease_duration_seconds=record.lease_duration_seconds,
        acquire_time=micro_time(record.acquire_time) if record.acquire_time else None,
        renew_time=micro_time(record.renew_time) if record.renew_time else None,
        lease_transitions=record.lease_transitions,
    )
    fields = msgspec.to_builtins(spec)
    return {name: value for name, value in fields.items() if value is not None}


def _read_time(text: str | None) -> datetime | None:
    try:
        moment = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


def micro_time(moment: datetime) -> str:
    """Write a ``MicroTime``: UTC with six digits, ``2026-11-29T12:00:00.000000Z``."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
