"""Finds users' plugins: installed packages' entry points, and what a flag names.

An entry point of the group `berthmaster.plugins` names a class; its own name plays no part.
A flag names `package.module:Class`, or `path/to/file.py:Class`.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

from scheduler_svc.core.custom_plugins.adapt import PluginClass, adapt, plugin_name, points_of
from scheduler_svc.core.custom_plugins.base import Args, BasePlugin, NodePlugin, VectorPlugin
from scheduler_svc.core.custom_plugins.guard import Guard, PlainGuard
from scheduler_svc.core.custom_plugins.views import DECLARABLE
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.registry import Factory
from scheduler_svc.shell.config import ExtensionPoint, RawArguments
from scheduler_svc.shell.config.in_tree import IN_TREE_POINTS
from scheduler_svc.shell.config.plugin_sets import KnownPlugins

ENTRY_POINT_GROUP: Final = "berthmaster.plugins"

_FLAG: Final = "--plugin"
_BASES: Final = (BasePlugin, NodePlugin, VectorPlugin)


class PluginLoadError(Exception):
    """Plugins that cannot be loaded; one line for each, with what to do."""


class CustomPlugins(msgspec.Struct, frozen=True):
    """Users' plugin classes by name; `enabled` are those that a flag named."""

    classes: Mapping[str, PluginClass]
    enabled: tuple[str, ...] = ()

    @property
    def known(self) -> KnownPlugins:
        """The extension points of each, for reading a configuration."""
        return {
            name: frozenset(ExtensionPoint(point) for point in points_of(plugin))
            for name, plugin in self.classes.items()
        }

    @property
    def annotations(self) -> frozenset[str]:
        """The annotations of Pods that they read."""
        return frozenset().union(*(plugin.pod_annotations for plugin in self.classes.values()))

    def factories(self, guard: Guard | None = None) -> Mapping[str, Factory]:
        """Give, by name, what makes a plugin of the framework from its arguments.

        Making one raises `ConfigurationError` for arguments that are wrong, and
        `PluginLoadError` where its constructor fails.
        """
        used = guard or PlainGuard()
        return {name: _factory(plugin, used) for name, plugin in self.classes.items()}


NO_PLUGINS: Final = CustomPlugins({})


def load_custom_plugins(
    flags: Sequence[str] = (), *, installed: Iterable[EntryPoint] | None = None
) -> CustomPlugins:
    """Load all plugins there are.

    Raises
    ------
    PluginLoadError
        With every one that cannot be loaded, or whose name is taken.
    """
    mistakes: list[str] = []
    sources: list[tuple[str, Any]] = []
    enabled: dict[str, None] = {}
    found = entry_points(group=ENTRY_POINT_GROUP) if installed is None else installed
    for entry_point in found:
        source = f"entry point {entry_point.value}"
        _collect(sources, mistakes, source, entry_point.load)
    for flag in flags:
        _collect(sources, mistakes, f"{_FLAG} {flag}", lambda flag=flag: _load(flag))
    classes: dict[str, PluginClass] = {}
    for source, candidate in sources:
        mistake = _mistake_of(candidate)
        name = "" if mistake else plugin_name(candidate)
        if not mistake and name in IN_TREE_POINTS:
            mistake = f"{name} is one of kube-scheduler's own plugins; give it another `name`"
        if not mistake and classes.get(name, candidate) is not candidate:
            mistake = f"another plugin is called {name}, too; give one of them another `name`"
        if mistake:
            mistakes.append(f"{source}: {mistake}")
        else:
            classes[name] = candidate
            if source.startswith(_FLAG):
                enabled[name] = None
    if mistakes:
        raise PluginLoadError("\n".join(mistakes))
    return CustomPlugins(classes, tuple(enabled))


def _collect(sources: list[tuple[str, Any]], mistakes: list[str], source: str, load: Any) -> None:
    try:
        sources.append((source, load()))
    except PluginLoadError as error:
        mistakes.append(f"{source}: {error}")
    except Exception as error:  # noqa: BLE001 - a module may raise anything while it is imported
        mistakes.append(f"{source}: {type(error).__name__}: {error}")


def _load(flag: str) -> Any:
    place, colon, name = flag.rpartition(":")
    if not colon or not place or not name:
        raise PluginLoadError("write package.module:Class or path/to/file.py:Class")
    module = _load_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    try:
        return getattr(module, name)
    except AttributeError:
        raise PluginLoadError(f"{place} has no {name}; it has {_plugins_in(module)}") from None


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise PluginLoadError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise PluginLoadError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _plugins_in(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if not _mistake_of(value)]
    return ", ".join(names) or "no plugin"


def _mistake_of(candidate: Any) -> str:
    if not isinstance(candidate, type) or not issubclass(candidate, BasePlugin):
        return "is no subclass of NodePlugin or VectorPlugin of berthmaster.plugin"
    if candidate in _BASES:
        return f"{candidate.__name__} is a base for plugins, not one"
    if not points_of(candidate):
        return f"{candidate.__name__} defines no method of a plugin, such as filter or score"
    unknown = sorted(candidate.pod_fields - DECLARABLE)
    if unknown:
        allowed = ", ".join(sorted(DECLARABLE))
        return f"pod_fields names {', '.join(unknown)}; it may name {allowed}"
    if "annotations" in candidate.pod_fields and not candidate.pod_annotations:
        return "pod_fields names annotations, so pod_annotations must name which; none is kept else"
    args_type: Any = candidate.args_type
    if not (isinstance(args_type, type) and issubclass(args_type, Args)):
        return "args_type is no subclass of berthmaster.plugin.Args"
    return ""


def _factory(plugin: PluginClass, guard: Guard) -> Factory:
    def make(arguments: RawArguments | None = None) -> Plugin:
        name = plugin_name(plugin)
        args: Any
        if arguments is not None:
            args = arguments.decode(plugin.args_type)
        else:
            try:
                args = msgspec.convert({}, plugin.args_type)
            except msgspec.ValidationError as error:
                text = f"plugin {name} needs arguments in pluginConfig: {error}"
                raise PluginLoadError(text) from error
        try:
            return adapt(guard.call(name, "__init__", partial(plugin, args)), guard)
        except Exception as error:
            # A guard tells of its own limits, and of what was raised as the cause.
            cause = error.__cause__ if error.__cause__ and str(error.__cause__) else error
            text = f"plugin {name} cannot be made: {type(cause).__name__}: {cause}"
            raise PluginLoadError(text) from error

    return make
