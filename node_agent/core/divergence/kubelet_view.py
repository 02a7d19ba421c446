"""What a kubelet showed of its Pods at one moment, ready to be looked up.

Source: pkg/kubelet/server/server.go (``/pods``: the Pods it was told to run, static ones with
its own status, no mirrors; ``/runningpods``: what the container runtime has), v1.36.3.
"""

from collections.abc import Iterable
from typing import Final

from node_agent.core.clock import Now
from node_agent.core.objects import Pod
from node_agent.core.operations import SOURCE_ANNOTATION, Source, annotation, is_static

OTHER_SOURCE: Final = "other"
_SOURCES: Final = frozenset(source.value for source in Source)


class KubeletView:
    """The kubelet's Pods as of a moment.

    Parameters
    ----------
    pods
        From ``/pods``.
    asked
        When the question was sent: anything later may be missing.
    running_uids
        From ``/runningpods``; None where that may not be read.
    """

    def __init__(
        self, pods: Iterable[Pod], asked: Now, running_uids: frozenset[str] | None = None
    ) -> None:
        self.asked = asked
        self.running_uids = running_uids
        self.pods = tuple(pods)
        self._by_uid = {pod.metadata.uid: pod for pod in self.pods}
        self._static_by_name = {pod.full_name: pod for pod in self.pods if is_static(pod)}

    def counterpart(self, pod: Pod) -> Pod | None:
        """Give the kubelet's copy of a Pod; a static one is found by name, the others by uid."""
        if is_static(pod):
            return self._static_by_name.get(pod.full_name)
        return self._by_uid.get(pod.metadata.uid)

    def static_pod(self, full_name: str) -> Pod | None:
        """Give a static Pod by its full name."""
        return self._static_by_name.get(full_name)

    def count_by_source(self) -> dict[str, int]:
        """Count the Pods of each source; one that no kubelet has is ``other``."""
        counts: dict[str, int] = {}
        for pod in self.pods:
            told = annotation(pod, SOURCE_ANNOTATION) or Source.API.value
            source = told if told in _SOURCES else OTHER_SOURCE
            counts[source] = counts.get(source, 0) + 1
        return counts
