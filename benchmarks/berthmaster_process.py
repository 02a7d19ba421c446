"""Berthmaster, started as its users start it."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from deploy.controlplane import ControlPlane
from deploy.programs.private_files import write_private

PATIENT_ELECTION: Final = (
    *("--leader-elect-lease-duration", "120s"),
    *("--leader-elect-renew-deadline", "100s"),
)


class Berthmaster:
    """Runs ``berthmaster scheduler`` with its defaults.

    With `outlives_api_server` it keeps its Lease while the API server restarts. With `extenders`
    it has a configuration that says nothing else.
    """

    name = "berthmaster"
    scheduler_name = "berthmaster"

    def __init__(
        self, *, outlives_api_server: bool = False, extenders: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self._election_flags = PATIENT_ELECTION if outlives_api_server else ()
        self._extenders = extenders

    def command(self, plane: ControlPlane) -> Sequence[str | Path]:
        """Give its command line; writes its configuration, if it has one."""
        configuration: tuple[str | Path, ...] = ()
        if self._extenders:
            path = plane.directory.component_kubeconfigs / "berthmaster-configuration"
            document = {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "extenders": list(self._extenders),
            }
            write_private(path, yaml.safe_dump(document))
            configuration = ("--config", path)
        return (
            *(sys.executable, "-m", "berthmaster", "scheduler"),
            *("--kubeconfig", plane.kubeconfig_path),
            *("--bind-address", "127.0.0.1"),
            *("--secure-port", "0"),  # any free one
            *self._election_flags,
            *configuration,
        )
