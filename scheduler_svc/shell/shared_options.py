"""What the command lines of the scheduler and of the controller say alike."""

import msgspec

from scheduler_svc.shell.config.schema import LeaderElection


class LeaderElectionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Flags that overrule the file's `leaderElection`; None: not given."""

    leader_elect: bool | None = None
    lease_duration_seconds: float | None = None
    renew_deadline_seconds: float | None = None
    retry_period_seconds: float | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None

    def overrule(self, election: LeaderElection) -> LeaderElection:
        """Give the file's values with the flags' in their place."""
        given = {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(self, name)) is not None
        }
        return msgspec.structs.replace(election, **given)
