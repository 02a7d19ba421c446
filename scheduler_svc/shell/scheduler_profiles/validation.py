"""What is wrong with a SchedulerProfile beyond what its schema can tell; pure.

The controller writes what is found here into the status, the schedulers run what has no
mistake: both must be given the same configuration file, `--plugin` and `--scheduler-name`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from scheduler_svc.core.custom_plugins.guard import Guard
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
from scheduler_svc.shell.config.schema import DEFAULT_SCHEDULER_NAME
from scheduler_svc.shell.custom_plugins import CustomPlugins, PluginLoadError
from scheduler_svc.shell.profiles import ProfileError, make_profiles
from scheduler_svc.shell.scheduler_profiles.objects import KIND, SchedulerProfile

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
    """What a scheduler runs for a SchedulerProfile: as configured, and as made of plugins."""

    configured: Profile
    core: CoreProfile


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
    mistakes = [*_name_mistakes(profile, others, configuration, serves_default=serves_default)]
    source = source_of(profile)
    try:
        configured = load_profile(
            profile.spec,
            source=source,
            first=configuration.profiles[0],
            known_plugins=registry.known,
            enabled_plugins=registry.enabled,
        )
        core = _make(configured, source, configuration, registry)
    except ConfigurationError as error:
        raise InvalidProfileError((*mistakes, *map(_as_in_an_object, error.mistakes))) from error
    if mistakes:
        raise InvalidProfileError(tuple(mistakes))
    return CompiledProfile(configured, core)


def source_of(profile: SchedulerProfile) -> str:
    """Give what stands in messages in the place of a file's name."""
    return f"{KIND} {profile.metadata.name}"


def _name_mistakes(
    profile: SchedulerProfile,
    others: Iterable[SchedulerProfile],
    configuration: Configuration,
    *,
    serves_default: bool,
) -> Iterator[Mistake]:
    name, source = profile.scheduler_name, source_of(profile)
    if configuration.profile(name) is not None:
        detail = "the schedulers' configuration has a profile of this name"
        yield _mistake(source, _NAME_PATH, detail, problem=Problem.DUPLICATE, value=name)
    elif name == DEFAULT_SCHEDULER_NAME and not serves_default:
        yield _mistake(source, _NAME_PATH, _DEFAULT_IS_TAKEN, problem=Problem.FORBIDDEN)
    for other in sorted(others, key=lambda other: other.seniority):
        if other.seniority < profile.seniority and name in other.claimed_names:
            detail = f"the older {source_of(other)} has it"
            yield _mistake(source, _NAME_PATH, detail, problem=Problem.DUPLICATE, value=name)
            return


def _make(
    configured: Profile, source: str, configuration: Configuration, registry: PluginRegistry
) -> CoreProfile:
    """Make the plugins. Raises `ConfigurationError`."""
    alone = replace(configuration, profiles=(configured,))
    try:
        [core] = make_profiles(alone, registry.factories).profiles
    except ProfileError as error:
        details = str(error).splitlines()
        raise ConfigurationError(
            tuple(_mistake(source, "spec.plugins", detail) for detail in details)
        ) from error
    except PluginLoadError as error:
        raise ConfigurationError((_mistake(source, "spec.pluginConfig", str(error)),)) from error
    return core


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
