"""``berthmaster agent`` as it is typed: its flags and its help."""

from typing import Final

import click

from berthmaster.cli.daemon_flags import (
    FILE,
    LOGGING_OPTIONS,
    login_options,
    serving_options,
)
from berthmaster.cli.grouped import Duration, GroupedCommand, GroupedOption
from berthmaster.cli.observation_flags import OBSERVATION_OPTIONS
from node_agent.shell.defaults import DEFAULT_PORT

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

command: Final = GroupedCommand(
    "agent",
    params=list(OPTIONS),
    runs="berthmaster.cli.agent",
    help="""Keep the kubelet's view of a Node's Pods, and tell where their time goes.

    The agent changes nothing: it starts no containers and writes nothing to the cluster, unless
    it is asked for Events.

    \b
    Examples:
      # in a Pod of a DaemonSet, with NODE_NAME from the field spec.nodeName
      berthmaster agent
      # anywhere, for one Node, with each step of each Pod in the log
      berthmaster agent --node-name worker-1 --kubeconfig ~/.kube/config -v 3
      # with the manifests that the kubelet reads
      berthmaster agent --static-pod-path /etc/kubernetes/manifests
      # with the kubelet's own view, and how long images are pulled
      berthmaster agent --kubelet-url https://10.0.0.7:10250 --kubelet-insecure-tls --read-events

    \b
    Exit codes: 0 stopped; 1 failed; 2 bad flags or files.
    """,
)
