"""A profile: the plugins of one schedulerName, by extension point and in order."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, TypeVar

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.cluster_events import EventRegistration
from scheduler_svc.core.framework.interface import (
    MAX_NODE_SCORE,
    BindPlugin,
    ClusterScorePlugin,
    EnqueueExtensions,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from scheduler_svc.core.framework.post_filter import PostFilterPlugin
from scheduler_svc.core.pods import PodInfo

_P = TypeVar("_P", bound=Plugin)

ClassKey = Any

# Totals are int64.
_MAX_TOTAL: Final = 2**63 - 1


class Profile:
    """Plugins in evaluation order at each point; score plugins with their weights.

    `points` maps upstream's names of extension points to plugin instances; an instance
    may stand at several points and must implement each. `plugins` are all of them.
    """

    def __init__(
        self,
        scheduler_name: str,
        points: Mapping[str, Sequence[Plugin]],
        weights: Mapping[str, int],
    ) -> None:
        self.scheduler_name = scheduler_name
        self.plugins = tuple(dict.fromkeys(p for placed in points.values() for p in placed))
        self.plugin_names = frozenset(plugin.name for plugin in self.plugins)
        self.pre_enqueue = _typed(points, "preEnqueue", PreEnqueuePlugin)
        self.queue_sort = _typed(points, "queueSort", QueueSortPlugin)[0]
        self.pre_filter = _typed(points, "preFilter", PreFilterPlugin)
        self.filter = _typed(points, "filter", FilterPlugin)
        self.post_filter = _typed(points, "postFilter", PostFilterPlugin)
        self.pre_score = _typed(points, "preScore", PreScorePlugin)
        self.score = _scoring(points)
        self.reserve = _typed(points, "reserve", ReservePlugin)
        self.permit = _typed(points, "permit", PermitPlugin)
        self.pre_bind = _typed(points, "preBind", PreBindPlugin)
        self.bind = _typed(points, "bind", BindPlugin)
        self.post_bind = _typed(points, "postBind", PostBindPlugin)
        self.weights = {plugin.name: weights.get(plugin.name, 1) for plugin in self.score}
        if MAX_NODE_SCORE * sum(self.weights.values()) > _MAX_TOTAL:
            raise ValueError(f"the weights of profile {scheduler_name} add up to too much")
        deciding = (*self.pre_filter, *self.filter, *self.pre_score, *self.score)
        fields = sorted({field for plugin in deciding for field in plugin.pod_fields})
        self._fields = attrgetter("shape", *fields)
        projecting = [
            plugin
            for plugin in dict.fromkeys(deciding)
            if type(plugin).projection is not Plugin.projection
        ]
        self._always = tuple(p.projection for p in projecting if not p.projection_fields)
        self._sometimes = tuple(p.projection for p in projecting if p.projection_fields)
        # Nearly all Pods have nothing of what these look at.
        asking = sorted({field for plugin in projecting for field in plugin.projection_fields})
        self._asking = tuple(attrgetter(field) for field in asking)
        self._registrations: Mapping[str, Sequence[EventRegistration]] | None = None

    def attach(self, cluster: Cluster) -> None:
        """Tell the plugins which cluster they speak of."""
        for plugin in self.plugins:
            plugin.attach(cluster)

    def registrations(self) -> dict[str, Sequence[EventRegistration]]:
        """Give, by plugin, the events that may undo its rejections; an unnamed one wants all.

        The plugins are asked once.
        """
        if self._registrations is None:
            self._registrations = self._ask_for_events()
        return dict(self._registrations)

    def _ask_for_events(self) -> Mapping[str, Sequence[EventRegistration]]:
        rejecting = (
            *self.pre_enqueue,
            *self.pre_filter,
            *self.filter,
            *self.reserve,
            *self.permit,
        )
        return {
            plugin.name: plugin.events_to_register()
            for plugin in rejecting
            if isinstance(plugin, EnqueueExtensions)
        }

    def class_key(self, pod: PodInfo, cluster: Cluster) -> ClassKey:
        """Give what the plugins may read of `pod`: equal for Pods of one class."""
        key = (self._fields(pod), *[project(pod, cluster) for project in self._always])
        for value in self._asking:
            if value(pod):
                return (*key, *[project(pod, cluster) for project in self._sometimes])
        return key


def _scoring(
    points: Mapping[str, Sequence[Plugin]],
) -> tuple[ScorePlugin | ClusterScorePlugin, ...]:
    plugins = points.get("score", ())
    contracts = (ScorePlugin, ClusterScorePlugin)
    _refuse([p.name for p in plugins if not isinstance(p, contracts)], "score")
    return tuple(p for p in plugins if isinstance(p, contracts))


def _typed(
    points: Mapping[str, Sequence[Plugin]], point: str, contract: type[_P]
) -> tuple[_P, ...]:
    plugins = points.get(point, ())
    _refuse([p.name for p in plugins if not isinstance(p, contract)], point)
    return tuple(p for p in plugins if isinstance(p, contract))


def _refuse(misplaced: Sequence[str], point: str) -> None:
    if misplaced:
        raise TypeError(f"{', '.join(misplaced)} cannot be used at {point}")
