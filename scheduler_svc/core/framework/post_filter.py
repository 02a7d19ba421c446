"""PostFilter: what may be done for a Pod that fits nowhere.

Source: staging/src/k8s.io/kube-scheduler/framework/interface.go (`PostFilterPlugin`,
`PostFilterResult`) and pkg/scheduler/framework/runtime/framework.go (`RunPostFilterPlugins`),
v1.36.3. Difference: a plugin does nothing itself; what it wants done comes with its result.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

import msgspec

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect, PodReference, ReportPreemption
from scheduler_svc.core.extenders import Extender
from scheduler_svc.core.framework.diagnosis import Diagnosis
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.framework.stopwatch import Stopwatch, timed
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status


class FailedAttempt(msgspec.Struct, frozen=True):
    """An attempt that found no Node.

    `pod` is the newest version of the Pod, `prepared` its class, whose Filters may be asked
    again, `diagnosis` each Node's status. `seed` settles what is left to chance,
    `evicted_uids` are Pods that have been evicted for others and are not gone yet, whether or
    not the watch has told so, `extenders` those that have a say in whom to evict for the Pod.
    Nothing here is to be changed; `cache.speculation` asks what would be.
    """

    pod: PodInfo
    prepared: PreparedClass
    diagnosis: Diagnosis
    cache: Cache
    nominator: Nominator
    now: Now
    seed: int = 0
    evicted_uids: Collection[str] = frozenset()
    extenders: tuple[Extender, ...] = ()
    stopwatch: Stopwatch | None = None


class Preemption(msgspec.Struct, frozen=True):
    """Pods that have to go from a Node, the most important first.

    The eviction of `violation_count` of them breaks a budget.
    """

    node_name: str
    victims: tuple[PodInfo, ...]
    violation_count: int = 0

    @property
    def to_evict(self) -> tuple[PodInfo, ...]:
        """The victims that are not leaving already."""
        return tuple(pod for pod in self.victims if not pod.is_terminating)


def report_preemption(pod: PodInfo, preemption: Preemption | None) -> ReportPreemption:
    """Tell that a Pod was looked at; victims count 0 if all of them are leaving already."""
    is_evicting = preemption is not None and bool(preemption.to_evict)
    return ReportPreemption(
        pod=PodReference(pod.namespace, pod.name, pod.uid),
        scheduler_name=pod.scheduler_name,
        victim_count=len(preemption.victims) if preemption and is_evicting else 0,
    )


class PostFilterResult(msgspec.Struct, frozen=True):
    """What a PostFilter found, and wants done.

    `status`: success when room is being made; Unschedulable lets the next plugin try; Wait asks
    the attempt's extenders about the `candidates` first; anything else ends it. `nomination` is
    the Node that the Pod may hope for, "" if it has none to hope for any more, None to leave
    the Pod's nomination as it is. `rejectors` are the plugins that would turn the Pod away from
    Nodes even with room made: what they wait for may help, too.
    """

    status: Status
    nomination: str | None = None
    preemption: Preemption | None = None
    effects: tuple[Effect, ...] = ()
    candidates: tuple[Preemption, ...] = ()
    rejectors: frozenset[str] = frozenset()


class PostFilterPlugin(Plugin, ABC):
    """May make room for a Pod that fits nowhere."""

    @abstractmethod
    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        """Give success and what is to be done, or the reasons why nothing can be."""


class _Collected(msgspec.Struct):
    """What plugins that could do nothing have said, and what all want done."""

    reasons: list[str] = []
    nomination: str | None = None
    rejector: str = ""
    rejectors: frozenset[str] = frozenset()
    effects: tuple[Effect, ...] = ()

    def take(self, plugin: str, result: PostFilterResult) -> PostFilterResult | None:
        """Take in what a plugin says; give the result if that ends it."""
        status = result.status
        self.effects += result.effects
        self.rejectors |= result.rejectors
        attributed = Status(status.code, status.reasons, plugin)
        match status.code:
            case Code.UNSCHEDULABLE:
                if result.nomination is not None:
                    self.nomination = result.nomination
                self.reasons.extend(status.reasons)
                self.rejector = self.rejector or plugin
                return None
            case Code.WAIT:
                waiting = Status(Code.WAIT, tuple(self.reasons), plugin)
                return PostFilterResult(
                    waiting,
                    self.nomination,
                    effects=self.effects,
                    candidates=result.candidates,
                    rejectors=self.rejectors,
                )
            case Code.SUCCESS:
                return PostFilterResult(status, result.nomination, result.preemption, self.effects)
            case Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PostFilterResult(
                    *(attributed, result.nomination),
                    effects=self.effects,
                    rejectors=self.rejectors,
                )
            case _:
                return PostFilterResult(attributed, effects=self.effects)

    def ask(self, plugins: Sequence[PostFilterPlugin], attempt: FailedAttempt) -> PostFilterResult:
        """Ask in order until one ends it."""
        for plugin in plugins:
            ask = plugin.post_filter
            result = timed(attempt.stopwatch, "PostFilter", plugin.name, ask, attempt)
            ended = self.take(plugin.name, result)
            if ended is not None:
                return ended
        status = Status(Code.UNSCHEDULABLE, tuple(self.reasons), self.rejector)
        return PostFilterResult(
            status, self.nomination, effects=self.effects, rejectors=self.rejectors
        )


def run_post_filters(
    plugins: Sequence[PostFilterPlugin], attempt: FailedAttempt
) -> PostFilterResult:
    """Ask in order: success, a final no or an error ends it, other reasons add up.

    The nomination is that of the plugin that ended it, else the last one that anybody gave;
    an error leaves it as it is. What plugins want done is done, whoever ends it. Where a plugin
    waits for extenders that is the result: go on with `resume_post_filters`.
    """
    return _Collected().ask(plugins, attempt)


def resume_post_filters(
    plugins: Sequence[PostFilterPlugin],
    attempt: FailedAttempt,
    begun: PostFilterResult,
    result: PostFilterResult,
) -> PostFilterResult:
    """Go on after extenders have been asked: `result` is what has become of the plugin's wish.

    `begun` is the result that said so; its effects are not repeated.
    """
    waiting = begun.status.plugin
    collected = _Collected(list(begun.status.reasons), begun.nomination, rejectors=begun.rejectors)
    ended = collected.take(waiting, result)
    if ended is not None:
        return ended
    names = [plugin.name for plugin in plugins]
    return collected.ask(plugins[names.index(waiting) + 1 :], attempt)
