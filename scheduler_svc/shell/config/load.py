"""Loads a configuration: text in, a complete Configuration or every mistake out."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from scheduler_svc.shell.config import meaning
from scheduler_svc.shell.config.configuration import Configuration, Profile
from scheduler_svc.shell.config.decode import decode
from scheduler_svc.shell.config.defaults import with_defaults
from scheduler_svc.shell.config.document import (
    EMPTY,
    MappingNode,
    Path,
    find,
    from_plain,
    iterate_given,
    render_path,
    to_plain,
)
from scheduler_svc.shell.config.in_tree import IN_TREE_POINTS
from scheduler_svc.shell.config.mistakes import ConfigurationError, MistakeLog, Problem
from scheduler_svc.shell.config.plugin_sets import KnownPlugins, enable
from scheduler_svc.shell.config.profiles import ProfileReader
from scheduler_svc.shell.config.reading import MAX_DEPTH, MAX_VALUES, read_document
from scheduler_svc.shell.config.schema import (
    API_VERSION,
    KIND,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
)
from scheduler_svc.shell.config.validation import validate_configuration, validate_profile


def load_configuration(
    text: str | bytes,
    *,
    path: str,
    known_plugins: KnownPlugins,
    enabled_plugins: Sequence[str] = (),
) -> Configuration:
    """Read a KubeSchedulerConfiguration v1 file.

    Parameters
    ----------
    text
        The content of the file, YAML or JSON.
    path
        Its name, for messages.
    known_plugins
        The extension points of each plugin that is loaded. Those of kube-scheduler's own
        plugins are known in any case, and are upstream's.
    enabled_plugins
        Plugins that every profile has which does not name them itself.

    Raises
    ------
    ConfigurationError
        With every mistake that was found, in the order of the file.
    """
    root, log = read_document(text, file=path)
    _check_type(log)
    given = decode(root, KubeSchedulerConfiguration, log)
    return _complete(given, log, known_plugins, enabled_plugins)


def default_configuration(
    known_plugins: KnownPlugins = MappingProxyType({}), enabled_plugins: Sequence[str] = ()
) -> Configuration:
    """Return the configuration of a scheduler that is given no file."""
    log = MistakeLog("")
    return _complete(KubeSchedulerConfiguration(), log, known_plugins, enabled_plugins)


def load_profile(
    spec: object,
    *,
    source: str,
    first: Profile,
    known_plugins: KnownPlugins,
    enabled_plugins: Sequence[str] = (),
) -> Profile:
    """Read a profile that is an object of its own.

    Parameters
    ----------
    spec
        Its `spec`, as JSON is decoded.
    source
        What stands in messages in the place of a file's name.
    first
        The first profile of the scheduler's configuration, whose queueSort orders all Pods.
    known_plugins, enabled_plugins
        As for `load_configuration`.

    Raises
    ------
    ConfigurationError
        With every mistake that was found; their paths start at `spec`.
    """
    path: Path = ("spec",)
    log = MistakeLog(source)
    log.root = from_plain({"spec": _bounded(spec, log)})
    given = decode(find(log.root, path) or EMPTY, KubeSchedulerProfile, log, path=path)
    given = enable(enabled_plugins, given)
    validate_profile(given, path, log)
    reader = ProfileReader(log, {**known_plugins, **IN_TREE_POINTS})
    profile = reader.read_beside(given, path, first)
    if log.mistakes:
        raise ConfigurationError(log.mistakes)
    return profile


def _bounded(spec: object, log: MistakeLog) -> object:
    """Give the value if it is not too deep, and not too much, to be walked."""
    level, value_count, depth = [spec], 0, 0
    while level:
        value_count += len(level)
        depth += 1
        if depth > MAX_DEPTH or value_count > MAX_VALUES:
            detail = f"more than {MAX_VALUES} values, or nested more than {MAX_DEPTH} deep"
            log.add(Problem.TOO_LARGE, ("spec",), detail=detail)
            raise ConfigurationError(log.mistakes)
        level = [item for value in level for item in _items(value)]
    return spec


def _items(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _check_type(log: MistakeLog) -> None:
    """Check `apiVersion` and `kind`; where it is another kind, go no further."""
    if not isinstance(log.root, MappingNode):
        log.invalid((), to_plain(log.root), f"must be an object of kind {KIND}")
        raise ConfigurationError(log.mistakes)
    found: dict[str, str] = {}
    for field in ("apiVersion", "kind"):
        node = log.root.fields.get(field)
        value = None if node is None else to_plain(node)
        found[field] = value if isinstance(value, str) else ""
    because = meaning.of_api_version(found["apiVersion"], found["kind"])
    for field, wanted in (("kind", KIND), ("apiVersion", API_VERSION)):
        if not found[field]:
            log.required((field,), f"must be {wanted}")
        elif found[field] != wanted:
            log.unsupported((field,), found[field], (wanted,), meaning=because)
            because = ""
    if found["kind"] not in {"", KIND}:
        raise ConfigurationError(log.mistakes)


def _complete(
    given: KubeSchedulerConfiguration,
    log: MistakeLog,
    known_plugins: KnownPlugins,
    enabled_plugins: Sequence[str],
) -> Configuration:
    complete = with_defaults(given)
    enabled = tuple(enable(enabled_plugins, profile) for profile in complete.profiles)
    complete = msgspec.structs.replace(complete, profiles=enabled)
    validate_configuration(complete, log)
    reader = ProfileReader(log, {**known_plugins, **IN_TREE_POINTS})
    profiles = reader.read(complete.profiles)
    if log.mistakes:
        raise ConfigurationError(log.mistakes)
    return Configuration(
        path=log.file,
        profiles=profiles,
        leader_election=complete.leader_election,
        client_connection=complete.client_connection,
        parallelism=complete.parallelism,
        percentage_of_nodes_to_score=complete.percentage_of_nodes_to_score,
        pod_initial_backoff_seconds=complete.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=complete.pod_max_backoff_seconds,
        enable_profiling=complete.enable_profiling,
        enable_contention_profiling=bool(complete.enable_contention_profiling),
        extenders=complete.extenders,
        delay_cache_until_active=complete.delay_cache_until_active,
        given=frozenset(render_path(path) for path in iterate_given(log.root)),
        notices=tuple(reader.notices),
    )
