"""What the command line says about the controller, checked."""

import platform
from typing import Any, Final

import msgspec

from kubeio.daemon import user_agent
from kubeio.durations import format_duration
from kubeio.logs import LogFormat
from kubeio.serving_options import ServingOptions
from scheduler_svc.controller.defaults import DEFAULT_PORT, LEASE_NAME
from scheduler_svc.controller.profiles.reconciler import Rules
from scheduler_svc.shell.config import (
    ConfigurationError,
    leader_election_mistakes,
    rename_for_live,
)
from scheduler_svc.shell.config.schema import DEFAULT_SCHEDULER_NAME as KUBE_SCHEDULER_NAME
from scheduler_svc.shell.config.schema import LeaderElection
from scheduler_svc.shell.configuration_file import read_configuration
from scheduler_svc.shell.custom_plugins import load_custom_plugins
from scheduler_svc.shell.defaults import DEFAULT_SCHEDULER_NAME
from scheduler_svc.shell.profiles import make_profiles
from scheduler_svc.shell.scheduler_profiles.validation import plugin_registry
from scheduler_svc.shell.shared_options import LeaderElectionOptions

_COMMAND_LINE: Final = "the command line"


class ControllerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the controller runs.

    Attributes
    ----------
    version
        Of the program, for logs and the User-Agent.
    kubeconfig, context
        None: found as kubectl does, else the Pod's ServiceAccount.
    config_path, scheduler_name, plugins
        As the schedulers are given them: SchedulerProfiles are judged beside these.
    authorize
        Whether readers of metrics and configuration are asked who they are.
    """

    version: str
    kubeconfig: str | None = None
    context: str | None = None
    config_path: str = ""
    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    plugins: tuple[str, ...] = ()
    election: LeaderElectionOptions = LeaderElectionOptions()
    serving: ServingOptions = ServingOptions(port=DEFAULT_PORT)
    authorize: bool = True
    verbosity: int = 0
    log_format: LogFormat = LogFormat.TEXT

    @property
    def user_agent(self) -> str:
        """How the API server's audit log names us."""
        return user_agent(self.version, "controller")

    def leader_election(self) -> LeaderElection:
        """Give the election in effect. Raises `ConfigurationError` for what cannot be."""
        election = self.election.overrule(LeaderElection(resource_name=LEASE_NAME))
        if mistakes := leader_election_mistakes(election, source=_COMMAND_LINE):
            raise ConfigurationError(mistakes)
        return election

    def rules(self) -> Rules:
        """Read what profiles are judged beside.

        Raises
        ------
        ConfigurationError, PluginLoadError, ProfileError, UsageError
            As the scheduler does.
        """
        custom = load_custom_plugins(self.plugins)
        configuration = read_configuration(self.config_path, custom)
        registry = plugin_registry(custom)
        # Only a plugin that is made tells what is wrong with its arguments.
        make_profiles(configuration, registry.factories)
        return Rules(
            rename_for_live(configuration, self.scheduler_name),
            registry,
            serves_default=self.scheduler_name == KUBE_SCHEDULER_NAME,
        )

    def configz(self) -> dict[str, Any]:
        """Give what ``/configz`` shows: the options in effect."""
        election = self.leader_election()
        return {
            "controller": {
                "version": self.version,
                "python": platform.python_version(),
                "config": self.config_path,
                "schedulerName": self.scheduler_name,
                "plugins": list(self.plugins),
                "leaderElection": {
                    "leaderElect": election.leader_elect,
                    "leaseDuration": format_duration(election.lease_duration_seconds),
                    "renewDeadline": format_duration(election.renew_deadline_seconds),
                    "retryPeriod": format_duration(election.retry_period_seconds),
                    "resourceName": election.resource_name,
                    "resourceNamespace": election.resource_namespace,
                },
            }
        }
