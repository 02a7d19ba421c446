"""Which plugins run at each extension point, in which order and with which weight.

Two steps, as in kube-scheduler. *Merging* puts a profile's sets over the default set:
the default order stays, a default plugin that is named again is replaced in its place,
others are appended, `disabled` takes away. *Expansion* lets the plugins of `multiPoint`
run at every point they implement, in the order: plugins named at the point that are in
`multiPoint` too, then the other plugins of `multiPoint`, then the other plugins named
at the point.

Source: pkg/scheduler/apis/config/v1/default_plugins.go (mergePluginSet) and
pkg/scheduler/framework/runtime/framework.go (expandMultiPointPlugins,
getValidScoreWeights), v1.36.3.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from scheduler_svc.shell.config.extension_points import (
    RUN_POINTS,
    WEIGHTED_POINTS,
    ExtensionPoint,
)
from scheduler_svc.shell.config.in_tree import IN_TREE
from scheduler_svc.shell.config.schema import KubeSchedulerProfile, Plugin, Plugins, PluginSet

EVERY_PLUGIN: Final = "*"
"""In `disabled`: all default plugins of the point."""

DEFAULT_PLUGINS: Final = Plugins(
    multi_point=PluginSet(
        enabled=tuple(
            Plugin(name=plugin.name, weight=plugin.weight)
            for plugin in IN_TREE
            if plugin.is_default
        )
    )
)
"""The plugins of a profile that says nothing."""

KnownPlugins = Mapping[str, frozenset[ExtensionPoint]]
"""The extension points that each plugin implements, by its name."""


class EnabledPlugin(msgspec.Struct, frozen=True):
    """A plugin that runs at a point; `weight` is at least 1 where it scores, else 0."""

    name: str
    weight: int = 0


Points = Mapping[ExtensionPoint, tuple[EnabledPlugin, ...]]


def enable(names: Sequence[str], profile: KubeSchedulerProfile) -> KubeSchedulerProfile:
    """Enable plugins at every point they implement, those apart that the profile names itself."""
    plugins = profile.plugins
    named = {
        plugin.name
        for point in ExtensionPoint
        for plugin in (*plugins.at(point).enabled, *plugins.at(point).disabled)
    }
    added = tuple(Plugin(name=name) for name in names if name not in named)
    if not added:
        return profile
    everywhere = plugins.multi_point
    everywhere = msgspec.structs.replace(everywhere, enabled=(*everywhere.enabled, *added))
    plugins = msgspec.structs.replace(plugins, multi_point=everywhere)
    return msgspec.structs.replace(profile, plugins=plugins)


def merge_plugins(custom: Plugins) -> Plugins:
    """Put the sets of a profile over the default ones."""
    return Plugins(
        **{
            point.name.lower(): _merge_plugin_set(DEFAULT_PLUGINS.at(point), custom.at(point))
            for point in ExtensionPoint
        }
    )


def _merge_plugin_set(default: PluginSet, custom: PluginSet) -> PluginSet:
    disabled = {plugin.name for plugin in custom.disabled}
    # Of a plugin named twice the last one counts, and the other is left over, which
    # validation refuses.
    by_name = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    replaced: set[int] = set()
    enabled: list[Plugin] = []
    for plugin in default.enabled if EVERY_PLUGIN not in disabled else ():
        if plugin.name in disabled:
            continue
        index = by_name.get(plugin.name)
        if index is not None:
            replaced.add(index)
        enabled.append(plugin if index is None else custom.enabled[index])
    enabled.extend(plugin for index, plugin in enumerate(custom.enabled) if index not in replaced)
    return PluginSet(
        enabled=tuple(enabled),
        disabled=tuple(Plugin(name=plugin.name) for plugin in custom.disabled),
    )


def expand_plugins(plugins: Plugins, known: KnownPlugins) -> Points:
    """Return what runs at each point, in order; a name that is not known runs nowhere."""
    return MappingProxyType({point: _expand_point(plugins, point, known) for point in RUN_POINTS})


def _expand_point(
    plugins: Plugins, point: ExtensionPoint, known: KnownPlugins
) -> tuple[EnabledPlugin, ...]:
    plugin_set = plugins.at(point)
    disabled = {plugin.name for plugin in plugin_set.disabled}
    implementing = [
        plugin.name
        for plugin in plugins.multi_point.enabled
        if point in known.get(plugin.name, ()) and plugin.name not in disabled
    ]
    # Names of a mapping, since a plugin runs once, at its first place.
    named = dict.fromkeys(
        plugin.name for plugin in plugin_set.enabled if point in known.get(plugin.name, ())
    )
    if EVERY_PLUGIN in disabled:
        implementing = []
    order = dict.fromkeys(
        (
            *(name for name in named if name in implementing),
            *implementing,
            *named,
        )
    )
    return tuple(EnabledPlugin(name, _weight(plugins, point, name)) for name in order)


def _weight(plugins: Plugins, point: ExtensionPoint, name: str) -> int:
    if point not in WEIGHTED_POINTS:
        return 0
    # What is named at the point itself overrules multiPoint, also where it has no weight.
    named = (*plugins.at(point).enabled, *plugins.multi_point.enabled)
    return next(plugin.weight for plugin in named if plugin.name == name) or 1
