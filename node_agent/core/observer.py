"""The seam between the agent's shadow of the kubelet and whoever listens to it.

`NodeAgent` calls its observers in the order they were given, in the task that owns the core,
for one Pod at a time and in the order in which its source told of it. An observer is pure as
the core is, keeps what it learns to itself, and never raises: the shell asks it what to show.
"""

from typing import Protocol

from node_agent.core.clock import Now
from node_agent.core.objects import Pod
from node_agent.core.operations import Operation, Source


class PodObserver(Protocol):
    """Listens to what happens to the Pods of this node.

    Every Pod of every source is told of: static Pods with their own uid and mirror Pods (source
    `API`, `operations.is_mirror`) with theirs. Annotations ``kubernetes.io/config.source`` and
    ``config.seen`` are the shadow's own, set as the kubelet sets them.
    """

    def pod_operation(self, operation: Operation, source: Source, pod: Pod, now: Now) -> None:
        """Take in an operation.

        Parameters
        ----------
        pod
            As it is after the operation; for `REMOVE` as it was last.
        now
            When the list that brought it had come in, not when it was its turn.
        """

    def pod_observed(self, pod: Pod, now: Now) -> None:
        """Take in a Pod's newest state, once after each `ADD`, `UPDATE`, `DELETE`, `RECONCILE`.

        A Pod that comes before its source's `source_listed` was there before the agent was.
        """

    def pod_gone(self, uid: str, now: Now) -> None:
        """Forget a Pod: it has left its source (`REMOVE` came just before) and its worker ended.

        Static Pods end some time after their `REMOVE`, all others with it.
        """

    def source_listed(self, source: Source, now: Now) -> None:
        """Note that a source's first list has been handled; Pods added before were there before."""

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which `expire` is wanted, None for never."""

    def expire(self, now: Now) -> None:
        """Do what is due; called at or after `next_deadline`, and perhaps before."""
