"""The flags of ``berthmaster agent`` that say what it reads beside its sources."""

from typing import Final

import click

from berthmaster.cli.grouped import Duration, GroupedOption

KUBELET: Final = "The kubelet: asked when it saw Pods and what it has; names are metrics-server's"
EVIDENCE: Final = "What else times and causes are read from, and told to"
_FILE: Final = click.Path(dir_okay=False)
_FOLDER: Final = click.Path(file_okay=False)

OBSERVATION_OPTIONS: Final[tuple[click.Option, ...]] = (
    GroupedOption(
        ("--kubelet-url",),
        group=KUBELET,
        metavar="URL",
        envvar="KUBELET_URL",
        show_envvar=True,
        default="",
        help="Its HTTPS endpoint. Default: port 10250 of HOST_IP, which a Pod sets from the field "
        "status.hostIP; without either the kubelet is not asked.",
    ),
    GroupedOption(
        ("--kubelet-certificate-authority",),
        group=KUBELET,
        type=_FILE,
        metavar="FILE",
        default="",
        help="PEM of what signed its serving certificate. Default: the system's.",
    ),
    GroupedOption(
        ("--kubelet-insecure-tls",),
        group=KUBELET,
        is_flag=True,
        help="Take any certificate: kubelets sign their own unless the cluster signs them.",
    ),
    GroupedOption(
        ("--kubelet-poll-interval",),
        group=KUBELET,
        type=Duration(),
        default="10s",
        show_default=True,
        help="Between two looks at its Pods while nothing happens.",
    ),
    GroupedOption(
        ("--kubelet-pods-path",),
        group=EVIDENCE,
        type=_FOLDER,
        metavar="PATH",
        default="",
        help="Where /var/lib/kubelet/pods is mounted, read-only: tells when a sync began.",
    ),
    GroupedOption(
        ("--pod-logs-path",),
        group=EVIDENCE,
        type=_FOLDER,
        metavar="PATH",
        default="",
        help="Where /var/log/pods is mounted, read-only: tells volumes, sandbox and images apart.",
    ),
    GroupedOption(
        ("--read-events",),
        group=EVIDENCE,
        is_flag=True,
        help="List a Pod's Events once it has started, for how long images were pulled. Needs list "
        "on events; without it there is no startup SLI.",
    ),
    GroupedOption(
        ("--write-events",),
        group=EVIDENCE,
        is_flag=True,
        help="Write an Event about what differs between the kubelet and its sources, once it "
        "lasts. Needs create on events.",
    ),
    GroupedOption(
        ("--write-events-after",),
        group=EVIDENCE,
        type=Duration(),
        default="1m0s",
        show_default=True,
        help="How long a difference lasts before an Event is written.",
    ),
)
