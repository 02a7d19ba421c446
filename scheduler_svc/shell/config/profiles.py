"""Turns the profiles of a file into complete ones, and judges their plugins and arguments.

Source: pkg/scheduler/apis/config/validation/validation.go and
pkg/scheduler/framework/runtime/framework.go (updatePluginList, NewFramework), v1.36.3;
the texts are upstream's.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from scheduler_svc.shell.config import meaning
from scheduler_svc.shell.config.arguments import ARGUMENT_TYPES, ArgumentsStruct
from scheduler_svc.shell.config.configuration import Profile, RawArguments
from scheduler_svc.shell.config.decode import decode
from scheduler_svc.shell.config.defaults import arguments_with_defaults, default_arguments
from scheduler_svc.shell.config.document import (
    EMPTY,
    MappingNode,
    Node,
    Path,
    ScalarNode,
    find,
    is_null,
    locate,
    render_path,
)
from scheduler_svc.shell.config.extension_points import WEIGHTED_POINTS, ExtensionPoint
from scheduler_svc.shell.config.in_tree import IN_TREE_POINTS, REMOVED
from scheduler_svc.shell.config.mistakes import MistakeLog, Problem, render_value
from scheduler_svc.shell.config.plugin_sets import (
    EVERY_PLUGIN,
    KnownPlugins,
    Points,
    expand_plugins,
    merge_plugins,
)
from scheduler_svc.shell.config.schema import (
    API_VERSION,
    KubeSchedulerProfile,
    Plugin,
    PluginConfig,
    Plugins,
)
from scheduler_svc.shell.config.validate_arguments import validate_arguments

DOES_NOT_EXIST: Final = "plugin does not exist"

_TYPE_FIELDS: Final = ("apiVersion", "kind")
_WAS_INVALID: Final = (
    f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
)

_AS_THE_FIRST: Final = "write the queueSort of profiles[0] in every profile"
_AS_THE_FILE: Final = "write the queueSort of the scheduler's configuration file"

Arguments = Mapping[str, ArgumentsStruct | RawArguments]


class ProfileReader:
    """Reads the profiles of one file; mistakes go to the log, oddities to `notices`."""

    def __init__(self, log: MistakeLog, known_plugins: KnownPlugins) -> None:
        self.notices: list[str] = []
        self._log = log
        self._known = known_plugins

    def read(self, given: Sequence[KubeSchedulerProfile]) -> tuple[Profile, ...]:
        """Return the profiles, complete; what is returned counts only without mistakes."""
        profiles = tuple(
            self._profile(profile, ("profiles", index)) for index, profile in enumerate(given)
        )
        for index, profile in enumerate(profiles[1:], start=1):
            self._common_queue_sort(profile, profiles[0], ("profiles", index), _AS_THE_FIRST)
        return profiles

    def read_beside(self, given: KubeSchedulerProfile, path: Path, first: Profile) -> Profile:
        """Return a profile that stands at `path` of a document of its own.

        It is to be served beside `first` and those that are served with that.
        """
        profile = self._profile(given, path)
        self._common_queue_sort(profile, first, path, _AS_THE_FILE)
        return profile

    def _profile(self, given: KubeSchedulerProfile, path: Path) -> Profile:
        for point in ExtensionPoint:
            self._plugin_set(given.plugins, point, (*path, "plugins", point.value))
        plugins = merge_plugins(given.plugins)
        points = expand_plugins(plugins, self._known)
        name = given.scheduler_name or ""
        if self._log.is_clean((*path, "plugins")):
            self._counts(points, name, (*path, "plugins"))
        args = self._arguments(given.plugin_config, plugins, (*path, "pluginConfig"))
        return Profile(
            scheduler_name=name,
            points=points,
            args=args,
            plugins=plugins,
            percentage_of_nodes_to_score=given.percentage_of_nodes_to_score,
        )

    def _notice(self, path: Path, text: str) -> None:
        line = locate(self._log.root, path).line
        self.notices.append(f"{self._log.file}:{line}: {render_path(path)}: {text}")

    def _plugin_set(self, plugins: Plugins, point: ExtensionPoint, path: Path) -> None:
        plugin_set = plugins.at(point)
        seen: set[str] = set()
        for index, plugin in enumerate(plugin_set.enabled):
            at = (*path, "enabled", index)
            if plugin.name and plugin.name in seen:
                self._log.duplicate((*at, "name"), plugin.name, "a plugin is enabled once")
            elif self._is_usable(plugin.name, (*at, "name"), point):
                self._weight(plugin, point, (*at, "weight"))
            seen.add(plugin.name)
        for index, plugin in enumerate(plugin_set.disabled):
            at = (*path, "disabled", index, "name")
            if not plugin.name:
                self._log.required(at)
            elif plugin.name != EVERY_PLUGIN and plugin.name not in self._known:
                self._notice(at, f"no plugin is called {render_value(plugin.name)}")

    def _is_usable(self, name: str, path: Path, point: ExtensionPoint) -> bool:
        """Whether a plugin can be enabled at the point; notes it if not."""
        if not name:
            self._log.required(path)
        elif name == EVERY_PLUGIN:
            self._log.invalid(path, name, f"only disabled can name {EVERY_PLUGIN}")
        elif name in REMOVED and name not in self._known:
            because = meaning.of_unknown_plugin(name, ())
            self._log.invalid(path, name, _WAS_INVALID, meaning=because)
        elif name not in self._known:
            self._unknown_plugin(name, path, point)
        elif point is not ExtensionPoint.MULTI_POINT and point not in self._known[name]:
            points = ", ".join(own for own in ExtensionPoint if own in self._known[name])
            detail = f"plugin does not extend {point}; it extends {points}"
            self._log.invalid(path, name, detail)
        else:
            return True
        return False

    def _unknown_plugin(self, name: str, path: Path, point: ExtensionPoint) -> None:
        self._log.add(
            Problem.INVALID,
            path,
            value=render_value(name),
            detail=DOES_NOT_EXIST,
            allowed=tuple(
                sorted(
                    known
                    for known, points in self._known.items()
                    if point is ExtensionPoint.MULTI_POINT or point in points
                )
            ),
            meaning=meaning.of_unknown_plugin(name, self._known.keys()),
        )

    def _weight(self, plugin: Plugin, point: ExtensionPoint, path: Path) -> None:
        if plugin.weight < 0:
            detail = "a weight is 1 or more; 0 counts as 1"
            self._log.invalid(path, plugin.weight, detail, meaning=meaning.OF_NEGATIVE_WEIGHT)
        scores_here = point in WEIGHTED_POINTS or (
            point is ExtensionPoint.MULTI_POINT and WEIGHTED_POINTS & self._known[plugin.name]
        )
        if plugin.weight and not scores_here:
            self._notice(path, f"{plugin.name} does not score here: the weight has no effect")

    def _counts(self, points: Points, name: str, path: Path) -> None:
        sorting = points[ExtensionPoint.QUEUE_SORT]
        of_profile = f"for profile with scheduler name {render_value(name)}"
        if len(sorting) > 1:
            detail = "only one queue sort plugin can be enabled"
            because = meaning.of_many_queue_sorts([plugin.name for plugin in sorting])
            self._log.invalid(
                (*path, "queueSort", "enabled"), len(sorting), detail, meaning=because
            )
        elif not sorting:
            detail = f"only one queue sort plugin required {of_profile}, but got 0"
            self._log.required((*path, "queueSort"), detail)
        if not points[ExtensionPoint.BIND]:
            self._log.required((*path, "bind"), f"at least one bind plugin is needed {of_profile}")
        generating = points[ExtensionPoint.PLACEMENT_GENERATE]
        if len(generating) > 1:
            detail = f"at most one placement generate plugin is allowed {of_profile}"
            self._log.invalid((*path, "placementGenerate"), len(generating), detail)

    def _common_queue_sort(
        self, profile: Profile, first: Profile, path: Path, because: str
    ) -> None:
        """One queue holds the Pods of all profiles, so one plugin must order it."""
        if profile.plugins.queue_sort != first.plugins.queue_sort:
            shown = [plugin.name for plugin in profile.points[ExtensionPoint.QUEUE_SORT]]
            detail = "must be the same for all profiles"
            self._log.invalid((*path, "plugins", "queueSort"), shown, detail, meaning=because)
        for plugin in first.points[ExtensionPoint.QUEUE_SORT]:
            if profile.args.get(plugin.name) != first.args.get(plugin.name):
                detail = "queueSort must be the same for all profiles"
                self._log.invalid((*path, "pluginConfig"), plugin.name, detail)

    def _arguments(self, given: Sequence[PluginConfig], plugins: Plugins, path: Path) -> Arguments:
        arguments: dict[str, ArgumentsStruct | RawArguments] = {}
        for index, plugin_config in enumerate(given):
            name, at = plugin_config.name, (*path, index)
            if name in arguments:
                self._log.duplicate((*at, "name"), name)
            elif self._takes_arguments(name, at):
                arguments[name] = self._read_arguments(name, (*at, "args"))
        enabled = {plugin.name for point in ExtensionPoint for plugin in plugins.at(point).enabled}
        for name in sorted(enabled - arguments.keys()):
            default = default_arguments(name)
            if default is not None:
                arguments[name] = default
        return MappingProxyType(arguments)

    def _takes_arguments(self, name: str, path: Path) -> bool:
        """Whether arguments for the plugin can be of use; notes it if not."""
        path = (*path, "name")
        if not name:
            self._log.required(path)
        elif name in REMOVED and name not in self._known:
            because = meaning.of_unknown_plugin(name, ())
            self._log.invalid(path, name, _WAS_INVALID, meaning=because)
        elif name not in self._known:
            self._unknown_plugin(name, path, ExtensionPoint.MULTI_POINT)
        elif name in IN_TREE_POINTS and name not in ARGUMENT_TYPES:
            self._notice(path, f"{name} takes no arguments")
        else:
            return True
        return False

    def _read_arguments(self, name: str, path: Path) -> ArgumentsStruct | RawArguments:
        root = self._log.root
        node = find(root, path) or EMPTY
        if is_null(node):
            node = EMPTY
        if name not in ARGUMENT_TYPES:
            if not isinstance(node, MappingNode):
                self._log.invalid(path, "", "must be an object")
            return RawArguments.read(self._log.file, path, root, node)
        if isinstance(node, MappingNode):
            self._type_fields(name, node, path)
            fields = {key: node.fields[key] for key in node.fields if key not in _TYPE_FIELDS}
            node = MappingNode(node.mark, fields, node.key_marks)
        arguments = decode(node, ARGUMENT_TYPES[name], self._log, path=path)
        arguments = arguments_with_defaults(arguments)
        validate_arguments(arguments, path, self._log)
        return arguments

    def _type_fields(self, name: str, node: MappingNode, path: Path) -> None:
        for field, wanted in zip(_TYPE_FIELDS, (API_VERSION, f"{name}Args"), strict=True):
            value = node.fields.get(field)
            if value is None or _text_of(value) in {"", wanted}:
                continue
            detail = f"has to match plugin args: {wanted}"
            self._log.invalid((*path, field), _text_of(value), detail)


def _text_of(node: Node) -> str:
    if isinstance(node, ScalarNode):
        return "" if node.value is None else node.text
    return "{}"
