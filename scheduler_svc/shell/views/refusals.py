"""Pods that their kubelets have refused, from the API server's JSON to the core's events.

The view of unfinished Pods does not tell: a Pod that fails leaves it as it was before. So failed
ones are watched, too; of each no more is kept than who it is.

Source: pkg/kubelet/kubelet.go (`rejectPod`), v1.36.3.
"""

from typing import Final

import msgspec

from kubeio import decision_annotations
from kubeio.changes import Deleted, Listed, ReflectorEvent, Upserted
from kubeio.decoding import Query
from kubeio.resources import ResourcePath
from scheduler_svc.core.annotated_objects import AnnotatedMeta
from scheduler_svc.core.events import Event, PodRefused
from scheduler_svc.shell.views.view import View

FAILED_PODS: Final = "status.phase=Failed"

_REJECTED: Final = "Pod was rejected: "


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""
    scheduler_name: str = ""


class _Status(msgspec.Struct, gc=False):
    reason: str = ""
    message: str = ""


class FailedPod(msgspec.Struct, frozen=True):
    """A Pod that has failed, whatever for."""

    metadata: AnnotatedMeta
    spec: _Spec
    status: _Status


def refusal_view() -> View[FailedPod]:
    """Give the view of all Pods that have failed; the refused among them are told of, once.

    Not those of the first list: what came of them is in the past.
    """
    return View(
        Query(
            resource=ResourcePath("", "v1", "pods"),
            object_type=FailedPod,
            field_selector=FAILED_PODS,
        ),
        _Telling().event,
    )


class _Telling:
    """Tells of each refusal once; a failed Pod may change until it is deleted."""

    def __init__(self) -> None:
        self._is_listed = False
        self._told: set[str] = set()

    def event(self, change: ReflectorEvent[FailedPod]) -> Event | None:
        match change:
            case Upserted(pod):
                return self._refusal(pod)
            case Deleted():
                self._told.discard(change.uid)
            case Listed():
                self._is_listed = True
        return None

    def _refusal(self, pod: FailedPod) -> PodRefused | None:
        meta, status = pod.metadata, pod.status
        if not status.message.startswith(_REJECTED) or meta.uid in self._told:
            return None
        self._told.add(meta.uid)
        if not self._is_listed:
            return None
        return PodRefused(
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            scheduler_name=pod.spec.scheduler_name,
            node_name=pod.spec.node_name,
            reason=status.reason,
            message=status.message.removeprefix(_REJECTED),
            decision_id=(meta.annotations or {}).get(decision_annotations.DECISION_ID, ""),
        )
