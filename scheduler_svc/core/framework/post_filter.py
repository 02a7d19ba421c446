"""PostFilter: what may be done for a Pod that fits nowhere.

Source: staging/src/k8s.io/kube-scheduler/framework/interface.go (`PostFilterPlugin`,
`PostFilterResult`) and pkg/scheduler/framework/runtime/framework.go (`RunPostFilterPlugins`),
v1.36.3. Difference: a plugin does nothing itself; what it wants done comes with its result.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable

import msgspec

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.framework.diagnosis import Diagnosis
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status


class FailedAttempt(msgspec.Struct, frozen=True):
    """An attempt that found no Node.

    `pod` is the newest version of the Pod, `prepared` its class, whose Filters may be asked
    again, `diagnosis` each Node's status. `seed` settles what is left to chance,
    `evicted_uids` are Pods that have been evicted for others and are not gone yet, whether or
    not the watch has told so. Nothing here is to be changed; `cache.speculation` asks what
    would be.
    """

    pod: PodInfo
    prepared: PreparedClass
    diagnosis: Diagnosis
    cache: Cache
    nominator: Nominator
    now: Now
    seed: int = 0
    evicted_uids: Collection[str] = frozenset()


class Preemption(msgspec.Struct, frozen=True):
    """Pods that have to go from a Node, the most important first."""

    node_name: str
    victims: tuple[PodInfo, ...]

    @property
    def to_evict(self) -> tuple[PodInfo, ...]:
        """The victims that are not leaving already."""
        return tuple(pod for pod in self.victims if not pod.is_terminating)


class PostFilterResult(msgspec.Struct, frozen=True):
    """What a PostFilter found, and wants done.

    `status`: success when room is being made; Unschedulable lets the next plugin try;
    anything else ends it. `nomination` is the Node that the Pod may hope for, "" if it has
    none to hope for any more, None to leave the Pod's nomination as it is.
    """

    status: Status
    nomination: str | None = None
    preemption: Preemption | None = None
    effects: tuple[Effect, ...] = ()


class PostFilterPlugin(Plugin, ABC):
    """May make room for a Pod that fits nowhere."""

    @abstractmethod
    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        """Give success and what is to be done, or the reasons why nothing can be."""


def run_post_filters(
    plugins: Iterable[PostFilterPlugin], attempt: FailedAttempt
) -> PostFilterResult:
    """Ask in order: success, a final no or an error ends it, other reasons add up.

    The nomination is that of the plugin that ended it, else the last one that anybody gave;
    an error leaves it as it is. What plugins want done is done, whoever ends it.
    """
    reasons: list[str] = []
    nomination: str | None = None
    rejector = ""
    effects: tuple[Effect, ...] = ()
    for plugin in plugins:
        result = plugin.post_filter(attempt)
        status = result.status
        effects += result.effects
        if status.code is not Code.UNSCHEDULABLE:
            attributed = Status(status.code, status.reasons, plugin.name)
            if status.code is Code.SUCCESS:
                return PostFilterResult(status, result.nomination, result.preemption, effects)
            if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PostFilterResult(attributed, result.nomination, effects=effects)
            return PostFilterResult(attributed, effects=effects)
        if result.nomination is not None:
            nomination = result.nomination
        reasons.extend(status.reasons)
        rejector = rejector or plugin.name
    status = Status(Code.UNSCHEDULABLE, tuple(reasons), rejector)
    return PostFilterResult(status, nomination, effects=effects)
