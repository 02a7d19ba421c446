"""The embedded control plane: a real etcd, kube-apiserver, kube-controller-manager and kwok.

They run on loopback, from a state directory of their own, with no container and no cluster. Use it
from the command line (``python -m deploy.controlplane --help``) or as a library::

    with ControlPlane(with_kwok=True) as control_plane:
        print(control_plane.kubeconfig_path)
"""

from deploy.controlplane.binaries import obtain_binaries
from deploy.controlplane.errors import BinaryNotFoundError, ControlPlaneError
from deploy.controlplane.plane import ControlPlane
from deploy.controlplane.reporting import Reporter
from deploy.controlplane.sources import Binary

__all__ = [
    "Binary",
    "BinaryNotFoundError",
    "ControlPlane",
    "ControlPlaneError",
    "Reporter",
    "obtain_binaries",
]
