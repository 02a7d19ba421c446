"""JSON schemas for kubeconform, from what the API server itself publishes.

kubeconform would fetch them from the network, where they may be older or newer than the server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from deploy.controlplane import ControlPlane
from tests.chart.rendering import Document
from tests.integration.rest import read

# kubeconform's words for where the schema of an object is.
LOCATION: Final = "{{.Group}}_{{.ResourceAPIVersion}}_{{.ResourceKind}}.json"
_GROUP_VERSION_KIND: Final = "x-kubernetes-group-version-kind"


def write_schemas(plane: ControlPlane, documents: Iterable[Document], folder: Path) -> None:
    """Write the schema of each kind of these objects into the folder."""
    for api_version, kind in sorted({(d["apiVersion"], d["kind"]) for d in documents}):
        group, _, version = api_version.rpartition("/")
        path = f"/openapi/v3/apis/{api_version}" if group else f"/openapi/v3/api/{version}"
        components = read(plane, path)["components"]["schemas"]
        [name] = [
            name
            for name, schema in components.items()
            if {"group": group, "version": version, "kind": kind}
            in schema.get(_GROUP_VERSION_KIND, ())
        ]
        document = {"$ref": f"#/components/schemas/{name}"}
        schemas = {key: _closed(schema) for key, schema in components.items()}
        # The core group has no name: kubeconform gives its version in its place.
        file = folder / f"{group or version}_{version}_{kind.lower()}.json"
        file.write_text(json.dumps({**document, "components": {"schemas": schemas}}))


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Refuse fields that the server does not know, as it does with strict validation."""
    if "properties" in schema and "additionalProperties" not in schema:
        return {**schema, "additionalProperties": False}
    return schema
