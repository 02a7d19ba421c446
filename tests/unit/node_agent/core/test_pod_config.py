"""Full lists become operations: the kubelet's own cases, and the traps of its source.

Cases: pkg/kubelet/config/config_test.go, v1.36.3, in our words.
"""

from typing import Any

import pytest

from node_agent.core.objects import Pod
from node_agent.core.operations import SEEN_ANNOTATION, SOURCE_ANNOTATION, PodUpdate, Source
from node_agent.core.pod_config import Merged, PodConfig
from tests.unit.node_agent.core.pods import NOON, at, make_mirror, make_pod

Told = list[tuple[str, list[str]]]


def told(updates: tuple[PodUpdate, ...]) -> Told:
    """Give operations and the names of their Pods."""
    return [(u.operation.value, [pod.metadata.name for pod in u.pods]) for u in updates]


def merge(config: PodConfig, *pods: Pod, source: Source = Source.API, seconds: float = 0) -> Told:
    """Merge a list; give what it came to."""
    return told(config.merge(source, pods, at(seconds)).updates)


@pytest.fixture
def config() -> PodConfig:
    """Give one that has heard of the API server, which had no Pods."""
    config = PodConfig([Source.FILE, Source.API])
    merge(config)
    return config


def kept(config: PodConfig, name: str = "a", source: Source = Source.API) -> Pod:
    """Give a Pod as it is kept."""
    (pod,) = (pod for pod in config.pods(source) if pod.metadata.name == name)
    return pod


def test_added_ignored_when_identical_updated_removed(config: PodConfig) -> None:
    pod = make_pod()
    assert merge(config, pod) == [("ADD", ["a"])]
    assert merge(config, pod) == []
    assert merge(config, make_pod()) == []
    assert merge(config, make_pod(spec={"containers": [{"name": "other"}]})) == [("UPDATE", ["a"])]
    assert merge(config) == [("REMOVE", ["a"])]
    assert merge(config) == []


def test_one_list_gives_its_operations_in_order(config: PodConfig) -> None:
    before = [make_pod(name) for name in ("deleted", "reconciled", "removed", "updated")]
    merge(config, *before)
    assert merge(
        config,
        make_pod("reconciled", status={"phase": "Running"}),
        make_pod("deleted", deletionTimestamp="2026-06-01T12:00:05Z"),
        make_pod("updated", labels={"x": "1"}),
        make_pod("added"),
    ) == [
        ("REMOVE", ["removed"]),
        ("ADD", ["added"]),
        ("UPDATE", ["updated"]),
        ("DELETE", ["deleted"]),
        ("RECONCILE", ["reconciled"]),
    ]


def test_the_first_list_says_that_there_is_nothing_once() -> None:
    config = PodConfig([Source.API])
    assert merge(config) == [("ADD", [])]
    assert merge(config) == []


def test_the_first_list_with_pods_says_nothing_more() -> None:
    config = PodConfig([Source.API])
    assert merge(config, make_pod()) == [("ADD", ["a"])]


def test_every_source_says_so_for_itself() -> None:
    config = PodConfig([Source.FILE, Source.HTTP, Source.API])
    assert config.sources == (Source.FILE, Source.HTTP, Source.API)
    for source in (Source.HTTP, Source.API):
        assert merge(config, source=source) == [("ADD", [])]


@pytest.mark.parametrize(
    ("before", "after", "operation"),
    [
        ({}, {"labels": {"a": "1"}}, "UPDATE"),
        ({"labels": {"a": "1"}}, {"labels": {"a": "2"}}, "UPDATE"),
        ({"labels": {"a": "1"}}, {}, "UPDATE"),
        ({}, {"annotations": {"a": "1"}}, "UPDATE"),
        ({"annotations": {"a": "1"}}, {"annotations": {"a": "2"}}, "UPDATE"),
        ({"annotations": {"a": "1"}}, {}, "UPDATE"),
        ({}, {"annotations": {"kubernetes.io/config.hash": "1"}}, "UPDATE"),
        ({}, {"deletionTimestamp": "2026-06-01T12:00:05Z"}, "DELETE"),
        ({}, {"deletionGracePeriodSeconds": 3}, "UPDATE"),
        (
            {"deletionTimestamp": "2026-06-01T12:00:05Z"},
            {"deletionTimestamp": "2026-06-01T12:00:05Z", "labels": {"a": "1"}},
            "DELETE",
        ),
        ({"deletionTimestamp": "2026-06-01T12:00:05Z"}, {}, "UPDATE"),
        ({}, {"status": {"phase": "Running"}}, "RECONCILE"),
        ({}, {"status": {"phase": "Pending", "hostIP": "10.0.0.1"}}, "RECONCILE"),
        ({}, {"status": {"phase": "Running"}, "labels": {"a": "1"}}, "UPDATE"),
        (
            {},
            {"status": {"phase": "Running"}, "deletionTimestamp": "2026-06-01T12:00:05Z"},
            "DELETE",
        ),
    ],
)
def test_changes_are_told_apart(
    config: PodConfig, before: dict[str, Any], after: dict[str, Any], operation: str
) -> None:
    merge(config, make_pod(**before))
    assert merge(config, make_pod(**after)) == [(operation, ["a"])]
    assert merge(config, make_pod(**after)) == []


@pytest.mark.parametrize(
    "after",
    [
        {"labels": {}},
        {"labels": None},
        {"annotations": {}},
        {"annotations": {"kubernetes.io/config.seen": "2020-01-01T00:00:00Z"}},
        {"annotations": {"kubernetes.io/config.source": "file"}},
        {"annotations": {"kubernetes.io/config.mirror": "x"}},
        {"resourceVersion": "7"},
        {"generation": 3},
        {"ownerReferences": [{"kind": "Node", "name": "n"}]},
        {"spec": {"containers": [{"name": "c", "image": "i", "resources": {}}], "volumes": None}},
    ],
)
def test_what_is_no_change(config: PodConfig, after: dict[str, Any]) -> None:
    merge(config, make_pod())
    assert merge(config, make_pod(**after)) == []


def test_a_pod_first_seen_while_it_is_deleted_is_added(config: PodConfig) -> None:
    assert merge(config, make_pod(deletionTimestamp="2026-06-01T12:00:05Z")) == [("ADD", ["a"])]


def test_of_pods_with_one_name_the_first_is_taken(config: PodConfig) -> None:
    first, second = make_pod(uid="1"), make_pod(uid="2")
    merged = config.merge(Source.API, [first, second, make_pod(namespace="other")], at(0))
    assert [pod.metadata.uid for pod in config.pods(Source.API)] == ["1", "uid-a"]
    assert merged.duplicates == (second,)
    # Told once, however often it is listed; and again where it has been away.
    assert config.merge(Source.API, [first, second], at(1)).duplicates == ()
    assert config.merge(Source.API, [first], at(2)).duplicates == ()
    assert config.merge(Source.API, [first, second], at(3)).duplicates == (second,)
    # The first has gone: the second is new.
    assert merge(config, second) == [("REMOVE", ["a"]), ("ADD", ["a"])]


def test_of_pods_with_one_uid_the_first_is_taken(config: PodConfig) -> None:
    first, second = make_pod("a", uid="1"), make_pod("b", uid="1")
    merged = config.merge(Source.API, [first, second], at(0))
    assert told(merged.updates) == [("ADD", ["a"])]
    assert merged.duplicates == (second,)
    assert merge(config, first) == []


def test_names_may_be_handed_on_within_one_list(config: PodConfig) -> None:
    merge(config, make_pod("a", uid="1"), make_pod("b", uid="2"))
    assert merge(config, make_pod("b", uid="1"), make_pod("a", uid="2")) == []
    assert merge(config, make_pod("b", uid="3"), make_pod("a", uid="2")) == [
        ("REMOVE", ["a"]),
        ("ADD", ["b"]),
    ]
    renamed, other = make_pod("c", uid="2"), make_pod("a", uid="4")
    assert merge(config, make_pod("b", uid="3"), renamed) == []
    assert merge(config, make_pod("b", uid="3"), renamed, other) == [("ADD", ["a"])]
    assert config.merge(Source.API, [make_pod("c", uid="5"), renamed], at(0)).duplicates == (
        renamed,
    )


def test_sources_may_have_pods_of_one_name(config: PodConfig) -> None:
    merge(config, make_pod(uid="1"))
    assert merge(config, make_pod(uid="2"), source=Source.FILE) == [("ADD", ["a"])]
    assert merge(config, source=Source.FILE) == [("REMOVE", ["a"])]
    assert kept(config).metadata.uid == "1"


def test_source_and_first_sight_are_noted(config: PodConfig) -> None:
    merge(config, make_pod(annotations={SOURCE_ANNOTATION: "file", "x": "1"}))
    merge(config, make_pod(annotations={"x": "2", SEEN_ANNOTATION: "now"}), seconds=9)
    assert kept(config).metadata.annotations == {
        SOURCE_ANNOTATION: "api",
        SEEN_ANNOTATION: NOON,
        "x": "2",
    }


def test_a_mirror_that_is_read_back_comes_from_the_api_server(config: PodConfig) -> None:
    mirror = make_mirror(hash_="h")
    merge(config, mirror)
    merge(config, make_mirror(hash_="other", labels={"x": "1"}))
    annotations = kept(config).metadata.annotations or {}
    assert annotations[SOURCE_ANNOTATION] == "api"
    assert annotations["kubernetes.io/config.mirror"] == "h"


def test_a_local_annotation_that_comes_with_a_change_is_taken(config: PodConfig) -> None:
    merge(config, make_pod())
    merge(config, make_mirror(hash_="h", uid="uid-a", labels={"x": "1"}))
    assert (kept(config).metadata.annotations or {})["kubernetes.io/config.mirror"] == "h"


def test_a_pod_that_comes_back_is_seen_anew(config: PodConfig) -> None:
    merge(config, make_pod())
    merge(config)
    merge(config, make_pod(), seconds=9)
    seen = (kept(config).metadata.annotations or {})[SEEN_ANNOTATION]
    assert seen == "2026-06-01T12:00:09.000000000Z"


def test_an_update_takes_over_all_but_what_never_changes(config: PodConfig) -> None:
    merge(config, make_pod(resourceVersion="1", creationTimestamp="2026-06-01T11:00:00Z"))
    merge(
        config,
        make_pod(
            resourceVersion="2",
            creationTimestamp="2026-06-01T11:30:00Z",
            generation=2,
            labels={"x": "1"},
            deletionTimestamp="2026-06-01T12:00:05Z",
            deletionGracePeriodSeconds=5,
            spec={"nodeName": "n"},
            status={"phase": "Running"},
        ),
    )
    pod = kept(config)
    meta = pod.metadata
    assert (meta.resource_version, meta.creation_timestamp) == ("1", "2026-06-01T11:00:00Z")
    assert (meta.generation, meta.labels) == (2, {"x": "1"})
    assert meta.deletion_timestamp == "2026-06-01T12:00:05Z"
    assert meta.deletion_grace_period_seconds == 5
    assert (pod.spec.node_name, pod.status.phase) == ("n", "Running")


def test_a_reconcile_takes_over_the_status_alone(config: PodConfig) -> None:
    merge(config, make_pod(generation=1))
    merge(config, make_pod(generation=2, status={"phase": "Running"}))
    pod = kept(config)
    assert (pod.metadata.generation, pod.status.phase) == (1, "Running")


def test_readiness_needs_a_list_and_its_handling() -> None:
    config = PodConfig([Source.FILE, Source.API])
    assert list(config.unready_sources) == [Source.FILE, Source.API]
    config.note_processed(Source.FILE)
    merge(config)
    assert list(config.unready_sources) == [Source.FILE, Source.API]
    config.note_processed(Source.API)
    assert list(config.unready_sources) == [Source.FILE]
    assert not config.has_seen_all_sources
    merge(config, source=Source.FILE)
    assert config.has_seen_all_sources


def test_without_sources_there_is_nothing_to_wait_for() -> None:
    assert PodConfig([]).has_seen_all_sources


def test_a_merge_says_who_was_left_out_last() -> None:
    assert Merged(()).duplicates == ()
