"""What is watched beside Nodes and Pods, and the events that its changes become."""

import json
from typing import Any

import msgspec
import pytest

from kubeio.changes import Deleted, Listed, Upserted
from kubeio.decoding import ObjectDecoder
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.events import ObjectDeleted, ObjectUpserted
from scheduler_svc.shell.views.object_views import WATCHED_KINDS, WatchedKind, object_views

# What the API server never leaves out of an object of the kind.
NEEDED: dict[ObjectKind, dict[str, Any]] = {}


def test_only_what_enabled_plugins_read_is_watched() -> None:
    always = {w.resource.plural for w in WATCHED_KINDS if w.plugins is None}
    assert object_views(()).keys() == always
    assert "namespaces" in always
    for watched in WATCHED_KINDS:
        for plugin in watched.plugins or ():
            assert watched.resource.plural in object_views({plugin})


def test_each_kind_and_resource_is_watched_once() -> None:
    assert len({w.kind for w in WATCHED_KINDS}) == len(WATCHED_KINDS)
    assert len({w.view_name for w in WATCHED_KINDS}) == len(WATCHED_KINDS)
    assert len({(w.resource, w.api_kind) for w in WATCHED_KINDS}) == len(WATCHED_KINDS)


@pytest.mark.parametrize("watched", WATCHED_KINDS, ids=lambda watched: watched.kind)
def test_an_object_is_decoded_with_its_identity(watched: WatchedKind) -> None:
    view = object_views(watched.plugins or ())[watched.view_name]
    document = {
        "metadata": {"name": "x", "namespace": "a", "uid": "u"},
        **NEEDED.get(watched.kind, {}),
    }
    decoded = ObjectDecoder(view.query).item(msgspec.Raw(json.dumps(document).encode()))
    assert decoded.object is not None, decoded.problem
    assert decoded.object.metadata.name == "x"
    assert view.to_event(Upserted(decoded.object)) == ObjectUpserted(watched.kind, decoded.object)


def test_an_object_is_known_by_namespace_and_name() -> None:
    view = object_views(())["namespaces"]
    assert view.to_event(Deleted("", "shop", "u")) == ObjectDeleted(ObjectKind.NAMESPACE, "shop")
    assert view.to_event(Deleted("a", "b", "u")) == ObjectDeleted(ObjectKind.NAMESPACE, "a/b")
    assert view.to_event(Listed("9")) is None


def test_groups_of_both_apis_are_watched() -> None:
    assert object_views({"GangScheduling"}).keys() >= {"podgroups", "podgroups.scheduling.k8s.io"}
