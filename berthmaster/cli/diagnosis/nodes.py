"""What is kept of Nodes."""

from collections.abc import Mapping
from typing import Final

from berthmaster.cli.diagnosis import wire
from berthmaster.cli.diagnosis.amounts import allocatable_of
from berthmaster.cli.diagnosis.facts import NodeState
from berthmaster.cli.diagnosis.wire import seconds_of

_READY: Final = "Ready"
_BAD: Final = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")


def node_state(node: wire.Node, used: Mapping[str, int]) -> NodeState:
    """Read a Node, with what the Pods on it have requested."""
    conditions = node.status.conditions or ()
    ready = next((c for c in conditions if c.type == _READY), wire.Condition(type=_READY))
    return NodeState(
        name=node.metadata.name,
        created=seconds_of(node.metadata.creation_timestamp) or 0.0,
        ready=ready.status,
        ready_message=ready.message,
        ready_since=seconds_of(ready.last_transition_time),
        bad_conditions=tuple(c.type for c in conditions if c.type in _BAD and c.status == "True"),
        is_cordoned=node.spec.unschedulable,
        taints=tuple(_written(taint) for taint in node.spec.taints or ()),
        kubelet_version=node.status.node_info.kubelet_version,
        allocatable=allocatable_of(node.status.allocatable or {}),
        used=dict(used),
    )


def _written(taint: wire.Taint) -> str:
    """Write a taint as kubectl does: ``key=value:effect``."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"
