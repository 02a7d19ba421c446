"""What is wrong with a SchedulerProfile beyond what its schema can tell; pure.

The controller writes what is found here into the status, the schedulers run what has no
mistake: both must be given the same configuration file, `--plugin` and `--scheduler-name`.
"""

import logging
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from kubeio.logs import fields
from scheduler_svc.core.custom_plugins.guard import Guard
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.framework.profile import Profile as CoreProfile
from scheduler_svc.core.registry import IN_TREE, Factory
from scheduler_svc.shell.config import (
    Configuration,
    ConfigurationError,
    Mistake,
    Profile,
    load_profile,
)
from scheduler_svc.shell.config.mistakes import Problem, render_value
from scheduler_svc.shell.config.plugin_sets import KnownPlugins
from scheduler_svc.shell.config.profiles import DOES_NOT_EXIST
from scheduler_svc.shell.config.schema import DEFAULT_SCHEDULER_NAME
from scheduler_svc.shell.custom_plugins import CustomPlugins, PluginLoadError
from scheduler_svc.shell.profiles import ProfileError, make_profiles
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile, source_of

_logger = logging.getLogger(__name__)

_NAME_PATH: Final = "spec.schedulerName"
_DEFAULT_IS_TAKEN: Final = (
    f"{DEFAULT_SCHEDULER_NAME} is kube-scheduler's; it is served only by a scheduler that runs "
    f"with --scheduler-name {DEFAULT_SCHEDULER_NAME}"
)


class PluginRegistry(NamedTuple):
    """The plugins there are: their extension points, how they are made, and those of `--plugin`."""

    known: KnownPlugins
    factories: Mapping[str, Factory]
    enabled: tuple[str, ...] = ()


def plugin_registry(custom: CustomPlugins, guard: Guard | None = None) -> PluginRegistry:
    """Give the in-tree plugins and users', whose calls `guard` watches."""
    factories = {**IN_TREE, **custom.factories(guard)}
    return PluginRegistry(custom.known, factories, custom.enabled)


class CompiledProfile(NamedTuple):
    """What a scheduler runs for a SchedulerProfile: as configured, and as made of plugins.

    `not_implemented` are enabled plugins that there are none of yet.
    """

    configured: Profile
    core: CoreProfile
    not_implemented: tuple[str, ...] = ()


class InvalidProfileError(Exception):
    """A SchedulerProfile that cannot be run; `mistakes` holds all that is wrong with it."""

    def __init__(self, mistakes: tuple[Mistake, ...]) -> None:
        super().__init__(mistakes)
        self.mistakes = mistakes


def validate(
    profile: SchedulerProfile,
    others: Iterable[SchedulerProfile],
    configuration: Configuration,
    registry: PluginRegistry,
    *,
    serves_default: bool = False,
) -> tuple[Mistake, ...]:
    """Give all that is wrong with a SchedulerProfile.

    Parameters
    ----------
    profile
        Is judged by its `spec`; `with_active_spec` gives one to judge the last valid spec.
    others
        The SchedulerProfiles there are; it may be among them itself.
    configuration
        In effect, from the file and the flags: its names are taken, its queueSort orders all.
    registry
        Of the same plugins as the schedulers'.
    serves_default
        Whether the schedulers run with `--scheduler-name default-scheduler`.

    Notes
    -----
    Costs what it costs to make the plugins; users' constructors are called.
    """
    try:
        compile_profile(profile, others, configuration, registry, serves_default=serves_default)
    except InvalidProfileError as error:
        return error.mistakes
    return ()


def compile_profile(
    profile: SchedulerProfile,
    others: Iterable[SchedulerProfile],
    configuration: Configuration,
    registry: PluginRegistry,
    *,
    serves_default: bool = False,
) -> CompiledProfile:
    """Make what a scheduler runs; parameters as for `validate`.

    Raises
    ------
    InvalidProfileError
        With every mistake.
    """
    mistakes = name_mistakes(profile, others, configuration, serves_default=serves_default)
    try:
        compiled = compile_spec(profile, configuration, registry)
    except InvalidProfileError as error:
        raise InvalidProfileError((*mistakes, *error.mistakes)) from error
    if mistakes:
        raise InvalidProfileError(mistakes)
    return compiled


def compile_spec(
    profile: SchedulerProfile,
    configuration: Configuration,
    registry: PluginRegistry,
    *,
    former: CompiledProfile | None = None,
) -> CompiledProfile:
    """Make what a scheduler runs, whoever else asks for the same schedulerName.

    Plugins of the `former` profile of the object are taken over where their arguments are the
    same: what a user's plugin knows, from its feed say, is not lost by a change beside it.

    Raises
    ------
    InvalidProfileError
        With every mistake but those of names.
    """
    source = source_of(profile.metadata.name)
    try:
        configured = load_profile(
            profile.spec,
            source=source,
            first=configuration.profiles[0],
            known_plugins=registry.known,
            enabled_plugins=registry.enabled,
        )
        factories = {**registry.factories, **_reused(configured, former)}
        return _make(configured, source, configuration, factories)
    except ConfigurationError as error:
        raise InvalidProfileError(tuple(map(_as_in_an_object, error.mistakes))) from error
    except Exception as error:  # no object may end those that read it, whatever is in it
        _logger.exception("Cannot judge a SchedulerProfile", extra=fields(object=source))
        detail = f"cannot be judged: {type(error).__name__}: {error}"
        raise InvalidProfileError((_mistake(source, "spec", detail),)) from error


def is_of_unknown_plugin(mistake: Mistake) -> bool:
    """Whether it is only that a plugin is not known here."""
    return mistake.detail == DOES_NOT_EXIST


def name_mistakes(
    profile: SchedulerProfile,
    others: Iterable[SchedulerProfile],
    configuration: Configuration,
    *,
    serves_default: bool = False,
) -> tuple[Mistake, ...]:
    """Give what is wrong with the schedulerName beside the configuration and older profiles."""
    name, source = profile.scheduler_name, source_of(profile.metadata.name)
    mistakes = []
    if configuration.profile(name) is not None:
        detail = "the schedulers' configuration has a profile of this name"
        mistakes.append(_taken(source, name, detail))
    elif name == DEFAULT_SCHEDULER_NAME and not serves_default:
        mistakes.append(_mistake(source, _NAME_PATH, _DEFAULT_IS_TAKEN, problem=Problem.FORBIDDEN))
    older = [other for other in others if other.seniority < profile.seniority]
    for other in sorted(older, key=lambda other: other.seniority):
        if name in other.claimed_names:
            mistakes.append(
                _taken(source, name, f"the older {source_of(other.metadata.name)} has it")
            )
            break
    return tuple(mistakes)


def _reused(configured: Profile, former: CompiledProfile | None) -> Mapping[str, Factory]:
    """Give what "makes" the plugins that there are already, by name."""
    if former is None:
        return {}
    args, wanted = former.configured.args, configured.args
    return {
        plugin.name: partial(_give, plugin)
        for plugin in former.core.plugins
        if args.get(plugin.name) == wanted.get(plugin.name)
    }


def _give(plugin: Plugin, **arguments: Any) -> Plugin:
    del arguments
    return plugin


def _make(
    configured: Profile,
    source: str,
    configuration: Configuration,
    factories: Mapping[str, Factory],
) -> CompiledProfile:
    """Make the plugins. Raises `ConfigurationError`."""
    alone = replace(configuration, profiles=(configured,))
    path = "spec.plugins"
    try:
        made = make_profiles(alone, factories)
    except ProfileError as error:
        details = str(error).splitlines()
        mistakes = tuple(_mistake(source, path, detail) for detail in details)
        raise ConfigurationError(mistakes) from error
    except PluginLoadError as error:
        raise ConfigurationError((_mistake(source, "spec.pluginConfig", str(error)),)) from error
    [core] = made.profiles
    return CompiledProfile(configured, core, made.not_implemented)


def _taken(source: str, name: str, detail: str) -> Mistake:
    return _mistake(source, _NAME_PATH, detail, problem=Problem.DUPLICATE, value=name)


def _mistake(
    source: str,
    path: str,
    detail: str,
    *,
    problem: Problem = Problem.INVALID,
    value: str | None = None,
) -> Mistake:
    shown = "" if value is None else render_value(value)
    return Mistake(
        file=source, line=0, column=0, path=path, problem=problem, value=shown, detail=detail
    )


def _as_in_an_object(mistake: Mistake) -> Mistake:
    """Speak of the object's fields where the meaning names those of a file."""
    return replace(mistake, meaning=mistake.meaning.replace("profiles[].", "spec."))
