"""A Pod that waits to be scheduled, with its history in the queue."""

from enum import StrEnum
from math import inf

import msgspec

from scheduler_svc.core.pods import PodInfo


class Place(StrEnum):
    """Where a pending Pod is. It is in exactly one of them.

    The first four are the `queue` labels of `scheduler_pending_pods`.
    """

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"


class Gate(msgspec.Struct, frozen=True):
    """A PreEnqueue plugin's refusal to let a Pod into the queue, and its reason."""

    plugin: str
    message: str = ""


class QueuedPodInfo(msgspec.Struct, eq=False, gc=False):
    """A pending Pod and what the queue knows of it; the queue alone writes to it.

    All times are monotonic seconds. `timestamp_seconds` is refreshed at each return from
    an attempt, `sequence` with it: it is unique and orders equals by arrival.
    `initial_attempt_timestamp_seconds` is when the Pod first entered the activeQ, so
    time spent gated does not count; `popped_at_seconds` is when its last attempt
    began. Both sets of plugins are those of the last attempt, and they outlive the
    next `pop`. `flushed` says that nothing but the time limit of the unschedulable
    pool brought the Pod back: a missed event. `asked_condition` is the reason and message that
    were to be written last, be it that they still wait for their turn.

    Source: pkg/scheduler/framework/types.go `QueuedPodInfo`, v1.36.3.
    """

    pod: PodInfo
    sequence: int
    timestamp_seconds: float
    initial_attempt_timestamp_seconds: float | None = None
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors_count: int = 0
    backoff_expiration_seconds: float = -inf
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    gating_plugin: str | None = None
    flushed: bool = False
    popped_at_seconds: float = 0.0
    asked_condition: tuple[str, str] | None = None

    def ask_condition(self, told: tuple[str, str], newest: PodInfo) -> bool:
        """Note reason and message that the condition is to have; whether they are to be written.

        They are not where the Pod has them in its newest version and no others are on their way.
        """
        former, self.asked_condition = self.asked_condition, told
        return newest.condition != told or former not in (None, told)

    @property
    def is_gated(self) -> bool:
        """Whether a PreEnqueue plugin holds the Pod back."""
        return self.gating_plugin is not None

    @property
    def rejectors(self) -> frozenset[str]:
        """The plugins that rejected the Pod; none means that it failed with an error."""
        return self.unschedulable_plugins | self.pending_plugins
