"""What a plugin's author imports.

A plugin is a subclass of `NodePlugin` (one Node at a time, plain Python) or `VectorPlugin`
(all Nodes at once, numpy arrays). `docs/plugins.md` leads from nothing to a running one;
`berthmaster.testing` tests it without a cluster.

What this module offers changes only after a release in which the old way warned.

Examples
--------
>>> class NotOnSpot(NodePlugin):
...     def filter(self, pod, node):
...         if node.labels.get("lifecycle") == "spot" and pod.priority > 1000:
...             return "node(s) may vanish, and the Pod is important"
"""

from scheduler_svc.core.columns import Float64Array, Int64Array
from scheduler_svc.core.custom_plugins.base import (
    Args,
    FeedApi,
    NoArgs,
    NodePlugin,
    Normalize,
    Reject,
    VectorPlugin,
    Wait,
)
from scheduler_svc.core.custom_plugins.node_arrays import Nodes
from scheduler_svc.core.custom_plugins.views import Node, Pod, UndeclaredError
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.framework.interface import Scope
from scheduler_svc.core.labels import BoolArray

__all__ = [
    "ActionType",
    "Args",
    "BoolArray",
    "ClusterEvent",
    "EventRegistration",
    "EventResource",
    "FeedApi",
    "Float64Array",
    "Int64Array",
    "NoArgs",
    "Node",
    "NodePlugin",
    "Nodes",
    "Normalize",
    "Pod",
    "QueueingHint",
    "Reject",
    "Scope",
    "UndeclaredError",
    "VectorPlugin",
    "Wait",
]
