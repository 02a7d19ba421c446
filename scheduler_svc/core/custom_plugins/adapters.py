"""Users' plugins as the framework's: a class of the framework for each extension point.

`adapt` puts together those that the plugin's methods call for. A failure becomes an error
of the attempt, so the Pod is retried and its event names the plugin; nothing of a failed
judgement is kept.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.custom_plugins.answers import (
    names_or_status,
    nothing,
    queueing_hint,
    registrations,
    sort_key,
    status_of,
    wait_or_status,
)
from scheduler_svc.core.custom_plugins.base import BasePlugin, connect
from scheduler_svc.core.custom_plugins.guard import Guard, PluginFailedError
from scheduler_svc.core.custom_plugins.node_arrays import ClassMemory
from scheduler_svc.core.custom_plugins.views import Pod
from scheduler_svc.core.events import PermitDecided
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    QueueingHint,
)
from scheduler_svc.core.framework.interface import (
    EnqueueExtensions,
    FedPlugin,
    PermitPlugin,
    PostBindPlugin,
    PreBindPlugin,
    PreBindWork,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Code, Status

FEED: Final = "Feed"

T = TypeVar("T")
R = TypeVar("R")


class ClassState:
    """What an adapter keeps for a class of Pods: whom it is about, and what went wrong."""

    __slots__ = ("cluster", "failure", "memory", "pod")

    def __init__(self, pod: Pod, cluster: Cluster) -> None:
        self.pod = pod
        self.cluster = cluster
        self.memory = ClassMemory()
        self.failure: Status | None = None


class CustomPreBind(msgspec.Struct, frozen=True):
    """Work for the shell: await the plugin's `pre_bind`."""

    plugin: BasePlugin[Any]
    pod: Pod
    limit_seconds: float


class CustomUndo(msgspec.Struct, frozen=True):
    """Work for the shell: await the plugin's `undo_pre_bind`."""

    plugin: BasePlugin[Any]
    pod: Pod
    node_name: str
    limit_seconds: float


class Adapter(FedPlugin):
    """Base of the adapters: the user's plugin, and how it is called."""

    def __init__(self, plugin: BasePlugin[Any], guard: Guard) -> None:
        self.plugin = plugin
        self._guard = guard
        self._feed_version = 0
        # Read once, when the plugin's values have been checked.
        self.limit_seconds = float(plugin.pre_bind_timeout_seconds)

    def connect(self, tell: Callable[[PermitDecided], None]) -> None:
        """Have `tell` told, from any thread, whom the plugin allows or rejects at Permit."""
        connect(self.plugin, lambda uid, reason: tell(PermitDecided(uid, self.name, reason)))

    def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
        """Give how often the plugin's feed has told something: Pods are judged anew then."""
        del pod, cluster
        return self._feed_version

    def take_in(self, value: Any) -> Status:
        """Take in what the plugin's feed told."""
        self._feed_version += 1
        status: Status = self._ask("on_feed", partial(self.plugin.on_feed, value), nothing)
        return status

    def feed_event(self) -> ClusterEvent:
        """Give the event of the feed having told something."""
        return ClusterEvent(f"{FEED}/{self.name}", ActionType.UPDATE)

    def failure(self, state: ClassState) -> Status | None:
        """Give what went wrong with the class."""
        return state.failure

    def _ask(
        self, point: str, method: Callable[[], Any], read: Callable[[str, str, Any], Any]
    ) -> Any:
        """Give what `read` makes of the answer; an error status where there is none."""
        try:
            return self._asked(point, method, read)
        except PluginFailedError as error:
            return Status(Code.ERROR, (str(error),))

    def _asked(self, point: str, method: Callable[[], T], read: Callable[[str, str, T], R]) -> R:
        """Give what `read` makes of the answer; what it raises is the plugin's failure, too."""
        answer: R = self._guard.call(self.name, point, lambda: read(self.name, point, method()))
        return answer

    def _state(self, pod: PodInfo, cluster: Cluster) -> ClassState:
        return ClassState(Pod(pod, self.pod_fields), cluster)


class PreFilterAdapter(Adapter, PreFilterPlugin):
    """PreFilter; also of plugins without one, whose Filter needs the state."""

    has_pre_filter: ClassVar[bool]

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Ask the plugin, if it has something to say."""
        state = self._state(pod, cluster)
        if not self.has_pre_filter:
            return PreFilterResult(state=state)
        answer = self._ask(
            "pre_filter", partial(self.plugin.pre_filter, state.pod), names_or_status
        )
        if isinstance(answer, Status):
            return PreFilterResult(answer, state)
        return PreFilterResult(state=state, node_names=answer)


class PreScoreAdapter(Adapter, PreScorePlugin):
    """PreScore, which upstream's point of that name is not: it hands the state to Score."""

    def pre_score(self, pod: PodInfo, cluster: Cluster) -> tuple[Status, ClassState]:
        """Never skip."""
        return SUCCESS, self._state(pod, cluster)


class PreEnqueueAdapter(Adapter, PreEnqueuePlugin):
    """PreEnqueue."""

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Keep the Pod out of the queue for a reason; also while the plugin fails."""
        status: Status = self._ask(
            "pre_enqueue", partial(self.plugin.pre_enqueue, Pod(pod)), status_of
        )
        return status


class QueueSortAdapter(Adapter, QueueSortPlugin):
    """QueueSort; where the plugin fails, by priority and time, as PrioritySort."""

    def sort_key(self, pod: PodInfo, timestamp_seconds: float) -> tuple[float, ...]:
        """Give the plugin's key."""
        method = partial(self.plugin.sort_key, Pod(pod), timestamp_seconds)
        try:
            return self._asked("sort_key", method, sort_key)
        except PluginFailedError:
            return (-pod.priority, timestamp_seconds)


class ReserveAdapter(Adapter, ReservePlugin):
    """Reserve and Unreserve; also of plugins without them that can undo their PreBind."""

    has_reserve: ClassVar[bool]
    has_unreserve: ClassVar[bool]
    has_undo: ClassVar[bool]

    def reserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        """Ask the plugin."""
        del cluster
        if not self.has_reserve:
            return SUCCESS
        method = partial(self.plugin.reserve, Pod(pod), node_name)
        status: Status = self._ask("reserve", method, status_of)
        return status

    def unreserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> None:
        """Tell the plugin; if it fails there is nobody to tell but the guard."""
        del cluster
        if self.has_unreserve:
            method = partial(self.plugin.unreserve, Pod(pod), node_name)
            self._ask("unreserve", method, nothing)

    def undo(self, pod: PodInfo, node_name: str) -> CustomUndo | None:
        """Give the work that undoes PreBind, where the plugin can."""
        if not self.has_undo:
            return None
        return CustomUndo(self.plugin, Pod(pod), node_name, self.limit_seconds)


class PermitAdapter(Adapter, PermitPlugin):
    """Permit."""

    def permit(self, pod: PodInfo, node_name: str) -> tuple[Status, float]:
        """Ask the plugin."""
        method = partial(self.plugin.permit, Pod(pod), node_name)
        answer = self._ask("permit", method, wait_or_status)
        return (answer, 0.0) if isinstance(answer, Status) else (Status(Code.WAIT), answer)


class PreBindAdapter(Adapter, PreBindPlugin):
    """PreBind: the work is done by the shell."""

    def pre_bind(self, pod: PodInfo, node_name: str, cluster: Cluster) -> PreBindWork | Status:
        """Give the work."""
        del node_name, cluster
        payload = CustomPreBind(self.plugin, Pod(pod), self.limit_seconds)
        return PreBindWork(payload, self.limit_seconds)


class PostBindAdapter(Adapter, PostBindPlugin):
    """PostBind."""

    def post_bind(self, pod: PodInfo, node_name: str) -> None:
        """Tell the plugin."""
        self._ask("post_bind", partial(self.plugin.post_bind, Pod(pod), node_name), nothing)


class EventsAdapter(Adapter, EnqueueExtensions):
    """The events that may undo rejections; the plugin is asked for them when it is made."""

    def __init__(self, plugin: BasePlugin[Any], guard: Guard) -> None:
        super().__init__(plugin, guard)
        self._registered = self._asked(
            "events_to_register", plugin.events_to_register, registrations
        )

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Give the plugin's, with hints that see Pods as plugins do; and its feed."""
        of_plugin = [
            EventRegistration(r.event, r.hint and partial(self._hint, r.hint))
            for r in self._registered
        ]
        return [*of_plugin, EventRegistration(self.feed_event())]

    def _hint(self, hint: Callable[..., Any], pod: PodInfo, old: Any, new: Any) -> QueueingHint:
        """Ask a hint; one that fails brings the Pod back, as upstream's."""
        method = partial(hint, Pod(pod), _seen(old), _seen(new))
        try:
            return self._asked("queueing hint", method, queueing_hint)
        except PluginFailedError:
            return QueueingHint.QUEUE


def _seen(value: Any) -> Any:
    return Pod(value) if isinstance(value, PodInfo) else value
