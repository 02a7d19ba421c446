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
from scheduler_svc.core.custom_plugins.base import Args
from scheduler_svc.core.custom_plugins.declared import is_plugin, mistakes_in_values, mistakes_of
from scheduler_svc.core.custom_plugins.guard import Guard, PlainGuard, raised
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.registry import Factory
from scheduler_svc.shell.config import ConfigurationError, ExtensionPoint, RawArguments
from scheduler_svc.shell.config.in_tree import IN_TREE_POINTS
from scheduler_svc.shell.config.plugin_sets import KnownPlugins
from scheduler_svc.shell.custom_plugins.methods import (
    making_mistakes,
    signature_mistakes,
    unheard_methods,
)

ENTRY_POINT_GROUP: Final = "berthmaster.plugins"

_FLAG: Final = "--plugin"


class PluginLoadError(Exception):
    """Plugins that cannot be loaded; one line for each, with what to do."""


class CustomPlugins(msgspec.Struct, frozen=True):
    """Users' plugin classes by name; `enabled` are those that a flag named."""

    classes: Mapping[str, PluginClass]
    enabled: tuple[str, ...] = ()

    @property
    def surprises(self) -> tuple[str, ...]:
        """What is not wrong but not what their authors may expect, a line each."""
        return tuple(text for plugin in self.classes.values() for text in unheard_methods(plugin))

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
        found_mistakes = plugin_mistakes(candidate, classes) or list(making_mistakes(candidate))
        mistakes += [f"{source}: {mistake}" for mistake in found_mistakes]
        if not found_mistakes:
            name = plugin_name(candidate)
            classes[name] = candidate
            if source.startswith(_FLAG):
                enabled[name] = None
    if mistakes:
        raise PluginLoadError("\n".join(mistakes))
    return CustomPlugins(classes, tuple(enabled))


def plugin_mistakes(candidate: Any, others: Mapping[str, PluginClass]) -> list[str]:
    """Say, a line each, what keeps a class from being used beside others, which are by name."""
    mistakes = mistakes_of(candidate)
    if mistakes:
        # A plugin whose every method is misspelt defines none; it is told which.
        return [*mistakes, *(unheard_methods(candidate) if is_plugin(candidate) else ())]
    mistakes = list(signature_mistakes(candidate))
    if mistakes:
        return mistakes
    name = plugin_name(candidate)
    if name in IN_TREE_POINTS:
        return [f"{name} is one of kube-scheduler's own plugins; give it another `name`"]
    if others.get(name, candidate) is not candidate:
        return [f"another plugin is called {name}, too; give one of them another `name`"]
    return []


def _collect(sources: list[tuple[str, Any]], mistakes: list[str], source: str, load: Any) -> None:
    try:
        sources.append((source, load()))
    except PluginLoadError as error:
        mistakes.append(f"{source}: {error}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a module may raise anything while it is imported
        mistakes.append(f"{source}: {raised(error)}")


def _load(flag: str) -> Any:
    place, colon, name = flag.rpartition(":")
    if not colon or not place or not name:
        raise PluginLoadError("write package.module:Class or path/to/file.py:Class")
    module = _load_file(Path(place)) if place.endswith(".py") else _import(place, name)
    try:
        return getattr(module, name)
    except AttributeError:
        raise PluginLoadError(f"{place} has no {name}; it has {_plugins_in(module)}") from None


def _import(place: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if not f"{place}.".startswith(f"{error.name}."):
            raise  # of what the module imports itself
        path = f"./{place.replace('.', '/')}.py"
        hint = f"{path}:{name}" if Path(path).is_file() else "path/to/file.py:Class for a file"
        raise PluginLoadError(
            f"there is no module {error.name} where Python looks for them; write {hint}"
        ) from None


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
    names = [name for name, value in vars(module).items() if not mistakes_of(value)]
    return ", ".join(names) or "no plugin"


def _factory(plugin: PluginClass, guard: Guard) -> Factory:
    name = plugin_name(plugin)

    def make(arguments: RawArguments | None = None) -> Plugin:
        args = _read_arguments(plugin, arguments)
        try:
            made = guard.call(name, "__init__", partial(plugin, args))
            mistakes = mistakes_in_values(made)
            if not mistakes:
                return adapt(made, guard)
        except Exception as error:
            text = str(error).removeprefix(f'plugin "{name}" failed in __init__: ')
            raise PluginLoadError(f"plugin {name} cannot be made: {text}") from error
        raise PluginLoadError("\n".join(f"plugin {name}: {mistake}" for mistake in mistakes))

    return make


def _read_arguments(plugin: PluginClass, arguments: RawArguments | None) -> Args:
    name = plugin_name(plugin)
    try:
        if arguments is not None:
            return arguments.decode(plugin.args_type)
        return msgspec.convert({}, plugin.args_type)
    except msgspec.ValidationError as error:
        text = f"plugin {name} needs arguments in pluginConfig: {error}"
        raise PluginLoadError(text) from error
    except (ConfigurationError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise PluginLoadError(f"plugin {name} cannot take arguments: {raised(error)}") from error
