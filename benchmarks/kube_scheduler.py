"""The peer: kube-scheduler of the very version of the API server."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from deploy.controlplane import ControlPlane
from deploy.programs.private_files import write_private

CLIENT_QPS: Final = 5000
"""As in upstream's own scheduler_perf; by default it is 50, and so many Pods a second at most."""

PATIENT_ELECTION: Final = {"leaseDuration": "120s", "renewDeadline": "100s"}


class KubeScheduler:
    """Runs kube-scheduler with its default profile and a client that is not held back.

    With `outlives_api_server` it keeps its Lease while the API server restarts. `extenders` are
    those of its configuration.
    """

    name = "kube-scheduler"
    scheduler_name = "default-scheduler"

    def __init__(
        self, *, outlives_api_server: bool = False, extenders: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self._election = PATIENT_ELECTION if outlives_api_server else {}
        self._extenders = extenders

    def command(self, plane: ControlPlane) -> Sequence[str | Path]:
        """Write its configuration and give its command line."""
        binaries = plane.find_binaries(["kube-apiserver", "kube-scheduler"])
        configuration = plane.directory.component_kubeconfigs / "kube-scheduler-configuration"
        write_private(configuration, yaml.safe_dump(self._document(plane.kubeconfig_path)))
        return (
            binaries["kube-scheduler"].path,
            f"--config={configuration}",
            "--secure-port=0",  # no metrics are read, and no port can be taken
        )

    def _document(self, kubeconfig: Path) -> dict[str, object]:
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {
                "kubeconfig": str(kubeconfig),
                "qps": CLIENT_QPS,
                "burst": CLIENT_QPS,
            },
            "leaderElection": {"leaderElect": True, **self._election},
            "extenders": list(self._extenders),
        }
