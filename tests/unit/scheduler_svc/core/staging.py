"""A Scheduler with a few plugins that do as they are told, and what it says step by step."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from scheduler_svc.core.effects import BindPod, Effect, ReportWait
from scheduler_svc.core.events import NodeUpserted, PodUpserted
from scheduler_svc.core.framework.cluster_events import EventRegistration
from scheduler_svc.core.framework.interface import EnqueueExtensions, Plugin
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.plugins.default_binder import DefaultBinder
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.plugins.priority_sort import PrioritySort
from scheduler_svc.core.plugins.scheduling_gates import SchedulingGates
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.scheduler import Scheduler
from tests.builders import SCHEDULER, at, make_node_info

Points = Mapping[str, Sequence[Plugin]]

_E = TypeVar("_E")


class NeverHelped(EnqueueExtensions):
    """For a plugin whose rejections no event undoes."""

    def events_to_register(self) -> Sequence[EventRegistration]:
        return ()


def stage(
    points: Points | None = None,
    *,
    nodes: Sequence[str] = ("n1",),
    scheduler: str = SCHEDULER,
    **arguments: Any,
) -> Scheduler:
    """Build a scheduler that looks at resources alone, unless `points` say otherwise."""
    fit = NodeResourcesFit()
    plugins: dict[str, Sequence[Plugin]] = {
        "queueSort": [PrioritySort()],
        "preEnqueue": [SchedulingGates()],
        "preFilter": [fit],
        "filter": [fit],
        "bind": [DefaultBinder()],
        **(points or {}),
    }
    result = Scheduler([Profile(scheduler, plugins, {})], **arguments)
    for name in nodes:
        result.handle(NodeUpserted(make_node_info(name)), at(0))
    return result


def add(scheduler: Scheduler, pod: PodInfo, seconds: float = 0) -> None:
    """Tell the scheduler of a Pod."""
    assert scheduler.handle(PodUpserted(pod), at(seconds)) == []


def step(scheduler: Scheduler, seconds: float = 0) -> list[Effect]:
    """Make an attempt; there must be a Pod for it."""
    effects = scheduler.step(at(seconds))
    assert effects is not None
    scheduler.validate()
    return effects


def decide(scheduler: Scheduler, pod: PodInfo, seconds: float = 0) -> list[Effect]:
    """Tell the scheduler of a Pod and let it make its attempt."""
    add(scheduler, pod, seconds)
    return step(scheduler, seconds)


def bound_to(effects: Sequence[Effect]) -> str:
    """Give the Node of the Binding, which must be the only effect but for reports of waits."""
    [binding] = acts(effects)
    assert isinstance(binding, BindPod)
    return binding.node_name


def acts(effects: Sequence[Effect]) -> list[Effect]:
    """Leave out what only tells how long Pods have waited."""
    return [effect for effect in effects if not isinstance(effect, ReportWait)]


def the(kind: type[_E], effects: Sequence[Effect]) -> _E:
    """Give the only effect of a kind."""
    [effect] = [effect for effect in effects if isinstance(effect, kind)]
    return effect
