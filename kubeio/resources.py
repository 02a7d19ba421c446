"""Which resource of the API a call is about, and its paths."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class ResourcePath:
    """A resource: group, version and plural name; perhaps in one namespace only.

    Attributes
    ----------
    group
        "" for the core group.
    version
        ``v1``.
    plural
        ``pods``.
    namespace
        None for all namespaces, and for resources that have none.
    """

    group: str
    version: str
    plural: str
    namespace: str | None = None

    @property
    def collection(self) -> str:
        """Path of the list: ``/api/v1/pods``, ``/apis/apps/v1/namespaces/a/replicasets``."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if self.namespace is None:
            return f"{root}/{self.plural}"
        return f"{root}/namespaces/{quote(self.namespace, safe='')}/{self.plural}"

    def object(self, name: str, subresource: str = "") -> str:
        """Path of one object, or of a subresource of it."""
        path = f"{self.collection}/{quote(name, safe=':')}"
        return f"{path}/{subresource}" if subresource else path

    def in_namespace(self, namespace: str) -> "ResourcePath":
        """Give the same resource, in one namespace."""
        return ResourcePath(self.group, self.version, self.plural, namespace)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def describe_path(path: str) -> str:
    """Name the resource that a path is about, for metrics: ``pods/binding``.

    Names of objects and namespaces do not appear: the number of label values stays
    small. A path that is no resource's gives its first part (``/readyz``).
    """
    parts = path.partition("?")[0].strip("/").split("/")
    if parts[0] == "api":
        rest = parts[2:]
    elif parts[0] == "apis":
        rest = parts[3:]
    else:
        return f"/{parts[0]}"
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        rest = rest[2:]
    if not rest:
        return f"/{parts[0]}"
    return f"{rest[0]}/{rest[2]}" if len(rest) > 2 else rest[0]
