"""What shells complete from the cluster: names of objects."""

import importlib
from typing import Final

import click
from click.shell_completion import CompletionItem

_ASKING: Final = "berthmaster.cli.names"
"""Imported when a name is wanted: help, and the completion of words, do not wait for a client."""
_DEFAULT_NAMESPACE: Final = "default"


def complete_namespaces(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Give the namespaces that begin so."""
    del param
    return _beginning(incomplete, ctx, "namespaces")


def complete_pods(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Give the Pods that begin so, of the namespace that was typed before, or of `default`."""
    del param
    namespace = ctx.params.get("namespace") or _DEFAULT_NAMESPACE
    return _beginning(incomplete, ctx, "pods", namespace)


def _beginning(
    incomplete: str, ctx: click.Context, plural: str, namespace: str | None = None
) -> list[CompletionItem]:
    names = importlib.import_module(_ASKING).names_of(
        plural,
        namespace=namespace,
        kubeconfig=ctx.params.get("kubeconfig"),
        context=ctx.params.get("context"),
    )
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
