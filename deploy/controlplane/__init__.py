"""The embedded control plane: a real etcd, kube-apiserver, kube-controller-manager and kwok.

They run on loopback, from a state directory of their own, with no container and no cluster. Use it
from the command line (``python -m deploy.controlplane --help``) or as a library::

    with ControlPlane(with_kwok=True) as control_plane:
        print(control_plane.kubeconfig_path)
"""

from deploy.controlplane.plane import ControlPlane
from deploy.programs.binaries import obtain_binaries
from deploy.programs.errors import BinaryNotFoundError, DeployError
from deploy.programs.reporting import Reporter
from deploy.programs.sources import Binary

__all__ = [
    "Binary",
    "BinaryNotFoundError",
    "ControlPlane",
    "DeployError",
    "Reporter",
    "obtain_binaries",
]
