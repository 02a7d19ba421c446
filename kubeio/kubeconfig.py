"""Reading a kubeconfig, by kubernetes_asyncio, into a `Login`.

kubernetes_asyncio merges the files, picks the context and asks exec plugins and
OIDC issuers. Importing it costs 38 MiB, so this module is imported only where a
kubeconfig is to be read: a Pod with a ServiceAccount never pays. The library reads
everything once and keeps no word on what came from where; so the names of all files
that matter are collected here, and `kubeio.credentials` loads anew when one changes.
"""

import os
from pathlib import Path
from typing import Any

import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.kube_config import KubeConfigLoader, KubeConfigMerger

from kubeio.login import KubeConfigError, Login


async def load_kubeconfig(paths: str, context: str | None = None) -> Login:
    """Read a kubeconfig and log in as its context says; runs exec plugins.

    Parameters
    ----------
    paths
        From `find_kubeconfig`.
    context
        None for ``current-context``.

    Raises
    ------
    KubeConfigError
        For whatever is wrong in it, one line.
    """
    merged = _merge(paths)
    user = _select_user(merged, paths, context)
    configuration = Configuration()
    try:
        loader = KubeConfigLoader(merged, active_context=context, config_base_path=None)
        await loader.load_and_set(configuration)
    except (ConfigException, OSError, KeyError, TypeError, AssertionError, ValueError) as error:
        # All of these come out of a loader that trips over a malformed file.
        raise KubeConfigError(
            f"{paths}: {_one_line(error)}; correct the file or choose another with --kubeconfig"
        ) from error
    if not configuration.host:
        raise KubeConfigError(f"{paths}: the context's cluster has no server; add its https:// URL")
    files = (
        *paths.split(os.pathsep),
        _token_file(user),
        configuration.ssl_ca_cert,
        configuration.cert_file,
        configuration.key_file,
    )
    try:
        return Login(
            server_url=str(configuration.host).rstrip("/"),
            authorization=configuration.api_key.get("BearerToken", "").strip() or None,
            ca_file=configuration.ssl_ca_cert,
            certificate_file=configuration.cert_file,
            key_file=configuration.key_file,
            verify=bool(configuration.verify_ssl),
            server_name=configuration.tls_server_name,
            proxy_url=configuration.proxy,
            files=tuple(dict.fromkeys(name for name in files if name)),
            expires_at=getattr(loader, "exec_plugin_expiry", None),
        )
    except KubeConfigError as error:
        raise KubeConfigError(f"{paths}: {error}") from None


def _merge(paths: str) -> Any:
    """Read and merge the files, with better words for errors than the loader has."""
    try:
        for path in paths.split(os.pathsep):
            if Path(path).is_file() and not isinstance(
                yaml.safe_load(Path(path).read_bytes()), dict
            ):
                raise KubeConfigError(f"{path}: not a kubeconfig: a YAML mapping is expected")
        merged = KubeConfigMerger(paths).config
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise KubeConfigError(f"{paths}: cannot be read: {_one_line(error)}") from error
    except (AttributeError, KeyError, TypeError) as error:
        raise KubeConfigError(
            f"{paths}: clusters, contexts and users must be lists of mappings with a name"
        ) from error
    if merged is None:
        raise KubeConfigError(f"{paths}: no such file")
    return merged


def _select_user(merged: Any, paths: str, context: str | None) -> Any:
    """Find the context's user, None if it has none; say which contexts there are."""
    wanted = context or merged.value.get("current-context")
    contexts = {entry["name"]: entry.safe_get("context") for entry in merged.value["contexts"]}
    known = ", ".join(sorted(map(str, contexts))) or "none"
    if not wanted:
        raise KubeConfigError(
            f"{paths}: current-context is not set; set it or pass --context (there are: {known})"
        )
    if wanted not in contexts:
        raise KubeConfigError(f"{paths}: no context named {wanted!r}; there are: {known}")
    user_name = (contexts[wanted] or {}).get("user")
    if not user_name:
        return None
    for entry in merged.value["users"]:
        if entry["name"] == user_name:
            return entry
    raise KubeConfigError(
        f"{paths}: context {wanted!r} names the user {user_name!r}, who is not under users"
    )


def _token_file(user: Any) -> str | None:
    """Path of the user's ``tokenFile``, which the loader reads once and forgets."""
    if user is None:
        return None
    name = (user.safe_get("user") or {}).get("tokenFile")
    return os.path.normpath(Path(user.path).parent / name) if name else None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
