"""Objects are kept by key, and who listens hears of each change."""

from typing import Any

from scheduler_svc.core.cluster_objects import ClusterObjects, ObjectKind, object_key
from scheduler_svc.core.objects import Namespace, ObjectMeta


def namespace(version: str) -> Namespace:
    return Namespace(ObjectMeta("shop", resource_version=version))


def test_an_object_replaces_its_former_version_until_it_is_deleted() -> None:
    store = ClusterObjects()[ObjectKind.NAMESPACE]
    heard: list[tuple[Any, Any]] = []
    store.listeners.append(lambda old, new: heard.append((old, new)))
    one, two = namespace("1"), namespace("2")
    assert store.upsert(one) is None
    assert store.upsert(two) is one
    assert store.get("", "shop") is two
    assert store.version == 2
    assert store.delete("shop") is two
    assert store.get("", "shop") is None
    assert heard == [(None, one), (one, two), (two, None)]
    assert store.version == 3


def test_what_was_never_there_cannot_go() -> None:
    store = ClusterObjects()[ObjectKind.SERVICE]
    assert store.delete("a/b") is None
    assert store.version == 0


def test_kinds_are_apart() -> None:
    objects = ClusterObjects()
    objects[ObjectKind.NAMESPACE].upsert(namespace("1"))
    assert objects[ObjectKind.SERVICE].by_key == {}


def test_keys_are_those_of_the_cache() -> None:
    assert object_key("shop", "data") == "shop/data"
    assert object_key("", "shop") == "shop"
