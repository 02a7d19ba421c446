"""Which Pods would have to go from a Node: all less important ones go, then some are spared.

For classes whose filters judge each Node by what is on it alone, many Nodes are searched at
once: first all Pods of lower priority are counted off all of them, then the first Pod of
every Node is counted on again, then the second, and so on; each time the filters are asked
once. Where a filter looks at other Nodes, it is one Node after the other.

Source: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go
(`SelectVictimsOnNode`) and pkg/scheduler/framework/preemption/preemption.go
(`DryRunPreemption`), v1.36.3. Difference: once enough candidates are found, those that were
searched along with them are candidates, too.
"""

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.cache import Speculation
from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.framework.filtering import NodeGroup, split_at_others
from scheduler_svc.core.framework.nominated import ask_all, respected_pods
from scheduler_svc.core.framework.post_filter import FailedAttempt
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.preemption.budgets import Budgets
from scheduler_svc.core.preemption.candidates import Candidate, by_importance
from scheduler_svc.core.status import Code, Status

NO_VICTIMS: Final = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("No preemption victims found for incoming pod",)
)


class SearchResult(msgspec.Struct):
    """Candidates, and why other Nodes are none; `errors` are of Nodes where something is odd."""

    candidates: list[Candidate]
    groups: list[NodeGroup]
    errors: list[str]


class _Node(msgspec.Struct):
    """A Node under search: Pods that may be spared, in turn, and the victims so far."""

    row: int
    violating_count: int
    turns: list[PodInfo]
    victims: list[PodInfo]
    violation_count: int = 0


class Search:
    """Searches Nodes for the victims of one attempt; once."""

    def __init__(self, attempt: FailedAttempt, budgets: Budgets) -> None:
        self._attempt = attempt
        self._cache = attempt.cache
        self._columns = attempt.cache.columns
        self._budgets = budgets
        self._filters = attempt.prepared.filters
        self._local_filters, self._other_filters = split_at_others(self._filters)
        self._respected = respected_pods(attempt.pod, attempt.cache, attempt.nominator)
        self._result = SearchResult([], [], [])

    def run(self, rows: RowArray, wanted_count: int) -> SearchResult:
        """Search Nodes in the order of `rows` until there are enough candidates.

        That is `wanted_count` of them, one of which breaks no budget.
        """
        for start in range(0, len(rows), wanted_count):
            self._search(rows[start : start + wanted_count])
            if self._is_enough(wanted_count):
                break
        places = {row: place for place, row in enumerate(rows.tolist())}
        self._result.candidates.sort(key=lambda candidate: places[candidate.row])
        return self._result

    def _is_enough(self, wanted_count: int) -> bool:
        candidates = self._result.candidates
        return len(candidates) >= wanted_count and any(
            candidate.violation_count == 0 for candidate in candidates
        )

    def _search(self, rows: RowArray) -> None:
        pods = {row: self._less_important(row) for row in rows.tolist()}
        hopeless = [row for row, found in pods.items() if not found]
        if hopeless:
            self._result.groups.append(NodeGroup(NO_VICTIMS, _row_array(hopeless)))
        searched = sorted(row for row, found in pods.items() if found)
        if not self._other_filters:
            self._search_together(searched, pods)
            return
        for row in self._pass_local(searched, pods):
            self._search_together([row], pods)

    def _less_important(self, row: int) -> list[PodInfo]:
        priority = self._attempt.pod.priority
        return [cached.pod for cached in self._cache.pods_on(row) if cached.pod.priority < priority]

    def _pass_local(self, rows: list[int], pods: dict[int, list[PodInfo]]) -> list[int]:
        """Sort out Nodes that do not pass even the first filters without the Pods."""
        with self._cache.speculation() as speculation:
            _remove(speculation, rows, pods)
            passed: RowArray = ask_all(
                self._local_filters,
                self._respected,
                self._columns,
                _row_array(rows),
                self._result.groups,
            )
        result: list[int] = passed.tolist()
        return result

    def _search_together(self, rows: list[int], pods: dict[int, list[PodInfo]]) -> None:
        with self._cache.speculation() as speculation:
            _remove(speculation, rows, pods)
            passed = self._ask(rows, self._result.groups)
            nodes = [self._node(row, pods[row]) for row in passed]
            self._spare(speculation, nodes)
        for node in nodes:
            self._take(node)

    def _ask(self, rows: list[int], groups: list[NodeGroup] | None = None) -> list[int]:
        """Give those of `rows`, ascending, where the Pod would fit now."""
        array = _row_array(rows)
        passed = ask_all(self._filters, self._respected, self._columns, array, groups)
        result: list[int] = passed.tolist()
        return result

    def _node(self, row: int, pods: list[PodInfo]) -> _Node:
        violating, others = self._budgets.split(sorted(pods, key=by_importance))
        return _Node(row, len(violating), [*violating, *others], [])

    def _spare(self, speculation: Speculation, nodes: list[_Node]) -> None:
        """Let every Pod stay whose staying leaves room enough, in turn on every Node."""
        turn = 0
        while nodes:
            nodes = [node for node in nodes if turn < len(node.turns)]
            for node in nodes:
                speculation.add(node.turns[turn], node.row)
            fitting = set(self._ask([node.row for node in nodes]))
            for node in nodes:
                if node.row not in fitting:
                    pod = node.turns[turn]
                    speculation.remove(pod, node.row)
                    node.victims.append(pod)
                    node.violation_count += turn < node.violating_count
            turn += 1

    def _take(self, node: _Node) -> None:
        if node.victims:
            victims = tuple(sorted(node.victims, key=by_importance))
            candidate = Candidate(node.row, victims, node.violation_count)
            self._result.candidates.append(candidate)
            return
        # The Pod fits as things are, so it has been turned away for another reason.
        name = self._columns.names[node.row]
        self._result.errors.append(f'expected at least one victim pod on node "{name}"')


def _remove(speculation: Speculation, rows: Iterable[int], pods: dict[int, list[PodInfo]]) -> None:
    for row in rows:
        for pod in pods[row]:
            speculation.remove(pod, row)


def _row_array(rows: list[int]) -> RowArray:
    return np.array(rows, dtype=np.intp)
