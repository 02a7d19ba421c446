"""How the agent logs in to its node's kubelet: with its own token, over the kubelet's TLS.

The kubelet asks the API server about the token, as the agent's own server does. Its serving
certificate is self-signed unless the cluster signs them, so either a CA file is given or not
being sure of the kubelet is accepted by name.
"""

from dataclasses import replace

from kubeio.login import Login
from node_agent.shell.observation_options import KubeletAccess


def for_kubelet(login: Login, access: KubeletAccess) -> Login:
    """Turn a login to the API server into one to the kubelet: the same identity, another host.

    Over plain HTTP nobody is told who we are.
    """
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
