"""Static Pods and their mirrors, found by uid and by full name.

The API server's copy of a static Pod, its mirror, has a uid of its own; the two belong together
by full name (``<name>_<namespace>``) and by nothing else.

Source: pkg/kubelet/pod/pod_manager.go, v1.36.3. There a static Pod's ``config.hash`` tells a
mirror of an older manifest; the hash cannot be computed outside the kubelet, so that
comparison is left to whoever has read it from there.
"""

from collections.abc import Iterator

import msgspec

from node_agent.core.objects import Pod
from node_agent.core.operations import is_mirror, is_static


class PodAndMirror(msgspec.Struct, frozen=True, gc=False):
    """A Pod and its mirror; `was_mirror` says which of the two was asked for."""

    pod: Pod | None
    mirror: Pod | None
    was_mirror: bool


class KnownPods:
    """All Pods of the node."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}
        self._pods_by_name: dict[str, Pod] = {}
        self._mirrors: dict[str, Pod] = {}
        self._mirrors_by_name: dict[str, Pod] = {}
        self._static_uids: dict[str, str] = {}

    def put(self, pod: Pod) -> None:
        """Add a Pod, or put its newer state in its place."""
        name, uid = pod.full_name, pod.metadata.uid
        if is_mirror(pod):
            self._mirrors[uid] = self._mirrors_by_name[name] = pod
            counterpart = self._pods_by_name.get(name)
            if counterpart is not None:
                self._static_uids[uid] = counterpart.metadata.uid
            return
        self._pods[uid] = self._pods_by_name[name] = pod
        mirror = self._mirrors_by_name.get(name)
        if mirror is not None:
            self._static_uids[mirror.metadata.uid] = uid

    def remove(self, pod: Pod) -> None:
        """Forget a Pod; one that took over its name stays."""
        name, uid = pod.full_name, pod.metadata.uid
        if is_mirror(pod):
            self._mirrors.pop(uid, None)
            _remove_name(self._mirrors_by_name, name, uid)
            self._static_uids.pop(uid, None)
        else:
            self._pods.pop(uid, None)
            _remove_name(self._pods_by_name, name, uid)

    def pod(self, uid: str) -> Pod | None:
        """Give a Pod that is no mirror by its own uid."""
        return self._pods.get(uid)

    def pod_of_name(self, full_name: str) -> Pod | None:
        """Give the Pod of a full name that is no mirror; the last to come, if there are two."""
        return self._pods_by_name.get(full_name)

    def mirror_of_name(self, full_name: str) -> Pod | None:
        """Give the mirror of a full name."""
        return self._mirrors_by_name.get(full_name)

    def pods(self) -> Iterator[Pod]:
        """Give all Pods but the mirrors."""
        return iter(self._pods.values())

    def mirrors(self) -> Iterator[Pod]:
        """Give all mirrors."""
        return iter(self._mirrors.values())

    def pair(self, pod: Pod) -> PodAndMirror:
        """Give a Pod and its mirror, whichever of the two `pod` is."""
        name = pod.full_name
        if is_mirror(pod):
            return PodAndMirror(self._pods_by_name.get(name), pod, was_mirror=True)
        return PodAndMirror(pod, self._mirrors_by_name.get(name), was_mirror=False)

    def static_uid(self, uid: str) -> str:
        """Translate a mirror's uid to its static Pod's; every other is its own."""
        return self._static_uids.get(uid, uid)

    def mirror_uids(self) -> dict[str, str]:
        """Give every static Pod's uid and its mirror's, "" where there is none."""
        uids: dict[str, str] = {}
        for pod in self._pods.values():
            if is_static(pod):
                mirror = self._mirrors_by_name.get(pod.full_name)
                uids[pod.metadata.uid] = mirror.metadata.uid if mirror is not None else ""
        return uids

    def orphan_mirrors(self) -> Iterator[Pod]:
        """Give the mirrors of static Pods that there are none of."""
        for name, mirror in self._mirrors_by_name.items():
            if name not in self._pods_by_name:
                yield mirror


def _remove_name(by_name: dict[str, Pod], name: str, uid: str) -> None:
    pod = by_name.get(name)
    if pod is not None and pod.metadata.uid == uid:
        del by_name[name]
