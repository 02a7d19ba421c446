"""Nodes and Pods: from the API server's JSON to the core's events.

What is listed and watched, the struct each object is decoded into, and the event that a
change becomes. Fields that no plugin reads are skipped by the decoder. An object that
cannot be used (a quantity that is none, a field of another type) is counted, logged once
and skipped by the reflector, which keeps the older state if there was one.
"""

from typing import Final, TypeVar

from kubeio.changes import Deleted, ReflectorEvent, Upserted
from kubeio.decoding import Query
from kubeio.resources import ResourcePath
from scheduler_svc.core.annotated_objects import AnnotatedPod
from scheduler_svc.core.events import Event, NodeDeleted, NodeUpserted, PodDeleted, PodUpserted
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Node, Pod, PriorityClass
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.shell.views.view import View

T = TypeVar("T")

UNFINISHED_PODS: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""Every Pod that takes room, whoever schedules it: also static Pods and other schedulers'."""


def pod_view(annotations: frozenset[str] = frozenset()) -> View[PodInfo]:
    """Give the view of all unfinished Pods, with some of their annotations.

    Cost: 16 µs to decode one of 7 KB, 5 µs to intern.
    """
    return View(
        Query(
            resource=ResourcePath("", "v1", "pods"),
            object_type=AnnotatedPod if annotations else Pod,
            convert=PodInterner(annotations).intern,
            field_selector=UNFINISHED_PODS,
        ),
        _pod_event,
    )


def node_view() -> View[NodeInfo]:
    """Give the view of all Nodes."""
    return View(
        Query(
            resource=ResourcePath("", "v1", "nodes"), object_type=Node, convert=NodeInfo.from_node
        ),
        _node_event,
    )


def priority_class_view() -> View[PriorityClass]:
    """Give the view of all PriorityClasses; no plugin reads them yet."""
    resource = ResourcePath("scheduling.k8s.io", "v1", "priorityclasses")
    return View(Query(resource=resource, object_type=PriorityClass), _no_event)


def _pod_event(change: ReflectorEvent[PodInfo]) -> Event | None:
    match change:
        case Upserted(pod):
            return PodUpserted(pod)
        case Deleted():
            return PodDeleted(change.uid)
        case _:
            return None


def _node_event(change: ReflectorEvent[NodeInfo]) -> Event | None:
    match change:
        case Upserted(node):
            return NodeUpserted(node)
        case Deleted():
            return NodeDeleted(change.name)
        case _:
            return None


def _no_event(change: ReflectorEvent[T]) -> None:
    del change
