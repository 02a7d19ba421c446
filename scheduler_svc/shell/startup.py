"""What is settled before the process talks to anybody: configuration, profiles, election."""

import logging
import platform
from typing import Any, Final

import msgspec

from kubeio.client import KubeClient
from kubeio.daemon import user_agent
from kubeio.errors import KubeError
from kubeio.logs import fields
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.plugins.gang_scheduling import GangScheduling
from scheduler_svc.core.registry import IN_TREE
from scheduler_svc.shell.config import (
    LEASE_NAME,
    Configuration,
    ConfigurationError,
    fields_without_effect,
    leader_election_mistakes,
    rename_for_live,
    to_document,
)
from scheduler_svc.shell.config.schema import DEFAULT_SCHEDULER_NAME
from scheduler_svc.shell.configuration_file import read_configuration
from scheduler_svc.shell.custom_plugins import NO_PLUGINS, CustomPlugins, load_custom_plugins
from scheduler_svc.shell.custom_plugins.watching import PluginWatch
from scheduler_svc.shell.extenders import PlannedExtender, plan_extenders
from scheduler_svc.shell.options import SchedulerOptions
from scheduler_svc.shell.profiles import make_profiles
from scheduler_svc.shell.scheduler_profiles.validation import PluginRegistry, plugin_registry

_COMMAND_LINE: Final = "the command line"
_LEASE_PATH: Final = "leaderElection.resourceName"

_logger = logging.getLogger(__name__)


class StartPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All that is needed to start.

    Attributes
    ----------
    not_implemented
        Enabled plugins that there are none of yet.
    registry
        The plugins there are, whether or not they are enabled.
    plugin_watch
        What users' plugins are called under.
    pod_annotations
        Annotations that users' plugins read of Pods.
    plugin_surprises
        What in users' plugins is not wrong but not what their authors may expect.
    extenders
        In the order in which they are asked.
    """

    options: SchedulerOptions
    configuration: Configuration
    profiles: tuple[Profile, ...]
    not_implemented: tuple[str, ...]
    registry: PluginRegistry
    plugin_watch: PluginWatch
    pod_annotations: frozenset[str] = frozenset()
    plugin_surprises: tuple[str, ...] = ()
    extenders: tuple[PlannedExtender, ...] = ()

    @property
    def elects(self) -> bool:
        """Whether replicas elect a leader; a dry run writes nothing, so it takes no Lease."""
        return self.configuration.leader_election.leader_elect and not self.options.dry_run

    @property
    def serves_default(self) -> bool:
        """Whether `default-scheduler` is ours to serve."""
        return self.options.scheduler_name == DEFAULT_SCHEDULER_NAME

    @property
    def user_agent(self) -> str:
        """How the API server's audit log names us."""
        return user_agent(self.options.version, "scheduler")

    def configz(self) -> dict[str, Any]:
        """Give what ``/configz`` shows: the configuration in effect, in kube-scheduler's form."""
        return {"componentconfig": to_document(self.configuration)}


def plan_start(options: SchedulerOptions) -> StartPlan:
    """Read the configuration, let flags overrule it, make the plugins.

    Raises
    ------
    ConfigurationError, ProfileError, PluginLoadError
        With every mistake.
    UsageError
        Where the file, or one that it names, cannot be read.
    """
    custom = load_plugins(options)
    configuration = effective_configuration(options, custom)
    watch = PluginWatch()
    registry = plugin_registry(custom, watch)
    profiles, not_implemented = make_profiles(configuration, registry.factories)
    return StartPlan(
        options=options,
        configuration=configuration,
        profiles=profiles,
        not_implemented=not_implemented,
        registry=registry,
        plugin_watch=watch,
        pod_annotations=custom.annotations,
        plugin_surprises=custom.surprises,
        extenders=plan_extenders(configuration),
    )


def load_plugins(options: SchedulerOptions) -> CustomPlugins:
    """Load users' plugins, and say which are enabled: theirs, and the one for groups."""
    custom = load_custom_plugins(options.plugins)
    if options.pod_groups:
        enabled = (*custom.enabled, GangScheduling.name)
        custom = msgspec.structs.replace(custom, enabled=enabled)
    return custom


def effective_configuration(
    options: SchedulerOptions, custom: CustomPlugins = NO_PLUGINS
) -> Configuration:
    """Give the configuration with flags and the live scheduler's rules applied."""
    configuration = read_configuration(options.config_path, custom)
    election = options.election.overrule(configuration.leader_election)
    if mistakes := leader_election_mistakes(election, source=_COMMAND_LINE):
        raise ConfigurationError(mistakes)
    if options.election.resource_name is None and _LEASE_PATH not in configuration.given:
        name = lease_name(options.scheduler_name)
        election = msgspec.structs.replace(election, resource_name=name)
    configuration = msgspec.structs.replace(configuration, leader_election=election)
    return rename_for_live(configuration, options.scheduler_name)


def lease_name(scheduler_name: str) -> str:
    """Give the Lease of a scheduler that is told none: replicas share it, others do not."""
    return LEASE_NAME if scheduler_name == LEASE_NAME else f"{LEASE_NAME}-{scheduler_name}"


def surprises(configuration: Configuration) -> tuple[str, ...]:
    """Tell, a line each, what in the file is not wrong but not what its author may expect."""
    unused = fields_without_effect(configuration)
    return (*configuration.notices, *(("without effect: " + "; ".join(unused),) if unused else ()))


def log_start(plan: StartPlan, identity: str) -> None:
    """Tell what starts, and what of the configuration may surprise."""
    configuration = plan.configuration
    _logger.info(
        "Starting Berthmaster",
        extra=fields(
            version=plan.options.version,
            python=platform.python_version(),
            identity=identity,
            config=configuration.path or "defaults",
            profiles=",".join(profile.scheduler_name for profile in plan.profiles),
            plugins=",".join(_added_plugins(plan)) or "in-tree",
            leader_election=plan.elects,
        ),
    )
    for surprise in surprises(configuration):
        _logger.warning("Configuration: %s", surprise)
    for surprise in plan.plugin_surprises:
        _logger.warning("Loaded, but: %s", surprise)
    if plan.not_implemented:
        _logger.warning(
            "Plugins are enabled that are not implemented yet: Pods that need them are placed "
            "as if they did not",
            extra=fields(plugins=",".join(plan.not_implemented)),
        )
    for extender in plan.extenders:
        _logger.info(
            "Extender",
            extra=fields(
                url=extender.url,
                verbs=",".join(extender.verbs),
                ignorable=extender.core.is_ignorable,
                resources=",".join(sorted(extender.core.managed_resources)) or "all pods",
            ),
        )
    if plan.options.dry_run:
        _logger.info("Dry run: nothing is written to the cluster, and there is no election")


def _added_plugins(plan: StartPlan) -> list[str]:
    """Name the plugins in use that are not kube-scheduler's."""
    used = {name for profile in plan.profiles for name in profile.plugin_names}
    return sorted(used - IN_TREE.keys())


class _ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str
    platform: str = ""


async def log_server_version(client: KubeClient) -> None:
    """Tell which API server this is; a server that does not say is no reason not to go on."""
    try:
        version = await client.get_json("/version", _ServerVersion)
    except KubeError as error:
        _logger.warning("Cannot read the API server's version: %s", error)
        return
    _logger.info(
        "Kubernetes API server",
        extra=fields(
            version=version.git_version,
            platform=version.platform,
            url=client.credentials.server_url,
        ),
    )
