"""Amounts of resources, and what a Pod takes from its Node.

Whole numbers of the smallest unit that the demonstration uses, so that it can add up what Nodes
carry without reading quantities, and without the scheduler's own arithmetic, which it checks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

GPU = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Amounts of each resource; of a Node what it has, of a container what it requests."""

    milli_cpu: int = 0
    memory_mib: int = 0
    gpu_count: int = 0

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            milli_cpu=self.milli_cpu + other.milli_cpu,
            memory_mib=self.memory_mib + other.memory_mib,
            gpu_count=self.gpu_count + other.gpu_count,
        )

    def raised_to(self, other: Resources) -> Resources:
        """Give the larger amount of each resource."""
        return Resources(
            milli_cpu=max(self.milli_cpu, other.milli_cpu),
            memory_mib=max(self.memory_mib, other.memory_mib),
            gpu_count=max(self.gpu_count, other.gpu_count),
        )

    def fits_in(self, other: Resources) -> bool:
        """Tell whether no amount is larger than the other's."""
        return all(own <= there for own, there in zip(astuple(self), astuple(other), strict=True))

    def quantities(self) -> dict[str, str]:
        """Write the amounts that are not zero as a Kubernetes resource list."""
        texts = {
            "cpu": (self.milli_cpu, f"{self.milli_cpu}m"),
            "memory": (self.memory_mib, f"{self.memory_mib}Mi"),
            GPU: (self.gpu_count, str(self.gpu_count)),
        }
        return {name: text for name, (amount, text) in texts.items() if amount}

    def __str__(self) -> str:
        return ", ".join(f"{name} {text}" for name, text in self.quantities().items()) or "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container: what it requests, and the host's port it listens on (0: none).

    ``is_sidecar`` makes an init container one that goes on running (restartPolicy Always).
    """

    requests: Resources = Resources()
    host_port: int = 0
    is_sidecar: bool = False


def total(amounts: Iterable[Resources]) -> Resources:
    """Add up."""
    return sum(amounts, start=Resources())


def pod_requests(
    containers: Iterable[Container], init_containers: Iterable[Container]
) -> Resources:
    """Give what a Pod takes from its Node.

    Sidecars run beside the containers, and beside the init containers that come after them; an
    init container that ends runs alone but for those. The Pod takes the most that runs at once.
    Source: https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/
    """
    sidecars = Resources()
    peak = Resources()
    for container in init_containers:
        if container.is_sidecar:
            sidecars += container.requests
            peak = peak.raised_to(sidecars)
        else:
            peak = peak.raised_to(sidecars + container.requests)
    return (total(container.requests for container in containers) + sidecars).raised_to(peak)
