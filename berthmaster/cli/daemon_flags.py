"""Flags that every daemon of ours has: where the API server is, how to serve, what to log."""

from collections.abc import Mapping
from typing import Any, Final

import click

from berthmaster.cli.grouped import GroupedOption, IpAddress, Verbosity
from kubeio.logs import MAX_VERBOSITY, LogFormat
from kubeio.serving_options import ServingOptions

SERVING: Final = "Serving"
LOGGING: Final = "Logging"
FILE: Final = click.Path(allow_dash=True)
"""A path as it was typed, which shells complete; whoever reads the file says what is wrong."""


def login_options(group: str) -> tuple[click.Option, ...]:
    """Give the options that say how to log in to the API server."""
    return (
        GroupedOption(
            ("--kubeconfig",),
            group=group,
            type=FILE,
            metavar="FILE",
            help="Where the API server is and as whom to log in. Without it: KUBECONFIG, "
            "~/.kube/config, the Pod's ServiceAccount.",
        ),
        GroupedOption(
            ("--context",), group=group, metavar="NAME", help="The kubeconfig's context to use."
        ),
    )


def serving_options(port: int, guarded: str) -> tuple[click.Option, ...]:
    """Give the options of the HTTPS server.

    Parameters
    ----------
    port
        The default.
    guarded
        Names the paths that not everybody may read.
    """
    return (
        GroupedOption(
            ("--bind-address",),
            group=SERVING,
            type=IpAddress(),
            metavar="IP",
            default="0.0.0.0",  # noqa: S104 - as kube-scheduler; probes come from the Node
            show_default=True,
            help="The address to serve HTTPS on.",
        ),
        GroupedOption(
            ("--secure-port",),
            group=SERVING,
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            help="The port to serve HTTPS on; 0: any free one, which the log tells.",
        ),
        GroupedOption(
            ("--tls-cert-file",),
            group=SERVING,
            type=FILE,
            metavar="FILE",
            help="Certificate (PEM) to serve with, read again when it changes. Default: "
            "self-signed.",
        ),
        GroupedOption(
            ("--tls-private-key-file",),
            group=SERVING,
            type=FILE,
            metavar="FILE",
            help="Its key (PEM).",
        ),
        GroupedOption(
            ("--authorization",),
            group=SERVING,
            type=click.Choice(["rbac", "none"]),
            default="rbac",
            show_default=True,
            help=f"Whether the API server is asked who may read {guarded}.",
        ),
    )


LOGGING_OPTIONS: Final[tuple[click.Option, ...]] = (
    GroupedOption(
        (
            "-v",
            "--v",
            "verbosity",
        ),
        group=LOGGING,
        type=Verbosity(0, MAX_VERBOSITY, clamp=True),
        default=0,
        show_default=True,
        help="How much to log: 2 tells what becomes of Pods, 3 each step.",
    ),
    GroupedOption(
        ("--log-format",),
        group=LOGGING,
        type=click.Choice([format_.value for format_ in LogFormat]),
        default=LogFormat.TEXT.value,
        show_default=True,
        help="Lines for people, or JSON.",
    ),
)


def read_serving(
    flags: Mapping[str, Any], *, makes_certificate_apart: bool = False
) -> ServingOptions:
    """Give what the flags of `serving_options` say; the rest as of `ServingOptions`."""
    return ServingOptions(
        bind_address=flags["bind_address"],
        port=flags["secure_port"],
        certificate_file=flags["tls_cert_file"],
        key_file=flags["tls_private_key_file"],
        makes_certificate_apart=makes_certificate_apart,
    )
