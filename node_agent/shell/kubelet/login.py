"""How the agent logs in to its node's kubelet: with its own token, over the kubelet's TLS.

The kubelet asks the API server about the token, as the agent's own server does. Its serving
certificate is self-signed unless the cluster signs them, so either a CA file is given or not
being sure of the kubelet is accepted by name.
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from kubeio.credentials import SERVICE_ACCOUNT_DIRECTORY, Credentials, read_service_account
from kubeio.login import Login, find_kubeconfig

PORT: Final = 10250


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletAccess:
    """Where the kubelet is, and how far it is trusted.

    Attributes
    ----------
    url
        ``https://host:10250``, without a slash at the end. Over ``http://`` no token is sent.
    ca_file
        PEM, of what signed its serving certificate; None for the system's.
    verify
        False takes any certificate, so whoever answers there gets the token.
    server_name
        Expected in the certificate where it is not the URL's host: the node's name.
    """

    url: str
    ca_file: str | None = None
    verify: bool = True
    server_name: str | None = None


def kubelet_url(host: str, port: int = PORT) -> str:
    """Give the URL of a kubelet by its node's address, an IPv6 address in brackets."""
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


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
        server_name=access.server_name,
        proxy_url=None,
        files=(*login.files, access.ca_file) if access.ca_file else login.files,
    )
