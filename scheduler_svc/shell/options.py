"""What the command line says about the process; the configuration file says the rest."""

import msgspec

from kubeio.logs import LogFormat
from kubeio.serving_options import ServingOptions
from scheduler_svc.core.pod_groups import GroupTiming
from scheduler_svc.shell.config import Configuration
from scheduler_svc.shell.defaults import DEFAULT_SCHEDULER_NAME
from scheduler_svc.shell.shared_options import LeaderElectionOptions


class SchedulerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the process runs.

    Attributes
    ----------
    version
        Of the program, for logs and the User-Agent.
    config_path
        The KubeSchedulerConfiguration; "" for the defaults.
    kubeconfig, context
        None: found as kubectl does, else the Pod's ServiceAccount.
    scheduler_name
        What the profile `default-scheduler` of a file is served as.
    plugins
        Users' plugins, `package.module:Class` or `path/to/file.py:Class`, enabled in every
        profile that does not name them itself.
    scheduler_profiles
        Whether SchedulerProfiles are followed, where the API server serves them.
    pod_groups
        Whether the Pods of a PodGroup start together or not at all.
    group_timing
        For how long groups wait at the head, and room is kept for them.
    dry_run
        Decide and log, and write nothing to the cluster; there is no election.
    bind_timeout_seconds
        For the POST of one Binding.
    bind_concurrency
        How many Bindings at once to begin with; it adapts.
    authorize
        Whether readers of metrics and configuration are asked who they are.
    """

    version: str
    config_path: str = ""
    kubeconfig: str | None = None
    context: str | None = None
    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    election: LeaderElectionOptions = LeaderElectionOptions()
    plugins: tuple[str, ...] = ()
    scheduler_profiles: bool = True
    pod_groups: bool = True
    group_timing: GroupTiming = GroupTiming()
    dry_run: bool = False
    bind_timeout_seconds: float = 30.0
    bind_concurrency: int = 32
    serving: ServingOptions = ServingOptions()
    authorize: bool = True
    verbosity: int = 0
    log_format: LogFormat = LogFormat.TEXT

    def kubeconfig_for(self, configuration: Configuration) -> str | None:
        """Give the kubeconfig: the flag's, else the file's; None to look for one."""
        return self.kubeconfig or configuration.client_connection.kubeconfig or None
