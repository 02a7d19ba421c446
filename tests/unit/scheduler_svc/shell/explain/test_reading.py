from typing import Any

import pytest

from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.shell.explain.documents import Document
from scheduler_svc.shell.explain.reading import SnapshotError, read_snapshot
from scheduler_svc.shell.explain.snapshot import Snapshot


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def node(name: str, **status: Any) -> dict[str, Any]:
    metadata = {"name": name, "creationTimestamp": None}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def read(*contents: Any) -> tuple[Snapshot, list[str]]:
    notes: list[str] = []
    documents = [Document(f"f:{line}", content) for line, content in enumerate(contents, 1)]
    return read_snapshot(documents, note=notes.append), notes


def test_pods_with_a_node_take_room_and_others_are_pending() -> None:
    finished = pod("done", nodeName="n") | {"status": {"phase": "Succeeded"}}
    snapshot, notes = read(node("n"), pod("a", nodeName="n"), pod("b"), finished, pod("c"))
    assert list(snapshot.pending) == ["default/b", "default/c"]
    assert [cached.pod.key for cached in snapshot.cache.pods()] == ["default/a"]
    assert notes == []
    snapshot.cache.validate()


def test_the_last_word_on_an_object_counts() -> None:
    snapshot, _ = read(
        pod("a"), pod("b"), node("n"), pod("a", nodeName="n"), pod("b", nodeName="n")
    )
    assert not snapshot.pending
    assert len(snapshot.cache) == 2
    snapshot, _ = read(node("n"), pod("a", nodeName="n"), pod("a"))
    assert list(snapshot.pending) == ["default/a"]
    assert len(snapshot.cache) == 0


def test_nominated_pods_are_known() -> None:
    nominated = pod("a") | {"status": {"nominatedNodeName": "n"}}
    snapshot, _ = read(node("n"), nominated)
    assert [p.key for p in snapshot.nominator.pods_on("n")] == ["default/a"]


def test_null_stands_for_what_is_not_given() -> None:
    snapshot, _ = read(pod("a", containers=None, nodeSelector=None, tolerations=[{"key": None}]))
    assert snapshot.pending["default/a"].shape.node_selector is None


def test_other_objects_are_kept_by_kind() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
    snapshot, _ = read(namespace)
    assert snapshot.cluster.objects[ObjectKind.NAMESPACE].get("", "team-a") is not None


def test_what_says_nothing_is_named_and_skipped() -> None:
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    old = {"apiVersion": "v1beta3", "kind": "Pod", "metadata": {"name": "p"}}
    _, notes = read({"replicas": 3}, deployment, "text", deployment, old)
    assert notes == [
        "f:1: skipped: no Kubernetes object, which has an apiVersion and a kind",
        "f:3: skipped: no Kubernetes object, which has an apiVersion and a kind",
        "skipped: 2 Deployment (apps/v1): no decision depends on that kind",
        "skipped: 1 Pod (v1beta3): no decision depends on that kind",
    ]


def test_all_broken_objects_are_told_with_place_name_and_field() -> None:
    nameless = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {}}
    with pytest.raises(SnapshotError) as caught:
        read(pod("a", containers=3), node("n", allocatable={"cpu": "much"}), nameless, pod("b"))
    first, second, third = str(caught.value).splitlines()
    assert first == "f:1: Pod default/a: Expected `array`, got `int` - at `$.spec.containers`"
    assert second.startswith("f:2: Node n: ")
    assert "much" in second
    assert third == "f:3: Pod: metadata.name: a name is needed"


def test_of_many_broken_objects_some_are_told() -> None:
    with pytest.raises(SnapshotError) as caught:
        read(*(pod(f"p{i}", containers=i) for i in range(30)))
    assert str(caught.value).splitlines()[-1] == "… and 10 more"
