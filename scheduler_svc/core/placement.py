"""A Pod on the Node chosen for it: assumed, reserved and permitted, then bound or undone.

Source: pkg/scheduler/schedule_one.go (`schedulingCycle`, from `assume` on), v1.36.3.
"""

from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.binding_cycle import BindingCycles
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.effects import Effect
from scheduler_svc.core.failure import Rejectors, reference
from scheduler_svc.core.framework.diagnosis import Diagnosis
from scheduler_svc.core.framework.filtering import NodeGroup
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.stopwatch import Stopwatch, timed
from scheduler_svc.core.pod_binding import BindingCycle
from scheduler_svc.core.queue import QueuedPodInfo
from scheduler_svc.core.status import Code, Status

MAX_PERMIT_SECONDS: Final = 15 * 60


class Placement(msgspec.Struct):
    """A Pod that counts on the Node of `row`; `permits` are the deadlines of who holds it."""

    queued: QueuedPodInfo
    row: int
    permits: dict[str, float]


class Refusal(msgspec.Struct):
    """A Pod that a Reserve or Permit plugin did not accept there; it counts nowhere."""

    queued: QueuedPodInfo
    row: int
    status: Status
    point: str

    @property
    def error(self) -> str:
        """What went wrong, where the plugin did not say no but failed."""
        return f'running {self.point} plugin "{self.status.plugin}": {self.status.message}'

    def diagnosis(self) -> Diagnosis:
        """Say so of one Node, the only one looked at: so does upstream's text."""
        return Diagnosis(node_count=1, groups=(NodeGroup(self.status, np.array([self.row])),))

    def rejectors(self) -> Rejectors:
        """Give the plugin, as one that waits for an outside actor where it says so."""
        plugins = frozenset({self.status.plugin})
        if self.status.code is Code.PENDING:
            return Rejectors(frozenset(), plugins)
        return Rejectors(plugins)


class Placing:
    """Puts Pods of one profile on Nodes; `instance` makes its decisions' ids unique."""

    def __init__(
        self, profile: Profile, cache: Cache, bindings: BindingCycles, instance: str
    ) -> None:
        self._profile = profile
        self._cache = cache
        self._bindings = bindings
        self._instance = instance
        self._decision_count = 0

    def place(
        self, queued: QueuedPodInfo, row: int, now: Now, stopwatch: Stopwatch | None
    ) -> Placement | Refusal:
        """Count a Pod on the Node of a row, and ask who may object. O(R + plugins)."""
        pod, cluster = queued.pod, self._cache.cluster
        node_name = self._cache.columns.names[row]
        self._cache.assume(pod, row)
        for reserving in self._profile.reserve:
            if stopwatch is None:
                status = reserving.reserve(pod, node_name, cluster)
            else:
                ask = reserving.reserve
                status = timed(stopwatch, "Reserve", reserving.name, ask, pod, node_name, cluster)
            if status.code is not Code.SUCCESS:
                return self._refuse(queued, row, status, "Reserve", reserving.name)
        permits: dict[str, float] = {}
        for permitting in self._profile.permit:
            status, wait_seconds = timed(
                stopwatch, "Permit", permitting.name, permitting.permit, pod, node_name
            )
            if status.code is Code.WAIT:
                wait_seconds = min(wait_seconds, MAX_PERMIT_SECONDS)
                permits[permitting.name] = now.monotonic_seconds + wait_seconds
            elif status.code is not Code.SUCCESS:
                return self._refuse(queued, row, status, "Permit", permitting.name)
        return Placement(queued, row, permits)

    def _refuse(
        self, queued: QueuedPodInfo, row: int, status: Status, point: str, plugin: str
    ) -> Refusal:
        self._take_back(queued, row)
        return Refusal(queued, row, Status(status.code, status.reasons, plugin), point)

    def undo(self, placement: Placement) -> None:
        """Count a Pod off its Node again; the one placed last is the first to be undone."""
        self._take_back(placement.queued, placement.row)

    def _take_back(self, queued: QueuedPodInfo, row: int) -> None:
        pod, node_name = queued.pod, self._cache.columns.names[row]
        for reserving in reversed(self._profile.reserve):
            reserving.unreserve(pod, node_name, self._cache.cluster)
        self._cache.forget(pod.uid)

    def bind(
        self, placement: Placement, begun: Now, now: Now, stopwatch: Stopwatch | None
    ) -> list[Effect]:
        """Begin the binding cycle of a Pod whose attempt had begun at `begun`."""
        queued = placement.queued
        self._decision_count += 1
        cycle = BindingCycle(
            queued=queued,
            reference=reference(queued.pod),
            profile=self._profile,
            node_name=self._cache.columns.names[placement.row],
            decision_id=f"{self._instance}-{self._decision_count:x}",
            decided_at=now,
            queue_wait_seconds=begun.monotonic_seconds - queued.timestamp_seconds,
            permits=placement.permits,
        )
        return self._bindings.start(cycle, now, stopwatch)
