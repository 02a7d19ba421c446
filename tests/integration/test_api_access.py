"""Leases, authorisation and the production event loop against a real API server."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop

from deploy.controlplane import ControlPlane
from kubeio import access
from kubeio.access import KubeAuthorizer, Refusal
from kubeio.changes import ReflectorEvent, Upserted
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.decoding import ObjectMetadata, Query
from kubeio.errors import NotFoundError, UnauthorizedError
from kubeio.lease import LeaseClient, LeaseConflict, LeaseRecord
from kubeio.login import Login
from kubeio.reflector import Reflector
from kubeio.resources import ResourcePath
from kubeio.writes import WritePool
from tests.faultproxy import wait_until, wait_until_async

pytestmark = pytest.mark.integration

NAMESPACES = ResourcePath("", "v1", "namespaces")
CONFIG_MAPS = ResourcePath("", "v1", "configmaps", "default")
SERVICE_ACCOUNTS = ResourcePath("", "v1", "serviceaccounts", "default")
BINDINGS = ResourcePath("rbac.authorization.k8s.io", "v1", "clusterrolebindings")


@asynccontextmanager
async def admin(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    credentials = await Credentials.load(str(control_plane.kubeconfig_path))
    async with KubeClient(credentials, user_agent="test") as client:
        yield client


async def test_lease_is_created_renewed_and_released(control_plane: ControlPlane) -> None:
    now = datetime.now(UTC)
    async with admin(control_plane) as client:
        name = f"lease-{secrets.token_hex(4)}"
        lease = LeaseClient(client, namespace="kube-system", name=name)
        assert await lease.get(timeout_seconds=5) is None
        record = LeaseRecord(
            holder_identity="first",
            lease_duration_seconds=15,
            acquire_time=now,
            renew_time=now,
            lease_transitions=0,
        )
        created = await lease.create(record, timeout_seconds=5)
        assert isinstance(created, LeaseRecord)
        assert msgspec.structs.replace(created, resource_version="") == record
        assert isinstance(await lease.create(record, timeout_seconds=5), LeaseConflict)

        renewed = await lease.update(
            msgspec.structs.replace(created, renew_time=now + timedelta(seconds=2)),
            timeout_seconds=5,
        )
        assert isinstance(renewed, LeaseRecord)
        assert renewed.renew_time == now + timedelta(seconds=2)
        stale = await lease.update(created, timeout_seconds=5)
        assert isinstance(stale, LeaseConflict)

        other = LeaseClient(client, namespace="kube-system", name=name)
        assert await other.get(timeout_seconds=5) == renewed
        released = msgspec.structs.replace(renewed, holder_identity="", lease_duration_seconds=1)
        assert isinstance(await other.update(released, timeout_seconds=5), LeaseRecord)
        seen = await lease.get(timeout_seconds=5)
        assert seen is not None
        assert seen.holder_identity == ""


async def service_account_token(client: KubeClient) -> tuple[str, str]:
    name = f"reader-{secrets.token_hex(4)}"
    await client.send_json(
        "POST", SERVICE_ACCOUNTS.collection, {"metadata": {"name": name}}, dict[str, Any]
    )
    answer = await client.send_json(
        "POST",
        SERVICE_ACCOUNTS.object(name, "token"),
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        dict[str, Any],
    )
    return name, answer["status"]["token"]


async def test_rbac_decides_who_reads_metrics(control_plane: ControlPlane) -> None:
    async with admin(control_plane) as client:
        authorizer = KubeAuthorizer(client)
        admin_header = client.credentials.authorization
        assert await authorizer.refusal(admin_header, "/metrics", "get") is None
        assert await authorizer.refusal("Bearer no-such", "/metrics", "get") == Refusal(
            401, "the API server does not know this token"
        )
        name, token = await service_account_token(client)
        user = f"system:serviceaccount:default:{name}"
        assert await authorizer.refusal(f"Bearer {token}", "/metrics", "get") == Refusal(
            403, f'forbidden: User "{user}" cannot get path "/metrics"'
        )
        subject = {"kind": "ServiceAccount", "namespace": "default", "name": name}
        await client.send_json(
            "POST",
            BINDINGS.collection,
            {
                "metadata": {"name": name},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "system:monitoring",
                },
                "subjects": [subject],
            },
            dict[str, Any],
        )

        async def is_let_in() -> bool:
            header = f"Bearer {token}"
            return await KubeAuthorizer(client).refusal(header, "/metrics", "get") is None

        # The API server's own authoriser learns of the binding from a watch.
        await wait_until_async(is_let_in, what="RBAC known")


async def test_who_was_let_in_stays_so_while_the_api_server_hangs(
    control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "REVIEW_TIMEOUT_SECONDS", 1.0)
    now = [0.0]
    async with admin(control_plane) as client:
        authorizer = KubeAuthorizer(client, clock=lambda: now[0])
        header = client.credentials.authorization
        assert await authorizer.refusal(header, "/metrics", "get") is None
        control_plane.freeze("kube-apiserver")
        try:
            now[0] = access.CACHE_SECONDS
            assert await authorizer.refusal(header, "/metrics", "get") is None
            for authorization, path in (("Bearer no-such", "/metrics"), (header, "/configz")):
                unknown = await authorizer.refusal(authorization, path, "get")
                assert unknown is not None
                assert unknown.status == 503
            now[0] = access.OUTAGE_SECONDS
            late = await authorizer.refusal(header, "/metrics", "get")
            assert late is not None
            assert late.status == 503
        finally:
            control_plane.thaw("kube-apiserver")
        monkeypatch.undo()
        assert await authorizer.refusal(header, "/metrics", "get") is None


async def test_service_account_of_a_pod(control_plane: ControlPlane, tmp_path: Path) -> None:
    async with admin(control_plane) as client:
        _, token = await service_account_token(client)
    (tmp_path / "token").write_text("expired")
    (tmp_path / "ca.crt").write_bytes(control_plane.ca_path.read_bytes())
    host, _, port = control_plane.url.removeprefix("https://").partition(":")
    credentials = await Credentials.load(
        environ={
            "HOME": "/nonexistent",
            "KUBERNETES_SERVICE_HOST": host,
            "KUBERNETES_SERVICE_PORT": port,
        },
        service_account_directory=str(tmp_path),
    )
    review = b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    async with (
        KubeClient(credentials, user_agent="test") as client,
        WritePool(credentials, user_agent="test") as pool,
    ):
        with pytest.raises(UnauthorizedError):
            await client.call("POST", path, body=review)
        assert (await pool.post(path, review, resource="selfsubjectreviews")).status == 401
        (tmp_path / "token").write_text(token)

        async def is_known() -> bool:
            return (await pool.post(path, review, resource="selfsubjectreviews")).status == 201

        # A refused login is read again once a second.
        await wait_until_async(is_known, what="new token used")
        assert (await client.call("POST", path, body=review)).status == 201


class ConfigMap(msgspec.Struct):
    metadata: ObjectMetadata


async def write_and_watch(kubeconfig: str) -> int:
    """Write through the pool and see it all come back through a reflector."""
    credentials = await Credentials.load(kubeconfig)
    told: list[ReflectorEvent[ConfigMap]] = []
    prefix = f"pool-{secrets.token_hex(4)}-"
    async with (
        KubeClient(credentials, user_agent="test") as client,
        WritePool(credentials, user_agent="test") as pool,
    ):
        query = Query[ConfigMap](resource=CONFIG_MAPS, object_type=ConfigMap)
        watching = asyncio.create_task(Reflector(client, query, told.append).run())

        async def create(i: int) -> int:
            body = msgspec.json.encode({"metadata": {"name": f"{prefix}{i}"}})
            return (await pool.post(CONFIG_MAPS.collection, body, resource="configmaps")).status

        statuses = await asyncio.gather(*(create(i) for i in range(50)))

        def seen() -> set[str]:
            names = {e.object.metadata.name for e in told if isinstance(e, Upserted)}
            return {name for name in names if name.startswith(prefix)}

        await wait_until(lambda: len(seen()) == 50, what="all come back")
        watching.cancel()
        await asyncio.wait([watching])
        with pytest.raises(NotFoundError):
            await client.call("GET", CONFIG_MAPS.object(f"{prefix}50"))
    return statuses.count(201)


def test_all_works_on_uvloop(control_plane: ControlPlane) -> None:
    assert uvloop.run(write_and_watch(str(control_plane.kubeconfig_path))) == 50


async def test_all_works_with_client_certificates_and_on_asyncio(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    control_plane.write_client_kubeconfig(path, user="someone", groups=("system:masters",))
    assert await write_and_watch(str(path)) == 50


async def test_wrong_token_is_unauthorized(control_plane: ControlPlane) -> None:
    login = Login(
        server_url=control_plane.url, ca_file=str(control_plane.ca_path), authorization="Bearer no"
    )

    async def same() -> Login:
        return login

    async with KubeClient(Credentials(login, same), user_agent="test") as client:
        with pytest.raises(UnauthorizedError, match="Unauthorized"):
            await client.call("GET", NAMESPACES.collection)
