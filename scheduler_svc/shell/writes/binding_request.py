"""The Binding as it is sent: path and body.

The uid in its metadata is a precondition: the API server refuses the Binding (409) where
another Pod has taken the name. Labels are left out, since they would change the Pod's.

Source: pkg/registry/core/pod/storage/storage.go (`BindingREST`), v1.36.3.
"""

from typing import Final

import msgspec

from kubeio import decision_annotations
from scheduler_svc.core.effects import BindPod, PodReference
from scheduler_svc.shell.timestamps import to_nanoseconds


class _Annotations(msgspec.Struct, gc=False):
    decision_id: str = msgspec.field(name=decision_annotations.DECISION_ID)
    attempt: str = msgspec.field(name=decision_annotations.ATTEMPT)
    decided_at: str = msgspec.field(name=decision_annotations.DECIDED_AT)
    queue_wait: str = msgspec.field(name=decision_annotations.QUEUE_WAIT)


class _Metadata(msgspec.Struct, gc=False):
    name: str
    namespace: str
    uid: str
    annotations: _Annotations


class _Target(msgspec.Struct, rename="camel", gc=False):
    name: str
    kind: str = "Node"
    api_version: str = "v1"


class _Binding(msgspec.Struct, rename="camel", gc=False):
    metadata: _Metadata
    target: _Target
    kind: str = "Binding"
    api_version: str = "v1"


_encode: Final = msgspec.json.Encoder().encode


def pod_path(pod: PodReference) -> str:
    """Give the Pod's path; both names are DNS names, so nothing is to be escaped."""
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def encode_binding(effect: BindPod) -> bytes:
    """Give the body of the POST to the Pod's ``binding`` subresource."""
    pod = effect.pod
    annotations = _Annotations(
        effect.decision_id,
        str(effect.attempt),
        str(to_nanoseconds(effect.decided_at_seconds)),
        str(to_nanoseconds(effect.queue_wait_seconds)),
    )
    metadata = _Metadata(pod.name, pod.namespace, pod.uid, annotations)
    return _encode(_Binding(metadata, _Target(effect.node_name)))
