"""Reading a kubeconfig, by kubernetes_asyncio, into a `Login`.

kubernetes_asyncio merges the files, picks the context and asks exec plugins and
OIDC issuers. Importing it costs 38 MiB, so this module is imported only where a
kubeconfig is to be read: a Pod with a ServiceAccount never pays. The library reads
everything once and keeps no word on what came from where; so the names of all files
that matter are collected here, and `kubeio.credentials` loads anew when one changes.
"""

import logging
import os
import re
from pathlib import Path
from typing import Any, Final

import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.kube_config import KubeConfigLoader, KubeConfigMerger

from kubeio.login import KubeConfigError, Login

# What it warns of is told by a `KubeConfigError`.
logging.getLogger("kubernetes_asyncio.config").setLevel(logging.ERROR)

_TRIPS: Final = (AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What YAML's constructors and the loader raise where a value is of another kind than theirs."""


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
    except (ConfigException, OSError, *_TRIPS) as error:
        raise KubeConfigError(
            f"{paths}: {_one_line(error)}; correct the file or choose another with --kubeconfig"
        ) from error
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
            if Path(path).is_file():
                _check_shape(path, yaml.safe_load(Path(path).read_bytes()))
        merged = KubeConfigMerger(paths).config
    except KubeConfigError:
        raise
    except yaml.MarkedYAMLError as error:  # its own text quotes the line
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise KubeConfigError(f"{paths}: no YAML: line {line}: {error.problem}") from None
    except RecursionError:
        raise KubeConfigError(f"{paths}: no YAML: it is nested too deep") from None
    except (OSError, yaml.YAMLError, *_TRIPS) as error:
        raise KubeConfigError(f"{paths}: cannot be read: {_one_line(error)}") from error
    if merged is None:
        raise KubeConfigError(f"{paths}: no such file")
    return merged


def _check_shape(path: str, document: object) -> None:
    """Refuse what the loader would trip over: it reads without looking."""
    if not isinstance(document, dict):
        raise KubeConfigError(f"{path}: not a kubeconfig: a YAML mapping is expected")
    for plural in ("clusters", "contexts", "users"):
        entries = document.get(plural) or []
        singular = plural.removesuffix("s")
        if not isinstance(entries, list) or not all(
            isinstance(entry, dict)
            and isinstance(entry.get("name"), str)
            and isinstance(entry.get(singular), dict)
            for entry in entries
        ):
            raise KubeConfigError(
                f"{path}: {plural}: a list is expected of entries with a name and a {singular}"
            )


def _select_user(merged: Any, paths: str, context: str | None) -> Any:
    """Find the context's user, None if it has none, and see that its cluster is there."""
    wanted = context or merged.value.get("current-context")
    contexts = {entry["name"]: entry.value["context"] for entry in merged.value["contexts"]}
    known = ", ".join(sorted(contexts)) or "none"
    if not wanted:
        raise KubeConfigError(
            f"{paths}: current-context is not set; set it or pass --context (there are: {known})"
        )
    if wanted not in contexts:
        raise KubeConfigError(f"{paths}: no context named {wanted!r}; there are: {known}")
    where = f"{paths}: context {wanted!r}"
    cluster = _find(merged, "cluster", contexts[wanted].get("cluster"), where)
    if not cluster.value["cluster"].get("server"):
        raise KubeConfigError(f"{where}: its cluster has no server; add an https:// URL")
    user_name = contexts[wanted].get("user")
    return _find(merged, "user", user_name, where) if user_name else None


def _find(merged: Any, kind: str, name: object, where: str) -> Any:
    for entry in merged.value[f"{kind}s"]:
        if entry["name"] == name:
            return entry
    raise KubeConfigError(f"{where} names the {kind} {name!r}, which is not under {kind}s")


def _token_file(user: Any) -> str | None:
    """Path of the user's ``tokenFile``, which the loader reads once and forgets."""
    if user is None:
        return None
    name = (user.safe_get("user") or {}).get("tokenFile")
    return os.path.normpath(Path(user.path).parent / name) if name else None


def _one_line(error: Exception) -> str:
    """Give the error's text without what it may quote of the file: tokens and keys."""
    text = " ".join(str(error).split()) or type(error).__name__
    return re.sub(r"\{.*\}", "{…}", text)
