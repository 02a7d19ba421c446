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


def test_a_pod_made_anew_replaces_the_one_of_its_name() -> None:
    def made(uid: str, on: str) -> dict[str, Any]:
        told = pod("db-0", nodeName=on)
        return told | {"metadata": {"name": "db-0", "uid": uid}}

    snapshot, _ = read(node("n"), node("m"), made("u1", "n"), made("u2", "m"))
    assert [cached.pod.node_name for cached in snapshot.cache.pods()] == ["m"]


def test_pods_of_one_uid_are_as_many_as_their_names() -> None:
    """Who copies a manifest and changes its name has another Pod."""
    told = [pod(name, **({"nodeName": "n"} if name != "c" else {})) for name in "abc"]
    for each in told:
        each["metadata"]["uid"] = "u"
    snapshot, _ = read(node("n"), *told)
    assert {cached.pod.key for cached in snapshot.cache.pods()} == {"default/a", "default/b"}
    assert list(snapshot.pending) == ["default/c"]


def test_starts_are_compared_in_utc() -> None:
    starts = ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+02:00", "2026-01-01T00:00:00.5Z", None]
    told = [
        pod(f"p{number}", nodeName="n") | {"status": {"startTime": start}}
        for number, start in enumerate(starts)
    ]
    snapshot, _ = read(node("n"), *told)
    assert [cached.pod.start_time for cached in snapshot.cache.pods()] == [
        "2026-01-01T00:00:00Z",
        "2025-12-31T23:00:00Z",
        "2026-01-01T00:00:00Z",
        None,
    ]
    with pytest.raises(SnapshotError, match=r"'yesterday' is no time - at `\$\.status\.startTime`"):
        read(pod("p", nodeName="n") | {"status": {"startTime": "yesterday"}})


def test_integers_are_no_larger_than_go_takes_them() -> None:
    with pytest.raises(
        SnapshotError, match=r"Expected `int` <= 2147483647 - at `\$.spec.priority`"
    ):
        read(pod("p", priority=3_000_000_000))


def test_nominated_pods_are_known() -> None:
    nominated = pod("a") | {"status": {"nominatedNodeName": "n"}}
    snapshot, _ = read(node("n"), nominated)
    assert [p.key for p in snapshot.nominator.pods_on("n")] == ["default/a"]


def test_null_stands_for_what_is_not_given() -> None:
    snapshot, _ = read(pod("a", containers=None, nodeSelector=None, tolerations=[{"key": None}]))
    assert snapshot.pending["default/a"].shape.node_selector is None


def test_null_in_a_map_or_a_list_stands_for_what_is_empty() -> None:
    labelled = node("n", allocatable={"cpu": None}, images=[None, {"names": ["a", None]}])
    labelled["metadata"]["labels"] = {"node-role.kubernetes.io/control-plane": None, "a": "b"}
    container = {"name": "c", "resources": {"requests": {"cpu": None}, "limits": None}}
    selecting = pod(
        "p",
        nodeSelector={"node-role.kubernetes.io/control-plane": None},
        tolerations=[None],
        containers=[container],
        unknown={"a": None},
    )
    snapshot, _ = read(labelled, selecting)
    assert snapshot.cluster.columns.label_column("node-role.kubernetes.io/control-plane").values
    shape = snapshot.pending["default/p"].shape
    assert shape.node_selector == (("node-role.kubernetes.io/control-plane", ""),)
    assert len(shape.tolerations) == 1
    # It requests none, which is another thing than not to say how much.
    assert shape.requests.nonzero_milli_cpu == 0
    assert shape.requests.nonzero_memory_bytes > 0
    with pytest.raises(
        SnapshotError, match=r"required field `name` - at `\$.spec.containers\[0\]`"
    ):
        read(pod("p", containers=[None]))


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
