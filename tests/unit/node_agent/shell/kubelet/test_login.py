"""The agent's own identity, shown to the kubelet and nobody else."""

from dataclasses import replace

import pytest

from kubeio.credentials import Credentials
from kubeio.login import KubeConfigError, Login
from node_agent.shell.kubelet.login import (
    for_kubelet,
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


async def test_it_is_the_agents_own_login_whatever_that_becomes() -> None:
    """A ServiceAccount's token is replaced every hour."""
    tokens = iter(["Bearer second"])

    async def read_again() -> Login:
        return replace(API, ca_file=None, authorization=next(tokens))

    access = KubeletAccess(url="https://n:10250", verify=False)
    agents = Credentials(replace(API, ca_file=None), read_again)
    credentials = agents.derive(lambda login: for_kubelet(login, access))
    assert credentials.server_url == "https://n:10250"
    assert credentials.authorization == "Bearer t"
    credentials._last_read -= 10
    assert await credentials.refresh_after_unauthorized("Bearer t", credentials.generation)
    assert credentials.authorization == "Bearer second"
    assert agents.authorization == "Bearer t"


def test_an_authority_that_cannot_be_read() -> None:
    async def read_again() -> Login:
        return API

    access = KubeletAccess(url="https://n:10250", ca_file="/nowhere")
    agents = Credentials(replace(API, ca_file=None), read_again)
    with pytest.raises(KubeConfigError, match="/nowhere: not readable"):
        agents.derive(lambda login: for_kubelet(login, access))
