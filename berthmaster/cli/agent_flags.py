"""The flags of ``berthmaster agent``: the kubelet's names where the kubelet has them."""

from typing import Final

import click

from berthmaster.cli.daemon_flags import (
    FILE,
    LOGGING_OPTIONS,
    login_options,
    serving_options,
)
from berthmaster.cli.grouped import Duration, GroupedOption
from berthmaster.cli.observation_flags import OBSERVATION_OPTIONS
from node_agent.shell.options import DEFAULT_PORT

NODE: Final = "Node"
SOURCES: Final = "Sources of static Pods: as the kubelet's own configuration has them"

OPTIONS: Final[tuple[click.Option, ...]] = (
    GroupedOption(
        ("--node-name",),
        group=NODE,
        metavar="NAME",
        envvar="NODE_NAME",
        show_envvar=True,
        default="",
        help="The Node whose kubelet is shadowed.",
    ),
    *login_options(NODE),
    GroupedOption(
        ("--static-pod-path",),
        group=SOURCES,
        type=FILE,
        metavar="PATH",
        default="",
        help="A folder of manifests, or one manifest: the kubelet's staticPodPath.",
    ),
    GroupedOption(
        ("--file-check-frequency",),
        group=SOURCES,
        type=Duration(),
        default="20s",
        show_default=True,
        help="From one listing of that path to the next.",
    ),
    GroupedOption(
        ("--static-pod-url",),
        group=SOURCES,
        metavar="URL",
        default="",
        help="Where a manifest is fetched from: the kubelet's staticPodURL.",
    ),
    GroupedOption(
        ("--static-pod-url-header",),
        group=SOURCES,
        metavar="'NAME: VALUE'",
        multiple=True,
        help="A header to send with that request; never shown. May be given several times.",
    ),
    GroupedOption(
        ("--http-check-frequency",),
        group=SOURCES,
        type=Duration(),
        default="20s",
        show_default=True,
        help="From the end of one such request to the next.",
    ),
    *OBSERVATION_OPTIONS,
    *serving_options(DEFAULT_PORT, "all but the probes"),
    *LOGGING_OPTIONS,
)
