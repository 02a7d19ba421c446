"""SchedulerProfiles for tests."""

from collections.abc import Mapping
from typing import Any, Final

from scheduler_svc.shell.config import Configuration, load_configuration, rename_for_live
from scheduler_svc.shell.custom_plugins import NO_PLUGINS
from scheduler_svc.shell.scheduler_profiles.objects import (
    ActiveSpec,
    ProfileMetadata,
    ProfileStatus,
    SchedulerProfile,
)
from scheduler_svc.shell.scheduler_profiles.validation import plugin_registry

HEAD: Final = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
IN_TREE_ONLY: Final = plugin_registry(NO_PLUGINS)


def configured(text: str = "", *, scheduler_name: str = "berthmaster") -> Configuration:
    """Give a configuration in effect, of what a file says beside its head."""
    loaded = load_configuration(HEAD + text, path="scheduler.yaml", known_plugins={})
    return rename_for_live(loaded, scheduler_name)


def make_profile(
    name: str,
    spec: Mapping[str, Any] | None = None,
    *,
    generation: int = 1,
    created: str = "2026-01-01T00:00:00Z",
    active: Mapping[str, Any] | None = None,
    active_generation: int = 1,
) -> SchedulerProfile:
    """Make one that asks for a schedulerName like its own name, if nothing else is said."""
    given = {"schedulerName": name} if spec is None else spec
    return SchedulerProfile(
        metadata=ProfileMetadata(
            name=name, uid=f"uid-{name}", generation=generation, creation_timestamp=created
        ),
        spec=given,
        status=ProfileStatus(
            active=None if active is None else ActiveSpec(generation=active_generation, spec=active)
        ),
    )
