"""One comparison of the agent's Pods with the kubelet's.

It says what differs now; whether that lasts is `divergences`' to judge. uids of static Pods
are never compared: only the kubelet can compute them.

Source: pkg/kubelet/config/config.go (what counts as a change), pkg/kubelet/pod/mirror_client.go,
pkg/kubelet/kubelet_pods.go, v1.36.3.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import msgspec

from node_agent.core.divergence.kubelet_view import KubeletView
from node_agent.core.journey.evidence import TERMINAL_PHASES
from node_agent.core.known_pods import KnownPods
from node_agent.core.objects import Pod
from node_agent.core.operations import (
    HASH_ANNOTATION,
    MIRROR_ANNOTATION,
    SEEN_ANNOTATION,
    SOURCE_ANNOTATION,
    Source,
    annotation,
    is_mirror,
    is_static,
)

_LOCAL_ANNOTATIONS: Final = frozenset((SOURCE_ANNOTATION, SEEN_ANNOTATION, MIRROR_ANNOTATION))


class DivergenceKind(StrEnum):
    """What differs; names appear in metrics and Events.

    `MISSING_IN_KUBELET`: bound to this node, or in a manifest, and the kubelet has not seen it.
    `REFUSED`: it has, and did not admit it. `UNKNOWN_TO_AGENT`: the kubelet runs what no source
    has. `MISSING_IN_RUNTIME`: said to be running, and the runtime has no container of it.
    """

    MISSING_IN_KUBELET = "missing_in_kubelet"
    UNKNOWN_TO_AGENT = "unknown_to_agent"
    SPEC_DIFFERS = "spec_differs"
    DELETION_DIFFERS = "deletion_differs"
    REFUSED = "refused"
    MISSING_IN_RUNTIME = "missing_in_runtime"
    UNKNOWN_TO_KUBELET = "unknown_to_kubelet"
    MIRROR_MISSING = "mirror_missing"
    MIRROR_STALE = "mirror_stale"
    MIRROR_DELETING = "mirror_deleting"
    MIRROR_ORPHAN = "mirror_orphan"


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One thing that differs, of one Pod; `detail` is a sentence for people."""

    kind: DivergenceKind
    source: str
    namespace: str
    name: str
    uid: str
    detail: str

    @property
    def key(self) -> tuple[DivergenceKind, str]:
        """What makes it the same finding at the next comparison."""
        return self.kind, self.uid or f"{self.namespace}/{self.name}"


def compare(
    known: KnownPods, view: KubeletView, sources: frozenset[Source] = frozenset(Source)
) -> list[Finding]:
    """Give everything that differs. Cost: about 0.5 ms for 110 Pods.

    Parameters
    ----------
    sources
        The agent's, as far as they have told of all their Pods. What the kubelet has from
        another one cannot be known here; mirrors come from the API server.
    """
    findings = [*_missing_and_changed(known, view), *_unknown(known, view, sources)]
    return [*findings, *_mirrors(known, view)] if Source.API in sources else findings


def _missing_and_changed(known: KnownPods, view: KubeletView) -> Iterator[Finding]:
    for pod in known.pods():
        copy = view.counterpart(pod)
        if copy is None:
            if pod.status.phase not in TERMINAL_PHASES:
                detail = "The kubelet has not seen it."
                yield _finding(DivergenceKind.MISSING_IN_KUBELET, pod, detail)
            continue
        yield from _changed(pod, copy)
        yield from _runtime(pod, copy, view)


def _changed(pod: Pod, copy: Pod) -> Iterator[Finding]:
    refusal = refusal_of(copy)
    if refusal is not None:
        yield _finding(DivergenceKind.REFUSED, pod, refusal)
    difference = _spec_difference(pod, copy)
    if difference is not None:
        yield _finding(DivergenceKind.SPEC_DIFFERS, pod, difference)
    is_deleted = pod.metadata.deletion_timestamp is not None
    if is_deleted != (copy.metadata.deletion_timestamp is not None):
        where = "here and not in the kubelet" if is_deleted else "in the kubelet and not here"
        yield _finding(DivergenceKind.DELETION_DIFFERS, pod, f"It is being deleted {where}.")


def refusal_of(pod: Pod) -> str | None:
    """Say why the kubelet did not admit a Pod; None where it did, or has not judged yet.

    A Pod that was refused is Failed for a reason, and none of its containers ever was.
    """
    status = pod.status
    if status.phase != "Failed" or not status.reason or status.container_statuses:
        return None
    return f"The kubelet refused it: {status.reason}: {status.message or 'no message'}"


def _spec_difference(pod: Pod, copy: Pod) -> str | None:
    """Say what of the specification is not the same; None where all that can be compared is."""
    ours = {container.name: container.image for container in pod.spec.containers}
    theirs = {container.name: container.image for container in copy.spec.containers}
    if ours != theirs:
        return f"Containers are {_pairs(ours)} here and {_pairs(theirs)} in the kubelet."
    if is_static(pod):
        return None  # the kubelet's manifest has defaults that the agent need not know
    here, there = pod.metadata.generation, copy.metadata.generation
    if here and there and here != there:
        return f"It is of generation {here} here and of {there} in the kubelet."
    for name, mine, other in (
        ("labels", pod.metadata.labels, copy.metadata.labels),
        ("annotations", _shared_annotations(pod), _shared_annotations(copy)),
    ):
        if (mine or {}) != (other or {}):
            return f"Its {name} differ."
    return None


def _pairs(images: dict[str, str]) -> str:
    return ", ".join(f"{name} ({image})" for name, image in images.items()) or "none"


def _shared_annotations(pod: Pod) -> dict[str, str]:
    annotations = pod.metadata.annotations or {}
    return {key: value for key, value in annotations.items() if key not in _LOCAL_ANNOTATIONS}


def _runtime(pod: Pod, copy: Pod, view: KubeletView) -> Iterator[Finding]:
    if view.running_uids is None or copy.metadata.uid in view.running_uids:
        return
    runs = [s.name for s in copy.status.container_statuses if s.state.running is not None]
    if runs:
        detail = f"{', '.join(runs)} should be running, and the container runtime has no such Pod."
        yield _finding(DivergenceKind.MISSING_IN_RUNTIME, pod, detail)


def _unknown(known: KnownPods, view: KubeletView, sources: frozenset[Source]) -> Iterator[Finding]:
    for copy in view.pods:
        if source_of(copy) not in sources:
            continue
        if is_static(copy):
            is_known = known.pod_of_name(copy.full_name) is not None
        else:
            is_known = known.pod(copy.metadata.uid) is not None
        if not is_known:
            detail = "The kubelet has it, and none of the agent's sources."
            yield _finding(DivergenceKind.UNKNOWN_TO_AGENT, copy, detail)
    kubelet_uids = {copy.metadata.uid for copy in view.pods}
    for uid in sorted((view.running_uids or frozenset()) - kubelet_uids):
        detail = "The container runtime has it, and the kubelet does not."
        yield Finding(DivergenceKind.UNKNOWN_TO_KUBELET, "runtime", "", "", uid, detail)


def _mirrors(known: KnownPods, view: KubeletView) -> Iterator[Finding]:
    """Compare mirrors by the hash that the kubelet shows of each static Pod."""
    for copy in view.pods:
        if not is_static(copy):
            continue
        mirror = known.mirror_of_name(copy.full_name)
        if mirror is None:
            yield _finding(DivergenceKind.MIRROR_MISSING, copy, "It has no mirror Pod.")
        elif annotation(mirror, MIRROR_ANNOTATION) != annotation(copy, HASH_ANNOTATION):
            detail = "Its mirror Pod is of another manifest."
            yield _finding(DivergenceKind.MIRROR_STALE, copy, detail)
        elif mirror.metadata.deletion_timestamp is not None:
            detail = "Its mirror Pod is being deleted."
            yield _finding(DivergenceKind.MIRROR_DELETING, copy, detail)
    for mirror in known.orphan_mirrors():
        if view.static_pod(mirror.full_name) is None:
            detail = "It is the mirror of a static Pod that there is none of."
            yield _finding(DivergenceKind.MIRROR_ORPHAN, mirror, detail)


def source_of(pod: Pod) -> str:
    """Name a Pod's source: mirror, file, http or api."""
    return "mirror" if is_mirror(pod) else annotation(pod, SOURCE_ANNOTATION) or "api"


def _finding(kind: DivergenceKind, pod: Pod, detail: str) -> Finding:
    metadata = pod.metadata
    return Finding(kind, source_of(pod), metadata.namespace, metadata.name, metadata.uid, detail)
