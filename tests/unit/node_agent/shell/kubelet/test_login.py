"""The agent's own identity, shown to the kubelet and nobody else."""

from pathlib import Path

import pytest

from kubeio.login import KubeConfigError, Login
from node_agent.shell.kubelet.login import (
    for_kubelet,
    kubelet_credentials,
)
from node_agent.shell.observation_options import KubeletAccess

API = Login(
    server_url="https://api:6443",
    authorization="Bearer t",
    ca_file="/api-ca",
    proxy_url="http://proxy",
    server_name="api",
    files=("/token",),
)


def test_another_host_and_another_authority() -> None:
    access = KubeletAccess(url="https://n:10250", ca_file="/kubelet-ca")
    login = for_kubelet(API, access)
    assert (login.server_url, login.authorization) == ("https://n:10250", "Bearer t")
    assert (login.ca_file, login.server_name, login.proxy_url) == ("/kubelet-ca", None, None)
    assert login.files == ("/token", "/kubelet-ca")
    assert login.verify


def test_the_token_is_not_sent_in_the_clear() -> None:
    assert for_kubelet(API, KubeletAccess(url="http://n:10255")).authorization is None


def test_any_certificate_only_where_it_is_asked_for() -> None:
    assert not for_kubelet(API, KubeletAccess(url="https://n", verify=False)).verify


async def test_in_a_pod(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    credentials = await kubelet_credentials(
        KubeletAccess(url="https://n:10250", verify=False),
        environ={**environ, "HOME": str(tmp_path)},
        service_account_directory=str(tmp_path),
    )
    assert credentials.server_url == "https://n:10250"
    assert credentials.authorization == "Bearer secret"
    assert credentials.ssl_context is not None


async def test_with_a_kubeconfig(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: k, cluster: {server: 'https://api:6443'}}]\n"
        "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "users: [{name: u, user: {token: secret}}]\n"
    )
    credentials = await kubelet_credentials(
        KubeletAccess(url="https://n:10250", verify=False), str(path)
    )
    assert credentials.server_url == "https://n:10250"
    assert credentials.authorization == "Bearer secret"


async def test_nowhere() -> None:
    with pytest.raises(KubeConfigError, match="no such file"):
        await kubelet_credentials(KubeletAccess(url="https://n:10250"), "/nowhere/config")
