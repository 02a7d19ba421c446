"""What the agent reads beside its sources, as the command line says it, checked."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from kubeio.credentials import make_client_context
from kubeio.daemon import UsageError
from kubeio.durations import format_duration
from kubeio.login import KubeConfigError, Login
from node_agent.core.journey.journeys import FINISHED_LIMIT

KUBELET_PORT: Final = 10250


class KubeletAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Where the kubelet is, and how far it is trusted.

    Attributes
    ----------
    url
        ``https://host:10250``, without a slash at the end. Over ``http://`` no token is sent.
    ca_file
        PEM, of what signed its serving certificate; None for the system's.
    verify
        False takes any certificate, so whoever answers there gets the token.
    """

    url: str
    ca_file: str | None = None
    verify: bool = True

    def check(self) -> None:
        """Raise `KubeConfigError` where the URL or the CA file cannot be used."""
        make_client_context(Login(server_url=self.url, ca_file=self.ca_file, verify=self.verify))


def kubelet_url(host: str, port: int = KUBELET_PORT) -> str:
    """Give the URL of a kubelet by its node's address, an IPv6 address in brackets."""
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


class ObservationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is read and told.

    Attributes
    ----------
    kubelet
        Where the kubelet is; None for not asking it.
    poll_seconds
        Between two looks at the kubelet's Pods at rest.
    kubelet_pods_path, pod_logs_path
        Where ``/var/lib/kubelet/pods`` and ``/var/log/pods`` are mounted; "" for nowhere.
    read_events
        Whether Events are read, for image pulls and causes: ``list`` on ``events``.
    write_events
        Whether Events are written about what differs: ``create`` on ``events``.
    write_events_after_seconds
        How long a difference lasts before that.
    finished_limit
        Journeys kept of Pods that are gone.
    """

    kubelet: KubeletAccess | None = None
    poll_seconds: float = 10.0
    kubelet_pods_path: str = ""
    pod_logs_path: str = ""
    read_events: bool = False
    write_events: bool = False
    write_events_after_seconds: float = 60.0
    finished_limit: int = FINISHED_LIMIT

    def check(self) -> None:
        """Raise `UsageError` for what cannot be."""
        if self.kubelet is not None:
            try:
                self.kubelet.check()
            except KubeConfigError as error:
                raise UsageError(f"--kubelet-url: {error}") from error
        for flag, path in (
            ("--kubelet-pods-path", self.kubelet_pods_path),
            ("--pod-logs-path", self.pod_logs_path),
        ):
            if path and not Path(path).is_dir():
                raise UsageError(f"{flag}: {path} is no folder here; mount the node's read-only")

    def configz(self) -> dict[str, Any]:
        """Give what ``/configz`` shows of them."""
        kubelet = self.kubelet
        return {
            "kubeletURL": "" if kubelet is None else kubelet.url,
            "kubeletInsecureTLS": kubelet is not None and not kubelet.verify,
            "kubeletPollInterval": format_duration(self.poll_seconds),
            "kubeletPodsPath": self.kubelet_pods_path,
            "podLogsPath": self.pod_logs_path,
            "readEvents": self.read_events,
            "writeEvents": self.write_events,
            "writeEventsAfter": format_duration(self.write_events_after_seconds),
        }


def read_observation_options(
    flags: dict[str, Any], environ: Mapping[str, str] = os.environ
) -> ObservationOptions:
    """Make options of the flags.

    Without ``--kubelet-url`` the kubelet is looked for at ``HOST_IP``, which a Pod sets from
    the field ``status.hostIP``; without either it is not asked.

    Raises
    ------
    UsageError
        Where flags contradict each other.
    """
    url = flags["kubelet_url"]
    if not url and environ.get("HOST_IP"):
        url = kubelet_url(environ["HOST_IP"])
    ca_file, is_insecure = flags["kubelet_certificate_authority"], flags["kubelet_insecure_tls"]
    if ca_file and is_insecure:
        raise UsageError(
            "--kubelet-certificate-authority and --kubelet-insecure-tls exclude each other"
        )
    if not url and (ca_file or is_insecure):
        raise UsageError(
            "--kubelet-certificate-authority, --kubelet-insecure-tls: no kubelet is "
            "named; pass --kubelet-url or set HOST_IP"
        )
    kubelet = KubeletAccess(url=url.rstrip("/"), ca_file=ca_file or None, verify=not is_insecure)
    return ObservationOptions(
        kubelet=kubelet if url else None,
        poll_seconds=flags["kubelet_poll_interval"],
        kubelet_pods_path=flags["kubelet_pods_path"],
        pod_logs_path=flags["pod_logs_path"],
        read_events=flags["read_events"],
        write_events=flags["write_events"],
        write_events_after_seconds=flags["write_events_after"],
    )
