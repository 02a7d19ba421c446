"""Starts ``berthmaster agent`` as in a Pod: with a ServiceAccount's token, without a kubeconfig.

A kubeconfig costs an import of 38 MiB that no DaemonSet pays (`kubeio.kubeconfig`), so the
agent must not be measured with one. Arguments: a folder with what Kubernetes mounts, at one
place only, for a ServiceAccount; the API server's host and port; then the agent's own.
"""

import os
import sys
from functools import partial

from berthmaster.cli.agent import command
from kubeio.credentials import Credentials


def main() -> None:
    """Run the agent; ends the process."""
    directory, host, port, *arguments = sys.argv[1:]
    os.environ.pop("KUBECONFIG", None)
    os.environ |= {
        "HOME": directory,
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": port,
    }
    load = partial(Credentials.load, service_account_directory=directory)
    Credentials.load = load  # type: ignore[method-assign]
    command(arguments, prog_name="berthmaster agent")


if __name__ == "__main__":
    main()
