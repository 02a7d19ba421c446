"""A second release under another name, as from the documentation: it works, and goes entirely."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kind.api import Object
from tests.kind.cluster import KindCluster
from tests.kind.objects import pod
from tests.kind.pods import path_of_pods, wait_pod_running
from tests.kind.releases import install, second_release
from tests.kind.waiting import wait_for, wait_none

# What others write all the time, and reviews, which are no objects.
RESTLESS = frozenset({"events", "componentstatuses", "endpoints", "endpointslices"})

Key = tuple[str, str, str]


def all_objects(cluster: KindCluster) -> set[Key]:
    """Give resource, namespace and name of every object, but for those that others write."""
    found: set[Key] = set()
    for path in ("/api/v1", *group_versions(cluster)):
        for resource in cluster.api.get(path)["resources"]:
            if "list" in resource["verbs"] and resource["name"] not in RESTLESS:
                found |= {
                    (resource["name"], namespace_of(item), item["metadata"]["name"])
                    for item in cluster.api.items(f"{path}/{resource['name']}")
                }
    return found


def group_versions(cluster: KindCluster) -> Iterator[str]:
    """Give the path of each API group's preferred version."""
    for group in cluster.api.get("/apis")["groups"]:
        yield f"/apis/{group['preferredVersion']['groupVersion']}"


def namespace_of(item: Object) -> str:
    """Give the namespace of an object, nothing where it has none."""
    return str(item["metadata"].get("namespace", ""))


@pytest.fixture
def release(cluster: KindCluster) -> Iterator[str]:
    with second_release(cluster) as name:
        yield name


def test_second_release_works_and_leaves_nothing(
    cluster: KindCluster, namespace: str, release: str
) -> None:
    before = all_objects(cluster)
    notes = install(cluster, release)
    # An own name, since two releases cannot serve the same Pods.
    served = f"{release}-berthmaster"
    assert f"serves the Pods whose spec.schedulerName is {served}" in notes
    cluster.api.create(pod("web", namespace, schedulerName=served))
    wait_pod_running(cluster, namespace, "web")
    [event] = wait_for(
        "the Scheduled event", lambda: cluster.events_of(namespace, "web", reason="Scheduled")
    )
    assert event["reportingComponent"] == served

    cluster.helm("uninstall", release, f"--namespace={release}", "--wait", "--timeout=60s")
    # The namespace is the user's; each has these two.
    stays = {
        ("namespaces", "", release),
        ("serviceaccounts", release, "default"),
        ("configmaps", release, "kube-root-ca.crt"),
    }

    def left() -> set[Key]:
        return {key for key in all_objects(cluster) - before - stays if key[1] != namespace}

    wait_none("what the release has made", left)
    # Its Pod goes on: nobody but the kubelet looks after those that run.
    assert cluster.api.get(path_of_pods(namespace, "web"))["status"]["phase"] == "Running"
