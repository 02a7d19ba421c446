"""The role in the manifests lets the scheduler do what it does."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeio.resources import ResourcePath
from scheduler_svc.shell.views.object_views import WATCHED_KINDS

MANIFEST = Path(__file__).parents[4] / "deploy/manifests/berthmaster.yaml"
WATCHING = ("list", "watch")
CORE = ""


def rules() -> list[dict[str, Any]]:
    documents = yaml.safe_load_all(MANIFEST.read_text())
    [role] = [
        document
        for document in documents
        if document["kind"] == "ClusterRole"
        and document["metadata"]["name"] == "berthmaster-scheduler"
    ]
    found: list[dict[str, Any]] = role["rules"]
    return found


def may(verb: str, group: str, resource: str) -> bool:
    return any(
        group in rule.get("apiGroups", ())
        and resource in rule.get("resources", ())
        and verb in rule["verbs"]
        for rule in rules()
    )


@pytest.mark.parametrize(
    "resource", [kind.resource for kind in WATCHED_KINDS], ids=lambda path: path.plural
)
def test_every_watched_kind_may_be_watched(resource: ResourcePath) -> None:
    assert [verb for verb in WATCHING if not may(verb, resource.group, resource.plural)] == []


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("get", "nodes"),
        ("watch", "nodes"),
        ("get", "pods"),
        ("watch", "pods"),
        ("create", "pods/binding"),
        ("patch", "pods/status"),
        ("delete", "pods"),
    ],
)
def test_pods_may_be_placed_and_evicted(verb: str, resource: str) -> None:
    assert may(verb, CORE, resource)
