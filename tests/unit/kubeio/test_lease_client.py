"""Leases as they are written."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from aiohttp import web

from kubeio.errors import ServerError
from kubeio.lease import LeaseClient, LeaseConflict, LeaseObject, LeaseRecord, micro_time
from tests.unit.kubeio.fake_api import client_of

NOW = datetime(2026, 11, 29, 12, 0, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (NOW, "2026-11-29T12:00:00.000001Z"),
        (NOW.replace(microsecond=0), "2026-11-29T12:00:00.000000Z"),
        (NOW.replace(year=1), "0001-11-29T12:00:00.000001Z"),
        (
            NOW.astimezone(timezone(timedelta(hours=-5))),
            "2026-11-29T12:00:00.000001Z",
        ),
    ],
)
def test_micro_time_is_utc_with_six_digits(moment: datetime, text: str) -> None:
    assert micro_time(moment) == text


def test_absent_fields_have_defaults() -> None:
    lease = msgspec.json.decode(b'{"metadata":{"name":"x"}}', type=LeaseObject)
    assert lease.record() == LeaseRecord(
        holder_identity="",
        lease_duration_seconds=0,
        acquire_time=None,
        renew_time=None,
        lease_transitions=0,
    )


async def test_update_keeps_what_it_does_not_know() -> None:
    stored: dict[str, Any] = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l", "labels": {"a": "b"}, "resourceVersion": "5"},
        "spec": {"holderIdentity": "me", "preferredHolder": "you"},
    }
    written: list[dict[str, Any]] = []

    async def handler(request: web.Request) -> web.Response:
        assert request.path == "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"
        if request.method == "PUT":
            written.append(await request.json())
        return web.json_response(stored)

    async with client_of(handler) as client:
        lease = LeaseClient(client, namespace="ns", name="l")
        record = await lease.get(timeout_seconds=1)
        assert record is not None
        await lease.update(
            msgspec.structs.replace(record, renew_time=NOW, lease_duration_seconds=15),
            timeout_seconds=1,
        )
    assert written == [
        {
            **stored,
            "spec": {
                "holderIdentity": "me",
                "preferredHolder": "you",
                "leaseDurationSeconds": 15,
                "renewTime": "2026-11-29T12:00:00.000001Z",
                "leaseTransitions": 0,
            },
        }
    ]


async def test_conflict_is_a_value_and_other_errors_are_raised() -> None:
    status = [409]

    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "message": "said"}, status=status[0])

    async with client_of(handler) as client:
        lease = LeaseClient(client, namespace="ns", name="l")
        record = LeaseRecord(
            holder_identity="me",
            lease_duration_seconds=15,
            acquire_time=NOW,
            renew_time=NOW,
            lease_transitions=0,
        )
        assert await lease.create(record, timeout_seconds=1) == LeaseConflict("said")
        status[0] = 404
        assert await lease.get(timeout_seconds=1) is None
        status[0] = 500
        with pytest.raises(ServerError):
            await lease.create(record, timeout_seconds=1)
