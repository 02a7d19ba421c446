"""Starts a daemon of ours as in a Pod: with a ServiceAccount's token, without a kubeconfig.

A kubeconfig costs an import of 38 MiB that no Pod pays (`kubeio.kubeconfig`), so what runs
in one must not be measured with it. Arguments: the command's name; a folder with what
Kubernetes mounts, at one place only, for a ServiceAccount; the API server's host and port;
then the command's own. `as_in_a_pod` gives them.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from deploy.controlplane import ControlPlane
from kubeio.credentials import Credentials


def main() -> None:
    """Run the command; ends the process."""
    name, directory, host, port, *arguments = sys.argv[1:]
    os.environ.pop("KUBECONFIG", None)
    os.environ |= {
        "HOME": directory,
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": port,
    }
    load = partial(Credentials.load, service_account_directory=directory)
    Credentials.load = load  # type: ignore[method-assign]
    command = importlib.import_module(f"berthmaster.cli.{name}").command
    command(arguments, prog_name=f"berthmaster {name}")


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


if __name__ == "__main__":
    main()
