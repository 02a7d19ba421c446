"""SchedulerProfile as the API server tells it; `spec` is read only when it is judged."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kubeio.resources import ResourcePath

KIND: Final = "SchedulerProfile"
RESOURCE: Final = ResourcePath("berthmaster.dev", "v1alpha1", "schedulerprofiles")


def source_of(name: str) -> str:
    """Give how an object is called in messages, in the place of a file's name."""
    return f"{KIND} {name}"


class _Struct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of its parts."""


class ProfileMetadata(_Struct, frozen=True):
    """What is read of the metadata; `creation_timestamp` is RFC 3339, which sorts as text."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""


class ActiveSpec(_Struct, frozen=True):
    """The last spec that was valid, as the controller writes it."""

    generation: int = 0
    spec: Mapping[str, Any] = {}


class Observation(_Struct, frozen=True):
    """Which generation a scheduler runs, since when (`at`, RFC 3339)."""

    scheduler: str = ""
    generation: int = 0
    at: str = ""


class ProfileStatus(_Struct, frozen=True):
    """What is read of the status."""

    observed_generation: int = 0
    active: ActiveSpec | None = None
    observed_by: tuple[Observation, ...] = ()


class SchedulerProfile(_Struct, frozen=True):
    """A profile of KubeSchedulerConfiguration v1 as a cluster-scoped object."""

    metadata: ProfileMetadata = ProfileMetadata()
    spec: Mapping[str, Any] = {}
    status: ProfileStatus = ProfileStatus()

    @property
    def seniority(self) -> tuple[str, str]:
        """Sorts the oldest first: of two with one schedulerName that one has it."""
        return self.metadata.creation_timestamp, self.metadata.name

    @property
    def scheduler_name(self) -> str:
        """The schedulerName that it asks for; empty where it has none."""
        return _scheduler_name(self.spec)

    @property
    def claimed_names(self) -> frozenset[str]:
        """The names it keeps younger ones from: also that of the spec that is run meanwhile."""
        active = self.status.active
        specs = [self.spec] if active is None else [self.spec, active.spec]
        return frozenset(_scheduler_name(spec) for spec in specs) - {""}

    def with_active_spec(self) -> "SchedulerProfile | None":
        """Give it as it was when it was last valid; None where that is not known."""
        active = self.status.active
        if active is None:
            return None
        metadata = replace(self.metadata, generation=active.generation)
        return replace(self, metadata=metadata, spec=active.spec)


def _scheduler_name(spec: Mapping[str, Any]) -> str:
    name = spec.get("schedulerName")
    return name if isinstance(name, str) else ""
