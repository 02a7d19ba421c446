"""What a Pod has of its ServiceAccount, for daemons of ours that are measured as in a Pod."""

import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from deploy.controlplane import ControlPlane


def as_in_a_pod(plane: ControlPlane, command: str) -> Sequence[str | Path]:
    """Give the begin of the command line; writes what a Pod has of its ServiceAccount."""
    directory = plane.directory.component_kubeconfigs / "service-account"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "token").write_text(plane.token)
    (directory / "ca.crt").write_bytes(Path(plane.ca_path).read_bytes())
    (directory / "namespace").write_text("kube-system")
    url = urlsplit(plane.url)
    return (
        *(sys.executable, "-m", "benchmarks.pod_entry", command),
        *(directory, str(url.hostname), str(url.port)),
    )
