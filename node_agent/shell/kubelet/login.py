"""How the agent logs in to its node's kubelet: with its own token, over the kubelet's TLS.

The kubelet asks the API server about the token, as the agent's own server does. Its serving
certificate is self-signed unless the cluster signs them, so either a CA file is given or not
being sure of the kubelet is accepted by name.
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace

from kubeio.credentials import (
    SERVICE_ACCOUNT_DIRECTORY,
    Credentials,
    read_service_account,
)
from kubeio.login import Login, find_kubeconfig
from node_agent.shell.observation_options import KubeletAccess


async def kubelet_credentials(
    access: KubeletAccess,
    kubeconfig: str | None = None,
    *,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    service_account_directory: str = SERVICE_ACCOUNT_DIRECTORY,
) -> Credentials:
    """Take the login to the API server for the kubelet, and keep it fresh.

    Raises
    ------
    KubeConfigError
        There is no login, or a file of it cannot be used.
    """
    paths = find_kubeconfig(kubeconfig, environ)

    async def read() -> Login:
        if paths is not None:
            from kubeio.kubeconfig import (  # noqa: PLC0415 - 38 MiB, for a kubeconfig only
                load_kubeconfig,
            )

            return for_kubelet(await load_kubeconfig(paths, context), access)
        login = await asyncio.to_thread(read_service_account, environ, service_account_directory)
        return for_kubelet(login, access)

    return Credentials(await read(), read)


def for_kubelet(login: Login, access: KubeletAccess) -> Login:
    """Turn a login to the API server into one to the kubelet: the same identity, another host."""
    is_secure = access.url.startswith("https://")
    return replace(
        login,
        server_url=access.url,
        authorization=login.authorization if is_secure else None,
        ca_file=access.ca_file,
        verify=access.verify,
        server_name=None,
        proxy_url=None,
        files=(*login.files, access.ca_file) if access.ca_file else login.files,
    )
