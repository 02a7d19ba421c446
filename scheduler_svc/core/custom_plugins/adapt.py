"""Makes a plugin of the framework out of a user's, by the methods that it defines."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from scheduler_svc.core.custom_plugins.adapters import (
    Adapter,
    EventsAdapter,
    PermitAdapter,
    PostBindAdapter,
    PreBindAdapter,
    PreEnqueueAdapter,
    PreFilterAdapter,
    QueueSortAdapter,
    ReserveAdapter,
)
from scheduler_svc.core.custom_plugins.base import BasePlugin, NodePlugin, Normalize, VectorPlugin
from scheduler_svc.core.custom_plugins.guard import Guard
from scheduler_svc.core.custom_plugins.judging import (
    ClusterScoreAdapter,
    NodeFilterAdapter,
    NormalizedScoreAdapter,
    ScoreAdapter,
    VectorFilterAdapter,
)
from scheduler_svc.core.framework.interface import Scope

PluginClass = type[BasePlugin[Any]]

_SIMPLE: Final[Mapping[str, type[Adapter]]] = MappingProxyType(
    {
        "pre_enqueue": PreEnqueueAdapter,
        "sort_key": QueueSortAdapter,
        "permit": PermitAdapter,
        "pre_bind": PreBindAdapter,
        "post_bind": PostBindAdapter,
        "events_to_register": EventsAdapter,
    }
)
_POINTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pre_enqueue": "preEnqueue",
        "sort_key": "queueSort",
        "pre_filter": "preFilter",
        "filter": "filter",
        "score": "score",
        "reserve": "reserve",
        "unreserve": "reserve",
        "permit": "permit",
        "pre_bind": "preBind",
        "undo_pre_bind": "reserve",
        "post_bind": "postBind",
    }
)
POINT_METHODS: Final = tuple(_POINTS)
"""The methods that make a plugin stand at an extension point, in the order of the points."""
ASYNC_METHODS: Final = ("pre_bind", "undo_pre_bind", "feed")
METHODS: Final = (
    *(method for method in _POINTS if method not in ASYNC_METHODS),
    "on_feed",
    "events_to_register",
)
"""What a plugin may define: plain functions; `ASYNC_METHODS` are awaited."""
_BASES: Final = (BasePlugin, NodePlugin, VectorPlugin)


def plugin_name(plugin: PluginClass) -> str:
    """Give the name by which a configuration enables the plugin."""
    return plugin.name or plugin.__name__


def defines(plugin: PluginClass, method: str) -> bool:
    """Whether the plugin's class has a method of its own, which the bases only declare."""
    own = getattr(plugin, method, None)
    return own is not None and all(own is not getattr(base, method, None) for base in _BASES)


def points_of(plugin: PluginClass) -> frozenset[str]:
    """Give the extension points that the plugin stands at, by Kubernetes' names."""
    return frozenset(point for method, point in _POINTS.items() if defines(plugin, method))


def adapt(plugin: BasePlugin[Any], guard: Guard) -> Adapter:
    """Make the framework's plugin."""
    of = type(plugin)
    mixins: list[type[Adapter]] = [
        mixin for method, mixin in _SIMPLE.items() if defines(of, method)
    ]
    if "reserve" in points_of(of):
        mixins.append(ReserveAdapter)
    if defines(of, "filter"):
        mixins.append(NodeFilterAdapter if issubclass(of, NodePlugin) else VectorFilterAdapter)
    elif defines(of, "pre_filter"):
        mixins.append(PreFilterAdapter)
    if defines(of, "score"):
        mixins.append(_score_adapter(of))
    made: type[Adapter] = type(
        f"{of.__name__}Adapter",
        (*mixins, Adapter),
        {
            "name": plugin_name(of),
            "pod_fields": frozenset(of.pod_fields),
            "filter_scope": of.scope,
            "score_scope": of.scope,
            "has_pre_filter": defines(of, "pre_filter"),
            "has_reserve": defines(of, "reserve"),
            "has_unreserve": defines(of, "unreserve"),
            "has_undo": defines(of, "undo_pre_bind"),
        },
    )
    return made(plugin, guard)


def _score_adapter(plugin: PluginClass) -> type[Adapter]:
    if plugin.scope is Scope.CLUSTER:
        return ClusterScoreAdapter
    return ScoreAdapter if plugin.normalize is Normalize.NONE else NormalizedScoreAdapter
