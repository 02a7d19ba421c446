"""Kubeconfigs, good and bad."""

import base64
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeio import credentials
from kubeio.certificates import make_self_signed
from kubeio.credentials import make_client_context
from kubeio.kubeconfig import load_kubeconfig
from kubeio.login import KubeConfigError, Login, find_kubeconfig

CLUSTER = {"name": "c", "cluster": {"server": "https://k.example:6443/prefix/"}}
USER = {"name": "u", "user": {"token": "secret"}}
CONTEXT = {"name": "x", "context": {"cluster": "c", "user": "u"}}


def config(**changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [CLUSTER],
        "users": [USER],
        "contexts": [CONTEXT],
        "current-context": "x",
    } | {key.replace("_", "-"): value for key, value in changes.items()}


def write(directory: Path, value: Any, name: str = "config") -> str:
    path = directory / name
    path.write_text(value if isinstance(value, str) else yaml.safe_dump(value))
    return str(path)


def user(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": "u", "user": fields}]


def cluster(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": "c", "cluster": {"server": "https://k:1", **fields}}]


async def test_server_and_token(tmp_path: Path) -> None:
    path = write(tmp_path, config())
    login = await load_kubeconfig(path)
    assert login == Login(
        server_url="https://k.example:6443/prefix", authorization="Bearer secret", files=(path,)
    )
    assert "secret" not in repr(login)


async def test_options_of_a_cluster(tmp_path: Path) -> None:
    options = {
        "insecure-skip-tls-verify": True,
        "tls-server-name": "other",
        "proxy-url": "http://p:3128",
    }
    login = await load_kubeconfig(write(tmp_path, config(clusters=cluster(**options))))
    assert not login.verify
    assert login.server_name == "other"
    assert login.proxy_url == "http://p:3128"


async def test_certificates_from_relative_files_and_from_data(tmp_path: Path) -> None:
    pem = make_self_signed(("k",))
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "pair.pem").write_bytes(pem)
    data = base64.b64encode(pem).decode()
    login = await load_kubeconfig(
        write(
            tmp_path,
            config(
                clusters=cluster(**{"certificate-authority": "pki/pair.pem"}),
                users=user(**{"client-certificate-data": data, "client-key": "pki/pair.pem"}),
            ),
        )
    )
    pair = str(tmp_path / "pki" / "pair.pem")
    assert login.ca_file == pair
    assert login.key_file == pair
    assert login.certificate_file is not None
    certificate = tmp_path / login.certificate_file  # an absolute path: that file itself
    assert certificate.read_bytes() == pem
    assert stat.S_IMODE(certificate.stat().st_mode) == 0o600
    assert pair in login.files
    assert make_client_context(login) is not None


async def test_token_file_is_read_and_watched(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    login = await load_kubeconfig(write(tmp_path, config(users=user(tokenFile="token"))))
    assert login.authorization == "Bearer from-file"
    assert str(tmp_path / "token") in login.files


async def test_password(tmp_path: Path) -> None:
    login = await load_kubeconfig(write(tmp_path, config(users=user(username="me", password="pw"))))
    assert login.authorization == "Basic " + base64.b64encode(b"me:pw").decode()


async def test_context_can_be_chosen(tmp_path: Path) -> None:
    clusters = [CLUSTER, {"name": "c2", "cluster": {"server": "http://127.0.0.1:8001"}}]
    contexts = [CONTEXT, {"name": "y", "context": {"cluster": "c2"}}]
    path = write(tmp_path, config(clusters=clusters, contexts=contexts))
    login = await load_kubeconfig(path, "y")
    assert (login.server_url, login.authorization) == ("http://127.0.0.1:8001", None)
    assert make_client_context(login) is None


async def test_files_are_merged(tmp_path: Path) -> None:
    first = write(tmp_path, {"current-context": "x", "contexts": [CONTEXT]}, "one")
    second = write(tmp_path, {"clusters": [CLUSTER], "users": [USER]}, "two")
    login = await load_kubeconfig(f"{first}{os.pathsep}{second}")
    assert login.authorization == "Bearer secret"
    assert login.files == (first, second)


def plugin(directory: Path, script: str) -> dict[str, Any]:
    path = directory / "plugin"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path)}}


CREDENTIAL = (
    """echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","""
    """"status":{"token":"from-exec","expirationTimestamp":"2030-01-02T03:04:05Z"}}'"""
)


async def test_exec_plugin(tmp_path: Path) -> None:
    path = write(tmp_path, config(users=user(**plugin(tmp_path, CREDENTIAL))))
    login = await load_kubeconfig(path)
    assert login.authorization == "Bearer from-exec"
    assert login.expires_at is not None
    assert login.expires_at.isoformat() == "2030-01-02T03:04:05+00:00"


async def test_first_login_that_takes_long_is_told_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(credentials, "FIRST_LOGIN_NOTICE_SECONDS", 0.0)
    path = write(tmp_path, config(users=user(**plugin(tmp_path, CREDENTIAL))))
    loaded = await credentials.Credentials.load(path)
    assert loaded.authorization == "Bearer from-exec"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"Still waiting for the login of {path}: its exec plugin may be waiting for somebody"
    ]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("users:\n  token: [hidden", "no YAML: line 2"),
        ("\x00", "cannot be read"),
        ("just text", "not a kubeconfig"),
        ("", "not a kubeconfig"),
        ("a: 2026-13-45", "cannot be read: month must be in 1..12"),
        ("a: !!int b", "cannot be read"),
        ("[" * 3000, "no YAML: it is nested too deep"),
        ("clusters: " + "[" * 900 + "]" * 900, "no YAML: it is nested too deep"),
        (config(clusters=cluster(server="https://k:70000")), "port from 1 to 65535"),
        (config(clusters=cluster(server=5)), "correct the file"),
        (
            config(users=user(exec={"apiVersion": "v1", "command": 5, "args": 7})),
            "correct the file",
        ),
        (config(clusters="c"), "clusters: a list is expected of entries with a name and a cluster"),
        (config(users=[{"user": {}}]), "users: a list is expected"),
        (config(users=[{"name": "u"}]), "users: a list is expected"),
        (config(contexts=[{"name": "x", "context": None}]), "contexts: a list is expected"),
        (config(current_context=""), "current-context is not set.*there are: x"),
        (config(current_context="z"), "no context named 'z'; there are: x"),
        (config(contexts=[]), "no context named 'x'; there are: none"),
        (config(users=[]), "names the user 'u', which is not under users"),
        (config(clusters=[]), "names the cluster 'c', which is not under clusters"),
        (config(clusters=[{"name": "c", "cluster": {}}]), "has no server"),
        (config(clusters=[{"name": "c", "cluster": {"a": 1}}]), "has no server"),
        (config(clusters=[{"name": "c", "cluster": {"server": "k:1"}}]), "http:// or https://"),
        (config(clusters=cluster(**{"certificate-authority": "no.pem"})), "no.pem"),
        (config(users=user(token="a\nb")), "line breaks"),
        (config(users=user(tokenFile="nothing")), "nothing"),
        (config(users=user(exec={"apiVersion": "v1"})), "missing key 'command'"),
    ],
)
async def test_bad_file_is_named_with_what_is_wrong(
    tmp_path: Path, content: Any, complaint: str
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(KubeConfigError, match=complaint) as caught:
        await load_kubeconfig(path)
    assert str(caught.value).count(str(path)) == 1
    assert "\n" not in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "provider", [{"name": "oidc"}, {"name": "oidc", "config": {"x": "y"}}, {"name": "gcp"}]
)
async def test_message_never_quotes_secrets(tmp_path: Path, provider: dict[str, Any]) -> None:
    users = user(**{"token": "hidden", "client-key-data": "hidden", "auth-provider": provider})
    with pytest.raises(KubeConfigError) as caught:
        await load_kubeconfig(write(tmp_path, config(users=users)))
    assert "hidden" not in str(caught.value)


async def test_failing_exec_plugin_is_quoted(tmp_path: Path) -> None:
    failing = plugin(tmp_path, "echo log in first >&2; exit 3")
    path = write(tmp_path, config(users=user(**failing)))
    with pytest.raises(KubeConfigError, match=r"returned 3\. log in first"):
        await load_kubeconfig(path)


def test_flag_counts_before_variable_before_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_kubeconfig(None, {}) is None
    (tmp_path / ".kube").mkdir()
    default = write(tmp_path / ".kube", config())
    named, flagged = write(tmp_path, config(), "named"), write(tmp_path, config(), "flagged")
    assert find_kubeconfig(None, {}) == default
    assert find_kubeconfig(None, {"KUBECONFIG": named}) == named
    assert find_kubeconfig(flagged, {"KUBECONFIG": named}) == flagged
    assert find_kubeconfig("~/flagged", {}) == flagged
    both = f"{tmp_path / 'absent'}{os.pathsep}{named}"
    assert find_kubeconfig(None, {"KUBECONFIG": both}) == both


@pytest.mark.parametrize(
    ("flag", "environ", "source"),
    [("/no/such", {}, "kubeconfig"), (None, {"KUBECONFIG": "/no/such"}, "KUBECONFIG")],
)
def test_named_file_must_exist(flag: str | None, environ: dict[str, str], source: str) -> None:
    with pytest.raises(KubeConfigError, match=f"{source}: no such file: /no/such"):
        find_kubeconfig(flag, environ)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "k:6443",
        "ftp://k",
        "https://",
        "https:///path",
        "https://k:0",
        "https://k:65536",
        "https://k:port",
        "https://k:-1",
        "https://[::1",
        "https://[k]:1",
    ],
)
def test_server_must_be_a_url(url: str) -> None:
    with pytest.raises(KubeConfigError, match="http:// or https://"):
        Login(server_url=url)


async def test_what_is_wrong_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The library would warn of it beside the error."""
    with pytest.raises(KubeConfigError, match="gone"):
        await load_kubeconfig(str(tmp_path / "gone"))
    assert caplog.records == []
