"""Starts two Pods together: the first waits for its Node until the second has one, too.

This shows how a plugin holds a Pod back at Permit and allows it later, here when it is
asked about another Pod. A feed, or a thread that talks to a service, can do the same.
"""

from berthmaster.plugin import Args, NodePlugin, Pod, Wait

LABEL = "example.com/pair"


class PairsArgs(Args, frozen=True):
    """How long the first waits for the second."""

    timeout_seconds: float = 60.0


class Pairs(NodePlugin[PairsArgs]):
    """Lets two Pods of a namespace with the same label go on together."""

    args_type = PairsArgs

    def __init__(self, args: PairsArgs | None = None) -> None:
        super().__init__(args)
        self._waiting: dict[tuple[str, str], str] = {}

    def permit(self, pod: Pod, node_name: str) -> Wait | None:
        """Hold the first back; allow it with the second."""
        name = pod.labels.get(LABEL)
        if name is None:
            return None
        first = self._waiting.pop((pod.namespace, name), None)
        if first is None:
            self._waiting[pod.namespace, name] = pod.uid
            return Wait(self.args.timeout_seconds)
        self.allow(first)
        return None

    def unreserve(self, pod: Pod, node_name: str) -> None:
        """Forget one that is not bound after all, since it has waited for too long."""
        name = pod.labels.get(LABEL)
        if name is not None and self._waiting.get((pod.namespace, name)) == pod.uid:
            del self._waiting[pod.namespace, name]
