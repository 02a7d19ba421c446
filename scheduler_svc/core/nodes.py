"""Nodes as the scheduler keeps them: what plugins read, in base units."""

import msgspec

from scheduler_svc.core.objects import ContainerImage, Node, Taint
from scheduler_svc.core.quantity import milli_value, parse_quantity, unit_value
from scheduler_svc.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_scalar


class NodeInfo(msgspec.Struct, frozen=True, gc=False):
    """The facts of one Node; equal facts mean that nothing has to be decided anew.

    `allocatable` is in milli-CPU, bytes and whole units, sorted by name; resources that
    the scheduler does not count are left out.
    """

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    allocatable: tuple[tuple[str, int], ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()

    @classmethod
    def from_node(cls, node: Node) -> "NodeInfo":
        """Take the facts out of a decoded Node. Raises `InputError` for a bad quantity."""
        amounts = []
        for name, text in sorted((node.status.allocatable or {}).items()):
            if name in (MEMORY, EPHEMERAL_STORAGE, PODS) or is_scalar(name):
                amounts.append((name, unit_value(parse_quantity(text))))
            elif name == CPU:
                amounts.append((name, milli_value(parse_quantity(text))))
        return cls(
            name=node.metadata.name,
            labels=node.metadata.labels or {},
            taints=node.spec.taints,
            unschedulable=node.spec.unschedulable,
            allocatable=tuple(amounts),
            images=node.status.images or (),
            declared_features=node.status.declared_features,
        )
