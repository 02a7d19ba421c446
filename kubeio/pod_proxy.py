"""Asks a Pod of ours what it serves, through the API server's proxy.

Our daemons want to know who asks, and the proxy keeps the user's own credentials to itself; so
the API server is asked for a short-lived token of the Pod's own ServiceAccount, which goes along
in a header. Whoever may have that token may ask, and the Pod learns nothing that it could not do.
"""

from typing import Final

import msgspec

from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.resources import ResourcePath

PROXIED_AUTHORIZATION: Final = "X-Berthmaster-Authorization"
"""Stands for ``Authorization`` in requests that come by an API server's proxy, which keeps it."""
TOKEN_SECONDS: Final = 600
"""The shortest that the API server gives out."""

_PODS: Final = ResourcePath("", "v1", "pods")
_SERVICE_ACCOUNTS: Final = ResourcePath("", "v1", "serviceaccounts")


class _TokenStatus(msgspec.Struct):
    token: str


class _TokenRequest(msgspec.Struct):
    status: _TokenStatus


def proxied(namespace: str, name: str, port: int) -> str:
    """Give the path under which the API server hands requests on to a Pod, by HTTPS."""
    return _PODS.in_namespace(namespace).object(f"https:{name}:{port}", "proxy")


def proxied_client(credentials: Credentials, token: str, *, user_agent: str) -> KubeClient:
    """Make a client of the API server whose requests show a token to the Pod behind it."""
    headers = {PROXIED_AUTHORIZATION: f"Bearer {token}"}
    return KubeClient(credentials, user_agent=user_agent, headers=headers)


async def serving_token(client: KubeClient, namespace: str, account: str) -> str:
    """Have the API server make a short-lived token of a ServiceAccount.

    Raises
    ------
    KubeError
        Where it refuses.
    """
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": TOKEN_SECONDS},
    }
    path = _SERVICE_ACCOUNTS.in_namespace(namespace).object(account, "token")
    answer = await client.send_json("POST", path, request, _TokenRequest)
    return answer.status.token
