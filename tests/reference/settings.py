"""The plugins' arguments, as the reference takes them."""

import msgspec

from scheduler_svc.core.objects import NodeAffinity

Weights = tuple[tuple[str, int], ...]


class Settings(msgspec.Struct, frozen=True):
    """Arguments of all plugins.

    `strategy` is NodeResourcesFit's, over the resources in `fit_resources`; `shape` are the
    points (utilization, score) of RequestedToCapacityRatio.
    """

    strategy: str = "LeastAllocated"
    fit_resources: Weights = (("cpu", 1), ("memory", 1))
    shape: tuple[tuple[int, int], ...] = ()
    balanced_resources: tuple[str, ...] = ("cpu", "memory")
    ignored_resources: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    added_affinity: NodeAffinity | None = None
