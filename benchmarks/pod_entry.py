"""Starts a daemon of ours as in a Pod: with a ServiceAccount's token, without a kubeconfig.

A kubeconfig costs an import of 38 MiB that no Pod pays (`kubeio.kubeconfig`), so what runs
in one must not be measured with it. Arguments: the command's name; a folder with what
Kubernetes mounts, at one place only, for a ServiceAccount; the API server's host and port;
then the command's own. `service_account` gives them.

It imports nothing but the command: it is measured with it.
"""

import os
import sys
from functools import partial

from berthmaster.cli.root import PROGRAM, cli
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
    cli([name, *arguments], prog_name=PROGRAM)


if __name__ == "__main__":
    main()
