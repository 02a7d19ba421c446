"""The result of loading: a configuration that is complete, checked and expanded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from scheduler_svc.shell.config.arguments import ArgumentsStruct
from scheduler_svc.shell.config.decode import decode
from scheduler_svc.shell.config.document import Node, Path, to_plain
from scheduler_svc.shell.config.extension_points import ExtensionPoint
from scheduler_svc.shell.config.mistakes import ConfigurationError, MistakeLog
from scheduler_svc.shell.config.plugin_sets import EnabledPlugin
from scheduler_svc.shell.config.schema import (
    ClientConnection,
    Extender,
    LeaderElection,
    Plugins,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RawArguments:
    """Arguments of a plugin that is not in-tree: only the plugin knows their type.

    `document` is what the file says; two are equal if they say the same.
    """

    document: Mapping[str, Any]
    file: str = field(compare=False)
    path: Path = field(compare=False)
    root: Node = field(repr=False, compare=False)
    node: Node = field(repr=False, compare=False)

    @classmethod
    def read(cls, file: str, path: Path, root: Node, node: Node) -> "RawArguments":
        """Keep the object at `node`, with what is needed to say where a mistake is."""
        plain = to_plain(node)
        return cls(plain if isinstance(plain, dict) else {}, file, path, root, node)

    def decode(self, type_: type[T]) -> T:
        """Return the arguments as a msgspec Struct of the plugin's.

        Unknown fields are mistakes, whether or not the type forbids them.

        Raises
        ------
        ConfigurationError
            With every mistake, in the same form as those of the rest of the file.
        """
        log = MistakeLog(self.file, self.root)
        arguments = decode(self.node, type_, log, path=self.path)
        if log.mistakes:
            raise ConfigurationError(log.mistakes)
        return arguments


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One scheduler name and what runs for its Pods.

    Attributes
    ----------
    points
        The plugins of each extension point but `multiPoint`, in the order they run.
    args
        The arguments of every plugin that takes some, whether or not it runs.
    plugins
        The merged sets that `points` was expanded from.
    """

    scheduler_name: str
    points: Mapping[ExtensionPoint, tuple[EnabledPlugin, ...]]
    args: Mapping[str, ArgumentsStruct | RawArguments]
    plugins: Plugins
    percentage_of_nodes_to_score: int | None = None

    @property
    def plugin_names(self) -> tuple[str, ...]:
        """Every plugin that runs at some point, each once, in the order of the points."""
        names = (plugin.name for plugins in self.points.values() for plugin in plugins)
        return tuple(dict.fromkeys(names))


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """What a scheduler is to do.

    Attributes
    ----------
    path
        The file it was read from; empty: there was none.
    given
        The paths of all values in the file, as `profiles[0].schedulerName`.
    notices
        What the file says that is not wrong but may surprise; lines for the log.

    See `schema.KubeSchedulerConfiguration` for the rest.
    """

    path: str
    profiles: tuple[Profile, ...]
    leader_election: LeaderElection
    client_connection: ClientConnection
    parallelism: int
    percentage_of_nodes_to_score: int
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    enable_profiling: bool
    enable_contention_profiling: bool
    extenders: tuple[Extender, ...]
    delay_cache_until_active: bool
    given: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()

    def profile(self, scheduler_name: str) -> Profile | None:
        """Return the profile for Pods with this `spec.schedulerName`, if there is one."""
        for profile in self.profiles:
            if profile.scheduler_name == scheduler_name:
                return profile
        return None
