"""Extenders: servers outside of the process that take part in decisions, and for which Pods.

Here is only what the core has to know of them; who talks to them is the shell's matter.

Source: pkg/scheduler/extender.go (`IsInterested`), pkg/scheduler/scheduler.go
(`buildExtenders`) and pkg/scheduler/schedule_one.go (`numFeasibleNodesToFind`), v1.36.3.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from scheduler_svc.core.pods import PodInfo

EXTENDER: Final = "Extender"
"""The plugin that is said to have rejected a Pod where an extender has; every event helps."""

_FEWEST_NODES: Final = 100
_LOWEST_PERCENTAGE: Final = 5


class Extender(msgspec.Struct, frozen=True):
    """One extender: what it does, and for whom.

    `number` is its place in the order in which extenders are asked. `managed_resources` are
    the extended resources of which a Pod must ask for one; none: every Pod is its matter.
    """

    number: int
    filters: bool = False
    prioritizes: bool = False
    preempts: bool = False
    binds: bool = False
    is_ignorable: bool = False
    managed_resources: frozenset[str] = frozenset()

    def is_interested_in(self, pod: PodInfo) -> bool:
        """Tell whether a Pod is its matter."""
        if not self.managed_resources:
            return True
        return any(
            name in self.managed_resources
            for container in pod.shape.extended_requests
            for name, _ in container.amounts
        )


class Extenders:
    """All extenders in the order in which they are asked: those that may be ignored come last.

    `percentages` are, by scheduler name, of how many of all Nodes extenders are asked; 0 or
    nothing: the more Nodes there are, the smaller a part of them.
    """

    def __init__(
        self, extenders: Sequence[Extender] = (), percentages: Mapping[str, int] | None = None
    ) -> None:
        self._percentages = percentages or {}
        self._deciding = [e for e in extenders if e.filters or e.prioritizes]
        self._preempting = [e for e in extenders if e.preempts]
        self._binding = [e for e in extenders if e.binds]

    @property
    def can_reject(self) -> bool:
        """Whether any of them filters."""
        return any(e.filters for e in self._deciding)

    def deciding(self, pod: PodInfo) -> list[Extender]:
        """Give those that filter or prioritize Nodes for a Pod."""
        if not self._deciding:
            return []
        return [e for e in self._deciding if e.is_interested_in(pod)]

    def preempting(self, pod: PodInfo) -> tuple[Extender, ...]:
        """Give those that have a say in whom to evict for a Pod."""
        return tuple(e for e in self._preempting if e.is_interested_in(pod))

    def binder(self, pod: PodInfo) -> Extender | None:
        """Give the one that binds a Pod; None if nobody but us does."""
        if not self._binding:
            return None
        return next((e for e in self._binding if e.is_interested_in(pod)), None)

    def wanted_count(self, scheduler_name: str, node_count: int) -> int:
        """Give how many feasible Nodes are enough to ask extenders about."""
        if node_count < _FEWEST_NODES:
            return node_count
        percentage = self._percentages.get(scheduler_name, 0)
        if percentage == 0:
            percentage = max(50 - node_count // 125, _LOWEST_PERCENTAGE)
        return max(node_count * percentage // 100, _FEWEST_NODES)
