"""What all generated objects have in common."""

import random
from typing import Any, Final

Random = random.Random
Manifest = dict[str, Any]

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
ZONES: Final = ("z-a", "z-b", "z-c")
APPS: Final = ("web", "db", "cache", "batch")
NAMESPACES: Final[dict[str, dict[str, str]]] = {
    "default": {},
    "team-a": {"team": "a"},
    "team-b": {"team": "b"},
}


def manifest(
    api_version: str, kind: str, name: str, namespace: str = "", **fields: Any
) -> Manifest:
    """Give an object with a uid that is unique."""
    metadata: Manifest = {"name": name, "uid": f"uid-{kind}-{namespace}-{name}"}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def chance(r: Random, probability: float) -> bool:
    """Toss a biased coin."""
    return r.random() < probability


def is_pending(pod: Manifest) -> bool:
    """Whether the Pod waits for a Node."""
    return "nodeName" not in pod["spec"]


def name_of(object_: Manifest) -> str:
    """Give an object's name."""
    return str(object_["metadata"]["name"])
