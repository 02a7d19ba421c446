"""A Scheduler that serves groups, with the plugins that decide in most clusters."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.effects import BindPod, Effect, PatchPodCondition
from scheduler_svc.core.events import (
    BindSucceeded,
    NodeUpserted,
    ObjectUpserted,
    PodDeleted,
    PodUpserted,
)
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.group_objects import PodGroup
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.plugins.default_binder import DefaultBinder
from scheduler_svc.core.plugins.default_preemption import DefaultPreemption
from scheduler_svc.core.plugins.gang_scheduling import GangScheduling
from scheduler_svc.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_svc.core.plugins.node_affinity import NodeAffinity
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.plugins.node_unschedulable import NodeUnschedulable
from scheduler_svc.core.plugins.priority_sort import PrioritySort
from scheduler_svc.core.plugins.scheduling_gates import SchedulingGates
from scheduler_svc.core.plugins.taint_toleration import TaintToleration
from scheduler_svc.core.pod_groups import GroupTiming
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.scheduler import Scheduler, Timing
from tests.builders import SCHEDULER, at, make_node_info, make_profile

TWO_CPUS = {"cpu": "2"}
FOUR_CPUS = {"cpu": "4"}
TIMING = GroupTiming(head_seconds=60, hold_seconds=30)


def points(**more: Sequence[Plugin]) -> dict[str, Sequence[Plugin]]:
    """Give the plugins of such a scheduler; `more` replaces those of a point.

    All that groups wait for is among them: whom nobody knows would be called by every event.
    """
    fit, affinity, others = NodeResourcesFit(), NodeAffinity(), InterPodAffinity()
    cordon, taints, preemption = NodeUnschedulable(), TaintToleration(), DefaultPreemption()
    return {
        "queueSort": [PrioritySort()],
        "preEnqueue": [SchedulingGates(), GangScheduling()],
        "preFilter": [affinity, fit, others],
        "filter": [cordon, taints, affinity, fit, others],
        "postFilter": [preemption],
        "score": [fit],
        "preScore": [fit],
        "bind": [DefaultBinder()],
        **more,
    }


class Stage:
    """A scheduler and the time."""

    def __init__(
        self,
        nodes: Iterable[NodeInfo | str] = ("n1",),
        groups: Iterable[PodGroup] = (),
        placed: Iterable[PodInfo] = (),
        plugins: dict[str, Sequence[Plugin]] | None = None,
        profiles: Sequence[Profile] = (),
        **arguments: Any,
    ) -> None:
        served = profiles or [make_profile(plugins or points(), scheduler=SCHEDULER)]
        self.scheduler = Scheduler(served, timing=Timing(groups=TIMING), **arguments)
        self.seconds = 0.0
        self.bound: dict[str, str] = {}
        for node in nodes:
            info = make_node_info(node) if isinstance(node, str) else node
            self.tell(NodeUpserted(info))
        for group in groups:
            self.tell_group(group)
        for pod in placed:
            self.tell(PodUpserted(pod))

    def tell(self, event: Any) -> list[Effect]:
        """Tell an event."""
        return self.scheduler.handle(event, at(self.seconds))

    def tell_group(self, group: PodGroup) -> None:
        """Tell that a group came or changed."""
        self.tell(ObjectUpserted(ObjectKind.POD_GROUP, group))

    def add(self, *pods: PodInfo) -> None:
        """Tell that Pods came or changed."""
        for pod in pods:
            self.tell(PodUpserted(pod))

    def delete(self, *pods: PodInfo) -> None:
        """Tell that Pods are gone."""
        for pod in pods:
            self.tell(PodDeleted(pod.uid))

    def run(self, *, confirms: bool = True) -> list[Effect]:
        """Make attempts until there is no Pod for one; Pods are bound as asked for."""
        effects: list[Effect] = []
        while (made := self.scheduler.step(at(self.seconds))) is not None:
            self.scheduler.validate()
            effects += made
            for binding in [e for e in made if isinstance(e, BindPod)]:
                self.bound[binding.pod.name] = binding.node_name
                if confirms:
                    self.confirm(binding.pod.uid)
        return effects

    def confirm(self, uid: str) -> None:
        """Tell that a Pod is bound, by the API server's answer."""
        self.tell(BindSucceeded(uid))

    def wait(self, seconds: float) -> None:
        """Let time pass, doing what is due on the way."""
        end = self.seconds + seconds
        while (due := self.scheduler.next_deadline()) is not None and due <= end:
            self.seconds = max(due, self.seconds)
            self.scheduler.expire(at(self.seconds))
            self.scheduler.validate()
            if self.scheduler.next_deadline() == due:
                break
        self.seconds = end
        self.scheduler.expire(at(end))


def messages(effects: Iterable[Effect]) -> dict[str, str]:
    """Give the message of each Pod's condition that is to be written."""
    return {e.pod.name: e.message for e in effects if isinstance(e, PatchPodCondition)}


def on(pod: PodInfo, node: str) -> PodInfo:
    """Give a Pod as the watch tells it once it is bound."""
    return msgspec.structs.replace(pod, node_name=node, resource_version="9")


def confirm_all(stage: "Stage", pods: list[PodInfo]) -> list[PodInfo]:
    """Tell, by the watch, of all Pods that are bound."""
    confirmed = [on(pod, stage.bound[pod.name]) for pod in pods if pod.name in stage.bound]
    stage.add(*confirmed)
    return confirmed
