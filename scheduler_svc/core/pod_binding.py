"""One Pod on its way from the decision to being bound, and what is to be done where it is."""

from collections.abc import Iterable

import msgspec

from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import BindPod, Effect, PodReference, ReportWait, RunCleanup
from scheduler_svc.core.framework.interface import PreBindPlugin
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.queue import QueuedPodInfo
from scheduler_svc.core.status import Code


class BindingCycle(msgspec.Struct, gc=False):
    """One Pod on its way from the decision to being bound.

    `permits` are the deadlines (monotonic seconds) of the plugins that hold the Pod;
    `asked_count` PreBind plugins have been asked, `working` is the one that works,
    since `work_begun_at_seconds`, and `is_at_work` that its outside work is still to have an
    outcome; `ending` is why the Pod goes no further once it has. `is_announced` says that the
    Pod's status has been made to show where it is going, `binder` is the plugin that took it.
    """

    queued: QueuedPodInfo
    reference: PodReference
    profile: Profile
    node_name: str
    decision_id: str
    decided_at: Now
    queue_wait_seconds: float
    permits: dict[str, float]
    asked_count: int = 0
    working: PreBindPlugin | None = None
    work_deadline_seconds: float | None = None
    work_timeout_error: str = ""
    work_begun_at_seconds: float = 0.0
    is_at_work: bool = False
    ending: str | None = None
    is_announced: bool = False
    binder: str = "DefaultBinder"

    @property
    def waits(self) -> bool:
        """Whether somebody holds the Pod: on Permit, or at work before it is bound."""
        return self.working is not None or bool(self.permits)


def binding(cycle: BindingCycle, extender: int | None = None) -> BindPod:
    """Have the Pod bound, by an extender if its number is given."""
    return BindPod(
        pod=cycle.reference,
        scheduler_name=cycle.profile.scheduler_name,
        node_name=cycle.node_name,
        decision_id=cycle.decision_id,
        attempt=cycle.queued.attempts,
        decided_at_seconds=cycle.decided_at.wall_seconds,
        queue_wait_seconds=cycle.queue_wait_seconds,
        extender=extender,
        plugin="" if extender is not None else cycle.binder,
    )


def waited(cycle: BindingCycle, code: Code, now: Now, message: str = "") -> ReportWait:
    """Tell how long a Pod that `waits` has done so, and how that has ended."""
    working = cycle.working
    since_seconds = cycle.work_begun_at_seconds
    if working is None:
        since_seconds = cycle.decided_at.monotonic_seconds
    return ReportWait(
        pod=cycle.reference,
        scheduler_name=cycle.profile.scheduler_name,
        extension_point="Permit" if working is None else "PreBind",
        plugin="" if working is None else working.name,
        status=code.text,
        seconds=now.monotonic_seconds - since_seconds,
        message=message,
    )


def undo_work(cycle: BindingCycle) -> list[Effect]:
    """Have taken back what PreBind has written, of the plugins that have been asked."""
    pod, effects = cycle.queued.pod, list[Effect]()
    asked = {plugin.name for plugin in cycle.profile.pre_bind[: cycle.asked_count]}
    for plugin in reversed(cycle.profile.reserve):
        payload = plugin.undo(pod, cycle.node_name) if plugin.name in asked else None
        if payload is not None:
            effects.append(RunCleanup(cycle.reference, plugin.name, payload))
    return effects


def deadlines(cycle: BindingCycle) -> Iterable[float]:
    """Give the monotonic seconds at which somebody will have taken too long."""
    yield from cycle.permits.values()
    if cycle.work_deadline_seconds is not None:
        yield cycle.work_deadline_seconds
