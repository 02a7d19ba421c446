"""Credentials that change under way."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kubeio.certificates import make_self_signed
from kubeio.credentials import Credentials, make_client_context, read_service_account
from kubeio.login import KubeConfigError, Login
from tests.unit.kubeio.log_lines import lines_of

IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Source:
    """Gives logins one after the other; counts how often it was asked."""

    def __init__(self, *logins: Login | KubeConfigError) -> None:
        self.logins = list(logins)
        self.reads = 0

    async def __call__(self) -> Login:
        self.reads += 1
        login = self.logins.pop(0) if len(self.logins) > 1 else self.logins[0]
        if isinstance(login, KubeConfigError):
            raise login
        return login


def plain(token: str, *files: Path, expires_at: datetime | None = None) -> Login:
    return Login(
        server_url="http://k:1",
        authorization=f"Bearer {token}",
        files=tuple(map(str, files)),
        expires_at=expires_at,
    )


def service_account(directory: Path, *, read_as: str = "one") -> Path:
    (directory / "ca.crt").write_bytes(make_self_signed(("k",)))
    (directory / "token").write_text(f"{read_as}\n")
    return directory


async def in_cluster(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Credentials:
    monkeypatch.setenv("HOME", str(directory))
    return await Credentials.load(environ=IN_CLUSTER, service_account_directory=str(directory))


async def test_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = await in_cluster(service_account(tmp_path), monkeypatch)
    assert credentials.server_url == "https://10.96.0.1:443"
    assert credentials.authorization == "Bearer one"
    assert credentials.ssl_context is not None
    assert credentials.ssl_context.verify_mode == ssl.CERT_REQUIRED


def test_service_account_over_ipv6(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    login = read_service_account(environ, str(service_account(tmp_path)))
    assert login.server_url == "https://[fd00::1]:443"


def test_outside_of_a_cluster_all_that_was_tried_is_said(tmp_path: Path) -> None:
    with pytest.raises(KubeConfigError, match=r"no --kubeconfig.*no KUBECONFIG.*no Pod"):
        read_service_account({}, str(tmp_path))


def test_pod_without_token(tmp_path: Path) -> None:
    with pytest.raises(KubeConfigError, match=r"/token: .*automountServiceAccountToken"):
        read_service_account(IN_CLUSTER, str(tmp_path))
    (tmp_path / "token").write_text(" \n")
    with pytest.raises(KubeConfigError, match="is empty"):
        read_service_account(IN_CLUSTER, str(tmp_path))


async def test_rotated_token_is_read_when_the_files_are_looked_at(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "token"
    file.write_text("one")
    source = Source(plain("two", file))
    credentials = Credentials(plain("one", file), source, clock=clock)
    file.write_text("two, longer")
    await credentials.refresh_if_changed()
    assert credentials.authorization == "Bearer one"  # not yet time to look
    clock.now += 10
    assert credentials.check_is_due()
    await credentials.refresh_if_changed()
    assert credentials.authorization == "Bearer two"
    clock.now += 10
    await credentials.refresh_if_changed()
    assert source.reads == 1
    assert credentials.generation == 0


async def test_token_behind_a_swapped_symlink_is_read(tmp_path: Path) -> None:
    # As the kubelet updates projected volumes: a new directory, then ..data is renamed.
    clock, data = Clock(), tmp_path / "..data"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(name)
    data.symlink_to("one")
    source = Source(plain("two", data / "token"))
    credentials = Credentials(plain("one", data / "token"), source, clock=clock)
    new = tmp_path / "..data_tmp"
    new.symlink_to("two")
    new.replace(data)
    clock.now += 10
    await credentials.refresh_if_changed()
    assert credentials.authorization == "Bearer two"


async def test_token_about_to_end_is_renewed() -> None:
    clock = Clock()
    soon = datetime.now(UTC) + timedelta(seconds=30)
    source = Source(plain("two"))
    credentials = Credentials(plain("one", expires_at=soon), source, clock=clock)
    clock.now += 10
    await credentials.refresh_if_changed()
    assert credentials.authorization == "Bearer two"


async def test_unauthorized_reads_at_once() -> None:
    clock, source = Clock(), Source(plain("two"))
    credentials = Credentials(plain("one"), source, clock=clock)
    clock.now += 1
    assert await credentials.refresh_after_unauthorized("Bearer one", 0)
    assert credentials.authorization == "Bearer two"
    # Another request that was refused with the old token need not read again.
    assert await credentials.refresh_after_unauthorized("Bearer one", 0)
    assert source.reads == 1


async def test_unauthorized_with_nothing_new_is_final_and_rate_limited() -> None:
    clock, source = Clock(), Source(plain("one"))
    credentials = Credentials(plain("one"), source, clock=clock)
    clock.now += 1
    for _ in range(50):
        assert not await credentials.refresh_after_unauthorized("Bearer one", 0)
    assert source.reads == 1
    clock.now += 1
    assert not await credentials.refresh_after_unauthorized("Bearer one", 0)
    assert source.reads == 2


async def test_failed_reading_keeps_the_former_and_complains_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    broken = KubeConfigError("half written")
    source = Source(broken, broken, plain("two"))
    credentials = Credentials(plain("one"), source, clock=clock)
    for _ in range(2):
        clock.now += 1
        assert not await credentials.refresh_after_unauthorized("Bearer one", 0)
    assert credentials.authorization == "Bearer one"
    assert [("half written" in line) for line in lines_of(caplog.records)] == [True]
    clock.now += 1
    assert await credentials.refresh_after_unauthorized("Bearer one", 0)


async def test_plugin_that_hangs_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kubeio.credentials.READ_TIMEOUT_SECONDS", 0.01)

    async def hang() -> Login:
        await asyncio.Event().wait()
        raise AssertionError

    clock = Clock()
    credentials = Credentials(plain("one"), hang, clock=clock)
    clock.now += 1
    assert not await credentials.refresh_after_unauthorized("Bearer one", 0)
    assert "took more than 0.01 s" in lines_of(caplog.records)[-1]


async def test_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "token"
    file.write_text("1")

    async def read() -> Login:
        token = file.read_text()
        file.write_text("123")  # rotated once more, just after the reading
        return plain(token, file)

    credentials = Credentials(plain("1", file), read, clock=clock)
    file.write_text("12")
    for expected in ("Bearer 12", "Bearer 123"):
        clock.now += 10
        await credentials.refresh_if_changed()
        assert credentials.authorization == expected


async def test_changed_ca_makes_a_new_context(tmp_path: Path) -> None:
    clock = Clock()
    directory = service_account(tmp_path)

    async def read() -> Login:
        return read_service_account(IN_CLUSTER, str(directory))

    credentials = Credentials(await read(), read, clock=clock)
    context = credentials.ssl_context
    clock.now += 10
    await credentials.refresh_if_changed()
    assert credentials.ssl_context is context
    service_account(tmp_path)
    clock.now += 10
    await credentials.refresh_if_changed()
    assert credentials.generation == 1
    assert credentials.ssl_context is not context
    assert context is not None
    assert credentials.ssl_context is not None
    assert context.get_ca_certs() != credentials.ssl_context.get_ca_certs()


async def test_ca_that_turned_bad_keeps_the_former(tmp_path: Path) -> None:
    clock = Clock()
    directory = service_account(tmp_path)

    async def read() -> Login:
        return read_service_account(IN_CLUSTER, str(directory))

    credentials = Credentials(await read(), read, clock=clock)
    context = credentials.ssl_context
    (directory / "ca.crt").write_text("nonsense")
    (directory / "token").write_text("two")
    clock.now += 10
    await credentials.refresh_if_changed()
    assert credentials.ssl_context is context
    assert credentials.authorization == "Bearer one"
    service_account(directory, read_as="three")
    clock.now += 10
    await credentials.refresh_if_changed()
    assert credentials.authorization == "Bearer three"


def test_context_verifies_like_go(tmp_path: Path) -> None:
    directory = service_account(tmp_path)
    context = make_client_context(read_service_account(IN_CLUSTER, str(directory)))
    assert context is not None
    assert context.check_hostname
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT


def test_context_that_verifies_nothing_is_asked_for() -> None:
    context = make_client_context(Login(server_url="https://k", verify=False))
    assert context is not None
    assert context.verify_mode == ssl.CERT_NONE


@pytest.mark.parametrize("names", [("nothing", None), (None, "nothing")])
def test_unreadable_files_are_named(tmp_path: Path, names: tuple[str | None, str | None]) -> None:
    ca, certificate = (str(tmp_path / name) if name else None for name in names)
    with pytest.raises(KubeConfigError, match=str(tmp_path / "nothing")):
        make_client_context(Login(server_url="https://k", ca_file=ca, certificate_file=certificate))
