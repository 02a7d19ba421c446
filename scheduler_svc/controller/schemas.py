"""Which fields a resource's status has in this cluster: its definition may be somebody else's.

scheduler-plugins' own definition of PodGroups has no conditions. The API server drops what a
definition does not have, so writing it would change nothing, again and again. What the API
server publishes as OpenAPI says so before anything is written, and needs no right to read
definitions: every user may read it. Older ones have no status subresource at all, and we have
no right to write anything else.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from kubeio.client import KubeClient
from scheduler_svc.controller.custom_resources import CustomResource

TIMEOUT_SECONDS: Final = 15.0


async def lacking_fields(
    client: KubeClient, resource: CustomResource, wanted: Collection[str]
) -> frozenset[str]:
    """Give those of the `wanted` fields that the status of a resource does not have.

    None is lacking where that can't be told; all are where the status can't be written.

    Raises
    ------
    KubeError
        Where the API server does not publish it.
    """
    path = f"/openapi/v3/apis/{resource.api_version}"
    document: dict[str, Any] = await client.get_json(path, dict, timeout_seconds=TIMEOUT_SECONDS)
    if not has_status(document, resource):
        return frozenset(wanted)
    fields = status_fields(document, resource)
    return frozenset() if fields is None else frozenset(wanted) - fields


def has_status(document: Mapping[str, Any], resource: CustomResource) -> bool:
    """Whether the status of a resource can be written; True where the document does not say."""
    paths = _at(document, "paths")
    end = f"/{resource.path.plural}/{{name}}"
    is_told = any(path.endswith(end) for path in paths)
    return not is_told or any(path.endswith(f"{end}/status") for path in paths)


def status_fields(document: Mapping[str, Any], resource: CustomResource) -> frozenset[str] | None:
    """Give the fields of a resource's status; None where the document does not say."""
    schemas = _at(document, "components", "schemas")
    for schema in schemas.values():
        kinds = schema.get("x-kubernetes-group-version-kind", ())
        if any(_is_of(kind, resource) for kind in kinds):
            status = _at(schema, "properties", "status")
            fields = _at(status, "properties")
            return frozenset(fields) if fields else None
    return None


def _is_of(kind: Mapping[str, Any], resource: CustomResource) -> bool:
    path = resource.path
    expected = (path.group, path.version, resource.kind)
    return (kind.get("group"), kind.get("version"), kind.get("kind")) == expected


def _at(document: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        value = document.get(name)
        if not isinstance(value, Mapping):
            return {}
        document = value
    return document
