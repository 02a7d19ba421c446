"""Room that Nodes seem to have, and their kubelets say they have not.

A kubelet admits a Pod by its own books. They may tell of more than the API server does: static
Pods whose mirrors are not there, not yet or never; an amount that it has not told anew yet. A
scheduler that goes by the API server alone sends Pod after Pod to such a Node, and each is
refused. So what a refusal shows to be missing is withheld: the Node counts as offering that much
less, until a Pod turns up that takes it, the Node tells of another amount, or half a minute has
passed.

A race that another scheduler has won needs none of this: the winner is known by then.
Source: pkg/kubelet/lifecycle/predicate.go (`InsufficientResourceError`), v1.36.3.
"""

import re
from typing import Final

import msgspec

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.events import PodRefused
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo

WITHHELD_SECONDS: Final = 30.0
"""Where nobody ever knows better, a Pod is tried and refused as rarely."""

_INSUFFICIENT: Final = re.compile(
    r"Node didn't have enough resource: (?P<resource>\S+), requested: -?\d+, "
    r"used: (?P<used>-?\d+), capacity: (?P<capacity>-?\d+)"
)


class _Withheld(msgspec.Struct, gc=False):
    """What is withheld of `node`, which is as the API server has it, by resource.

    `refused_uids` are the Pods that showed it: late news of them may still come.
    """

    node: NodeInfo
    amounts: dict[str, int]
    refused_uids: set[str]
    until_seconds: float = 0

    def offered(self) -> NodeInfo:
        amounts = tuple((n, a - self.amounts.get(n, 0)) for n, a in self.node.allocatable)
        return msgspec.structs.replace(self.node, allocatable=amounts)


class WithheldRoom:
    """The Nodes of which something is withheld; of most clusters at most times, none.

    `cache` has the Nodes as they are to be known; who changes them is the caller: where a
    method gives a Node, it is to be stored.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._nodes: dict[str, _Withheld] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def offered(self, node: NodeInfo) -> NodeInfo:
        """Give a Node, as the API server has it, without what is withheld of it."""
        withheld = self._nodes.get(node.name)
        if withheld is None:
            return node
        if node.allocatable != withheld.node.allocatable:
            # The kubelet has told anew what there is: its former figures are of no use.
            del self._nodes[node.name]
            return node
        withheld.node = node
        return withheld.offered()

    def forget(self, node_name: str) -> None:
        """Take in that a Node is gone."""
        self._nodes.pop(node_name, None)

    def learn(self, refused: PodRefused, now: Now) -> tuple[NodeInfo, str, int] | None:
        """Compare the figures of a refusal with what is known, without the refused Pod.

        Gives the Node, and the resource of which more is withheld by now, and how much more:
        milli-CPU, bytes or whole units. None where the kubelet gives no figures, or has no
        less room than is known here.
        """
        found = _INSUFFICIENT.search(refused.message)
        columns = self._cache.columns
        row = columns.rows.get(refused.node_name)
        node = None if row is None else columns.infos[row]
        if found is None or node is None:
            return None
        resource = found["resource"]
        left = max(int(found["capacity"]) - int(found["used"]), 0)
        counted = self._cache.get(refused.uid)
        kind = columns.resource_row(resource)
        missing = int(columns.free[kind, row]) - left
        if counted is not None:
            # Its end may come by the other watch, later.
            missing += int(columns.vector(counted.requests)[kind])
        if missing <= 0:
            return None
        withheld = self._nodes.setdefault(refused.node_name, _Withheld(node, {}, set()))
        withheld.refused_uids.add(refused.uid)
        withheld.amounts[resource] = withheld.amounts.get(resource, 0) + missing
        withheld.until_seconds = now.monotonic_seconds + WITHHELD_SECONDS
        return withheld.offered(), resource, missing

    def arrive(self, pod: PodInfo) -> NodeInfo | None:
        """Take in a Pod on a Node, before the cache does; it may be what the kubelet counted.

        Gives the Node if less is withheld of it by now.
        """
        withheld = self._nodes.get(pod.node_name)
        if withheld is None or pod.is_finished:
            return None
        if pod.uid in self._cache or pod.uid in withheld.refused_uids:
            return None
        columns = self._cache.columns
        takes = columns.vector(pod.requests)
        left = {
            name: amount - int(takes[columns.resource_row(name)])
            for name, amount in withheld.amounts.items()
        }
        withheld.amounts = {name: amount for name, amount in left.items() if amount > 0}
        if not withheld.amounts:
            del self._nodes[pod.node_name]
        return withheld.offered()

    def expire(self, now: Now) -> list[NodeInfo]:
        """Give the Nodes of which nothing is withheld any more, since it was long ago."""
        over = [
            name
            for name, withheld in self._nodes.items()
            if withheld.until_seconds <= now.monotonic_seconds
        ]
        return [self._nodes.pop(name).node for name in over]

    def next_deadline(self) -> float | None:
        """Give the monotonic second at which `expire` is due; None while nothing is withheld."""
        return min((withheld.until_seconds for withheld in self._nodes.values()), default=None)
