"""Candidates for preemption in the hands of extenders, which are asked one after the other.

An extender may strike Nodes off, and name other victims on a Node; what it says is what the
next one is asked about.

Source: pkg/scheduler/framework/preemption/preemption.go (`callExtenders`) and
pkg/scheduler/extender.go (`ProcessPreemption`, `convertToVictims`), v1.36.3. Difference: what
has gone while the extender thought is left out; upstream goes by its snapshot.
"""

from collections.abc import Sequence

import msgspec

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.effects import AskAboutVictims, NodeVictims, PodReference
from scheduler_svc.core.events import VictimsAnswered, VictimUids
from scheduler_svc.core.extenders import Extender
from scheduler_svc.core.framework.post_filter import (
    PostFilterResult,
    Preemption,
    report_preemption,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.preemption.candidates import Candidate, by_importance, choose
from scheduler_svc.core.status import SUCCESS, Code, Status


class _UnknownError(Exception):
    """An extender speaks of a Node or Pod that there is none of."""


class AskedVictims:
    """The Nodes that are left, and the extenders that are yet to be asked."""

    def __init__(self, candidates: Sequence[Preemption], extenders: Sequence[Extender]) -> None:
        self._candidates = {candidate.node_name: candidate for candidate in candidates}
        self._extenders = list(extenders)

    def is_settled(self) -> bool:
        """Tell whether nobody is to be asked any more."""
        return not (self._extenders and self._candidates)

    def question(self, pod: PodInfo, ticket: int) -> AskAboutVictims:
        """Give the question for the next extender."""
        return AskAboutVictims(
            pod=PodReference(pod.namespace, pod.name, pod.uid),
            scheduler_name=pod.scheduler_name,
            ticket=ticket,
            extender=self._extenders[0].number,
            victims={
                name: NodeVictims(
                    tuple(PodReference(v.namespace, v.name, v.uid) for v in candidate.victims),
                    candidate.violation_count,
                )
                for name, candidate in self._candidates.items()
            },
        )

    def take(self, answer: VictimsAnswered, cache: Cache) -> str:
        """Take in an answer; give what is wrong with it, unless the extender may be ignored."""
        extender = self._extenders.pop(0)
        error, left = answer.error, dict[str, Preemption]()
        try:
            for name, victims in answer.victims.items():
                pods = self._pods(name, victims, cache, answer.url)
                left[name] = Preemption(name, pods, victims.violation_count)
        except _UnknownError as unknown:
            error = error or str(unknown)
        if error:
            return "" if extender.is_ignorable else error
        for name in [name for name, candidate in left.items() if not candidate.victims]:
            if not extender.is_ignorable:
                return f'expected at least one victim pod on node "{name}"'
            del left[name]
        self._candidates = left
        return ""

    def _pods(
        self, node_name: str, victims: VictimUids, cache: Cache, url: str
    ) -> tuple[PodInfo, ...]:
        asked = self._candidates.get(node_name)
        if asked is None and not cache.columns.has_node(node_name):
            raise _UnknownError(f'nodeinfo not found for node name "{node_name}"')
        known = {} if asked is None else {pod.uid: pod for pod in asked.victims}
        known |= _pods_on(node_name, cache)
        for uid in victims.uids:
            if uid not in known:
                raise _UnknownError(
                    f"extender: {url} claims to preempt pod (UID: {uid}) on node: "
                    f"{node_name}, but the pod is not found on that node"
                )
        return tuple(sorted((known[uid] for uid in victims.uids), key=by_importance))

    def result(self, pod: PodInfo, cache: Cache, error: str) -> PostFilterResult:
        """Give what is to be done for the Pod now that all have been asked, or one has failed."""
        preemption = None if error else self._choose(cache)
        effects = (report_preemption(pod, preemption),)
        if error:
            status = Status(Code.ERROR, (f"preemption: {error}",))
        elif preemption is None:
            status = Status(Code.UNSCHEDULABLE, ("preemption: no candidate node for preemption",))
        else:
            return PostFilterResult(SUCCESS, preemption.node_name, preemption, effects)
        return PostFilterResult(status, effects=effects)

    def _choose(self, cache: Cache) -> Preemption | None:
        """Give the least harmful of what is left and still there; None if nothing is."""
        candidates: list[Candidate] = []
        for name, candidate in self._candidates.items():
            here = _pods_on(name, cache)
            victims = tuple(here[pod.uid] for pod in candidate.victims if pod.uid in here)
            if victims:
                row = cache.columns.rows[name]
                candidates.append(Candidate(row, victims, candidate.violation_count))
        if not candidates:
            return None
        chosen = choose(candidates)
        return msgspec.structs.replace(
            self._candidates[cache.columns.names[chosen.row]], victims=chosen.victims
        )


def _pods_on(node_name: str, cache: Cache) -> dict[str, PodInfo]:
    if not cache.columns.has_node(node_name):
        return {}
    row = cache.columns.rows[node_name]
    return {cached.pod.uid: cached.pod for cached in cache.pods_on(row)}
