"""Features of the kubelet that a Pod cannot do without, as Nodes declare them.

Source: staging/src/k8s.io/component-helpers/nodedeclaredfeatures/features, v1.36.3.
"""

from collections.abc import Iterator
from typing import Final

from scheduler_svc.core.objects import PodSpec

RESTART_ALL_CONTAINERS: Final = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_HOST_NETWORK: Final = "UserNamespacesHostNetworkSupport"


def required_features(spec: PodSpec) -> tuple[str, ...]:
    """Give the features that a Pod's specification asks for, by name."""
    return tuple(sorted(_required(spec)))


def _required(spec: PodSpec) -> Iterator[str]:
    if spec.host_network and spec.host_users is False:
        yield USER_NAMESPACES_HOST_NETWORK
    containers = (*spec.containers, *spec.init_containers)
    if any(r.action == "RestartAllContainers" for c in containers for r in c.restart_policy_rules):
        yield RESTART_ALL_CONTAINERS
