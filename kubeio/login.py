"""What a login is, and which source of it counts."""

import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

DEFAULT_PATH: Final = "~/.kube/config"


class KubeConfigError(ValueError):
    """No usable login; the text says where, what is wrong and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Where the API server is and what we show it, read at one moment.

    Attributes
    ----------
    server_url
        ``https://host:port`` with any path prefix, without a slash at the end.
    authorization
        The header's whole value, or None.
    ca_file, certificate_file, key_file
        PEM files; None for the system's CAs and for no client certificate.
    verify
        False for ``insecure-skip-tls-verify``.
    server_name
        The name expected in the server's certificate where it is not the host's.
    proxy_url
        ``proxy-url`` of the kubeconfig. The environment's proxies are not read.
    files
        Every file that this came from; a change of one makes it stale.
    expires_at
        When an exec plugin's token ends, if it said so.
    """

    server_url: str
    authorization: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    verify: bool = True
    server_name: str | None = None
    proxy_url: str | None = None
    files: tuple[str, ...] = ()
    expires_at: datetime.datetime | None = None

    def __post_init__(self) -> None:
        if not _is_server_url(self.server_url):
            raise KubeConfigError(
                f"server {self.server_url!r}: an http:// or https:// URL with a host is expected, "
                "and with a port from 1 to 65535 if it has one"
            )
        if self.authorization is not None and not self.authorization.isprintable():
            raise KubeConfigError("the token holds line breaks or other characters no token has")


def _is_server_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:  # brackets that hold no IPv6 address; a port that is none
        return False
    return url.scheme in ("http", "https") and bool(url.hostname) and port != 0


def find_kubeconfig(flag: str | None, environ: Mapping[str, str]) -> str | None:
    """Say which kubeconfig counts: `flag`, ``KUBECONFIG``, ``~/.kube/config``.

    Parameters
    ----------
    flag
        The flag's value, or what a configuration file names in its place.

    Returns
    -------
    str or None
        Paths joined as in ``KUBECONFIG``; None where neither flag nor variable names
        one and the default file does not exist.

    Raises
    ------
    KubeConfigError
        Where the flag or the variable names only files that do not exist.
    """
    for source, value in (("kubeconfig", flag), ("KUBECONFIG", environ.get("KUBECONFIG"))):
        if not value:
            continue
        paths = [os.path.expanduser(path) for path in value.split(os.pathsep) if path]
        if not any(Path(path).is_file() for path in paths):
            raise KubeConfigError(
                f"{source}: no such file: {value}; name one that exists with --kubeconfig "
                "(inside a cluster leave it out to use the Pod's ServiceAccount)"
            )
        return os.pathsep.join(paths)
    default = Path(DEFAULT_PATH).expanduser()
    return str(default) if default.is_file() else None
