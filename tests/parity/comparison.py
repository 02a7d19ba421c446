"""Compares kube-scheduler's answer about a Pod with ours, both as JSON.

While plugins are missing, what depends on them is left out, and counted by plugin. Where
several Nodes are equally good for a preemption, either answer is right.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from scheduler_svc.core.registry import IN_TREE
from tests.parity.eviction_cost import eviction_cost

LEFT_OUT: Final = "left out: "
# Their scores depend on which Nodes are feasible.
COMPARATIVE: Final = frozenset(
    {"TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity", "DynamicResources"}
)

Answer = dict[str, Any]


class Comparison:
    """Compares answers about the Pods of one snapshot.

    Parameters
    ----------
    items
        The objects of the snapshot.
    missing
        The enabled plugins that there are none of yet.
    takes_any_candidate
        The search for victims ends before it has seen all Nodes, wherever it began: any Node
        with any victims is right then, if there is one.
    """

    def __init__(
        self,
        items: Iterable[dict[str, Any]],
        missing: frozenset[str],
        *,
        takes_any_candidate: bool = False,
        scoring_alone: frozenset[str] = frozenset(),
    ) -> None:
        assert not missing & IN_TREE.keys()
        self._items = list(items)
        self._missing = missing
        self._takes_any_candidate = takes_any_candidate
        self._scoring_alone = scoring_alone

    def compare(self, theirs: Answer, ours: Answer) -> Counter[str]:
        """Raise `AssertionError` at the first difference; give what was compared."""
        assert ours["pod"] == theirs["pod"]
        compared = Counter({"Pods": 1})
        rejector = theirs.get("preFilterPlugin")
        if rejector in self._missing:
            compared[f"{LEFT_OUT}{rejector}"] += 1
            return compared
        compared += self._compare_nodes(theirs.get("nodes", {}), ours.get("nodes", {}))
        if any(name.startswith(LEFT_OUT) for name in compared):
            return compared
        for field in theirs.keys() | ours.keys():
            if field not in ("nodes", "postFilter", "fitError"):
                _same(field, theirs.get(field), ours.get(field))
                compared[field] += 1
        _same("fitError", _own_text(theirs), _own_text(ours))
        if self._missing:
            # Who is missing might have had something to say on what would make room.
            compared[f"{LEFT_OUT}{min(self._missing)}"] += "postFilter" in theirs
        else:
            _same("fitError", theirs.get("fitError"), ours.get("fitError"))
            self._compare_post_filter(theirs.get("postFilter", {}), ours.get("postFilter", {}))
        return compared

    def _compare_nodes(self, theirs: Answer, ours: Answer) -> Counter[str]:
        others = {name for name, node in theirs.items() if node.get("plugin") in self._missing}
        compared = Counter(LEFT_OUT + theirs[name]["plugin"] for name in others)
        if not self._missing:
            _same("Nodes", sorted(theirs), sorted(ours))
        for name in theirs.keys() - others:
            expected, given = theirs[name], ours[name]
            if "code" in expected:
                _same(name, expected, given)
                compared["rejections"] += 1
                continue
            scores = self._said(expected.get("scores", {}))
            unknown = scores.keys() & self._missing
            compared.update(LEFT_OUT + plugin for plugin in unknown)
            ignored = unknown | (COMPARATIVE if others else set())
            known = _without(scores, ignored)
            _same(name, known, _without(self._said(given.get("scores", {})), ignored))
            compared["shares"] += len(scores.keys() - ignored)
            if not ignored:
                _same(f"{name}: total", expected["total"], given["total"])
        return compared

    def _said(self, scores: dict[str, int]) -> dict[str, int]:
        return {
            plugin: share
            for plugin, share in scores.items()
            if share or plugin not in self._scoring_alone
        }

    def _compare_post_filter(self, theirs: Answer, ours: Answer) -> None:
        if ours == theirs:
            return
        fields = theirs.keys() | ours.keys()
        different = {field for field in fields if ours.get(field) != theirs.get(field)}
        # Another Node may be as good, but its victims are others.
        is_tie = different == {"nominatedNodeName", "victims"} or not theirs.get("victims")
        if not (is_tie and different <= {"nominatedNodeName", "victims"}):
            _same("postFilter", theirs, ours)
        if self._takes_any_candidate:
            _same("postFilter has victims", bool(theirs.get("victims")), bool(ours.get("victims")))
            return
        costs = [eviction_cost(self._items, answer.get("victims", ())) for answer in (ours, theirs)]
        if costs[0] != costs[1]:
            _same("postFilter", theirs, ours)


def _own_text(answer: Answer) -> str:
    """Give why no Node fits, without what PostFilters have said."""
    said = answer.get("postFilter", {}).get("message", "")
    return str(answer.get("fitError", "")).removesuffix(said).rstrip()


def _without(scores: dict[str, int], ignored: Iterable[str]) -> dict[str, int]:
    return {plugin: share for plugin, share in scores.items() if plugin not in set(ignored)}


def _same(what: str, theirs: Any, ours: Any) -> None:
    if ours != theirs:
        raise AssertionError(f"{what}: kube-scheduler says {theirs!r}, we say {ours!r}")
