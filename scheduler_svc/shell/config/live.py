"""What a live scheduler makes of a configuration that was written for kube-scheduler.

A stock file names the profile `default-scheduler`. Beside a running kube-scheduler two
schedulers would then serve the same Pods, so the profile is served under the name that
`--scheduler-name` says, and `default-scheduler` only if that flag says so.
"""

from typing import Final

from msgspec.structs import replace

from scheduler_svc.shell.config.configuration import Configuration
from scheduler_svc.shell.config.schema import DEFAULT_SCHEDULER_NAME, KUBE_SCHEDULER_LEASE_NAME

_TAKEN_LEASE: Final = (
    f"leaderElection.resourceName is {KUBE_SCHEDULER_LEASE_NAME}: while kube-scheduler holds "
    "that Lease, this scheduler stands by"
)


def rename_for_live(configuration: Configuration, scheduler_name: str) -> Configuration:
    """Return the configuration as the live scheduler serves it; what it changes is noticed.

    The profile `default-scheduler` is served as `scheduler_name`. Where the file has a
    profile of that name already, that one is served and `default-scheduler` is left to
    kube-scheduler. Other profiles keep their names.
    """
    notices = list(configuration.notices)
    profiles = configuration.profiles
    default = configuration.profile(DEFAULT_SCHEDULER_NAME)
    if scheduler_name != DEFAULT_SCHEDULER_NAME and default is not None:
        if configuration.profile(scheduler_name) is None:
            profiles = tuple(
                replace(profile, scheduler_name=scheduler_name) if profile is default else profile
                for profile in profiles
            )
            if configuration.path:
                notices.append(
                    f"the profile {DEFAULT_SCHEDULER_NAME} is served as {scheduler_name}"
                )
        else:
            profiles = tuple(profile for profile in profiles if profile is not default)
            notices.append(f"the profile {DEFAULT_SCHEDULER_NAME} is not served")
    names = [profile.scheduler_name for profile in profiles]
    if scheduler_name not in names:
        notices.append(f"no profile is called {scheduler_name}; served are {', '.join(names)}")
    election = configuration.leader_election
    if election.leader_elect and election.resource_name == KUBE_SCHEDULER_LEASE_NAME:
        notices.append(_TAKEN_LEASE)
    return replace(configuration, profiles=profiles, notices=tuple(notices))
