"""Which Pods would have to go from a Node: all less important ones go, then some are spared.

Many Nodes are searched at once: first all Pods of lower priority are counted off all of
them, then the first Pod of every Node is counted on again, then the second, and so on; each
time the filters are asked once. Only where a filter looks at other Nodes, and a Pod that
goes may change what it says, it is one Node after the other.

Source: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go
(`SelectVictimsOnNode`) and pkg/scheduler/framework/preemption/preemption.go
(`DryRunPreemption`), v1.36.3.
"""

from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.framework.filtering import Filters, NodeGroup, split_at_others
from scheduler_svc.core.framework.interface import Scope
from scheduler_svc.core.framework.nominated import ask_all, respected_pods
from scheduler_svc.core.framework.post_filter import FailedAttempt
from scheduler_svc.core.pods import Labels, PodInfo, PodShape
from scheduler_svc.core.preemption.budgets import Budgets
from scheduler_svc.core.preemption.candidates import (
    Candidate,
    by_importance,
    in_order_of_importance,
)
from scheduler_svc.core.preemption.counting import ColumnCounting, FullCounting
from scheduler_svc.core.preemption.nodes import SearchedNode
from scheduler_svc.core.status import Code, Status

NO_VICTIMS: Final = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("No preemption victims found for incoming pod",)
)
# Array operations on fewer Nodes cost no less.
_FEWEST_TOGETHER: Final = 32


class SearchResult(msgspec.Struct):
    """Candidates, and why other Nodes are none; `errors` are of Nodes where something is odd."""

    candidates: list[Candidate]
    groups: list[NodeGroup]
    errors: list[str]


class Search:
    """Searches Nodes for the victims of one attempt; once."""

    def __init__(self, attempt: FailedAttempt, budgets: Budgets) -> None:
        self._attempt = attempt
        self._cache = attempt.cache
        self._columns = attempt.cache.columns
        self._budgets = budgets
        self._filters = attempt.prepared.filters
        self._local_filters, _ = split_at_others(self._filters)
        # What may say otherwise when a Pod comes back to its Node.
        self._usage_filters = [f for f in self._filters if f[0].filter_scope is Scope.USAGE]
        self._other_filters = [f for f in self._filters if f[0].filter_scope is Scope.CLUSTER]
        self._changing_filters = [f for f in self._filters if f[0].filter_scope is not Scope.SPEC]
        self._reads_pods = any(plugin.reads_pods for plugin, _ in self._usage_filters)
        self._respected = respected_pods(attempt.pod, attempt.cache, attempt.nominator)
        self._concerns: dict[tuple[str, Labels, PodShape, bool], bool] = {}
        self._result = SearchResult([], [], [])

    def run(self, rows: RowArray, wanted_count: int) -> SearchResult:
        """Search Nodes in the order of `rows` until there are enough candidates.

        That is `wanted_count` of them, one of which breaks no budget. Those of the last Nodes
        that were searched together all count.
        """
        start = 0
        while start < len(rows) and not self._is_enough(wanted_count):
            missing = wanted_count - len(self._result.candidates)
            together = max(missing, _FEWEST_TOGETHER)
            self._search(rows[start : start + together])
            start += together
        places = {row: place for place, row in enumerate(rows.tolist())}
        self._result.candidates.sort(key=lambda candidate: places[candidate.row])
        return self._result

    def _is_enough(self, wanted_count: int) -> bool:
        candidates = self._result.candidates
        return len(candidates) >= wanted_count and any(
            candidate.violation_count == 0 for candidate in candidates
        )

    def _search(self, rows: RowArray) -> None:
        alike: list[SearchedNode] = []
        special: list[SearchedNode] = []
        hopeless: list[int] = []
        for row in sorted(rows.tolist()):
            pods = self._less_important(row)
            if not pods:
                hopeless.append(row)
            elif self._other_filters and any(map(self._concerns_others, pods)):
                special.append(SearchedNode(row, pods))
            else:
                alike.append(SearchedNode(row, pods))
        if hopeless:
            group = NodeGroup(NO_VICTIMS, np.array(hopeless, dtype=np.intp))
            self._result.groups.append(group)
        self._search_together(alike, self._usage_filters)
        for node in self._pass_local(special):
            self._search_together([node], self._changing_filters)

    def _less_important(self, row: int) -> list[PodInfo]:
        priority = self._attempt.pod.priority
        return [
            cached.pod
            for cached in self._cache.pods_on(row)
            if cached.pod.shape.priority < priority
        ]

    def _concerns_others(self, pod: PodInfo) -> bool:
        """Whether a filter that looks at other Nodes may care; found once for Pods alike."""
        key = (pod.namespace, pod.labels, pod.shape, bool(pod.volumes))
        concerns = self._concerns.get(key)
        if concerns is None:
            concerns = self._concerns[key] = any(
                plugin.is_concerned_by(state, pod) for plugin, state in self._other_filters
            )
        return concerns

    def _counting(self, nodes: list[SearchedNode], filters: Filters) -> FullCounting:
        reads_columns_only = not self._reads_pods and filters is self._usage_filters
        if reads_columns_only:
            return ColumnCounting(self._cache, nodes)
        return FullCounting(self._cache, nodes)

    def _pass_local(self, nodes: list[SearchedNode]) -> list[SearchedNode]:
        """Sort out Nodes that do not pass even the filters that look at themselves alone."""
        with self._counting(nodes, self._usage_filters) as counting:
            counting.remove_all()
            return self._passing(nodes, self._local_filters, self._result.groups)

    def _search_together(self, nodes: list[SearchedNode], filters: Filters) -> None:
        """Search Nodes at once; `filters` are those that may change as Pods come back."""
        with self._counting(nodes, filters) as counting:
            counting.remove_all()
            found = self._passing(nodes, self._filters, self._result.groups)
            for node in found:
                node.take_turns(*self._budgets.split(in_order_of_importance(node.pods)))
            self._spare(counting, found, filters)
        for node in found:
            self._take(node)

    def _spare(self, counting: FullCounting, nodes: list[SearchedNode], filters: Filters) -> None:
        """Let every Pod stay whose staying leaves room enough, in turn on every Node."""
        turn = 0
        while nodes := [node for node in nodes if turn < len(node.turns)]:
            counting.add(nodes, turn)
            fitting = {node.row for node in self._passing(nodes, filters)}
            failing = [node for node in nodes if node.row not in fitting]
            counting.remove(failing, turn)
            for node in failing:
                node.evict(turn)
            turn += 1

    def _passing(
        self, nodes: list[SearchedNode], filters: Filters, groups: list[NodeGroup] | None = None
    ) -> list[SearchedNode]:
        """Give the Nodes, which are in ascending order of rows, where the Pod would fit now."""
        rows = np.array([node.row for node in nodes], dtype=np.intp)
        passed = ask_all(filters, self._respected, self._columns, rows, groups)
        if len(passed) == len(nodes):
            return nodes
        return [nodes[place] for place in np.searchsorted(rows, passed).tolist()]

    def _take(self, node: SearchedNode) -> None:
        if node.victims:
            victims = tuple(sorted(node.victims, key=by_importance))
            candidate = Candidate(node.row, victims, node.violation_count)
            self._result.candidates.append(candidate)
            return
        # The Pod fits as things are, so it has been turned away for another reason.
        name = self._columns.names[node.row]
        self._result.errors.append(f'expected at least one victim pod on node "{name}"')
