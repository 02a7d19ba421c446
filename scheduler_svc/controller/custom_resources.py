"""The resources whose status the controller keeps, and the names of their objects."""

from typing import Final, NamedTuple

from kubeio.resources import ResourcePath


class CustomResource(NamedTuple):
    """One of them; `path` is of the objects in all namespaces."""

    kind: str
    path: ResourcePath

    @property
    def api_version(self) -> str:
        """Group and version, as an object has them."""
        return f"{self.path.group}/{self.path.version}"

    @property
    def name(self) -> str:
        """``podgroups.scheduling.x-k8s.io``: for log lines and metrics."""
        return str(self.path)


POD_GROUPS: Final = CustomResource(
    "PodGroup", ResourcePath("scheduling.x-k8s.io", "v1alpha1", "podgroups")
)
BUILT_IN_POD_GROUPS: Final = CustomResource(
    "PodGroup", ResourcePath("scheduling.k8s.io", "v1alpha2", "podgroups")
)
SCHEDULER_PROFILES: Final = CustomResource(
    "SchedulerProfile", ResourcePath("berthmaster.dev", "v1alpha1", "schedulerprofiles")
)
ALL_RESOURCES: Final = (POD_GROUPS, BUILT_IN_POD_GROUPS, SCHEDULER_PROFILES)


class ObjectKey(NamedTuple):
    """Which object; `namespace` is "" for one that has none."""

    resource: CustomResource
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """Path of the object."""
        resource = self.resource.path
        return (resource.in_namespace(self.namespace) if self.namespace else resource).object(
            self.name
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
