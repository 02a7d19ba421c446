"""A profile that is made while schedulers run: served at once, told of by all, and gone."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from tests.kind.api import Object, temporary
from tests.kind.cluster import KindCluster
from tests.kind.objects import is_true, pod
from tests.kind.pods import path_of_pods, wait_pod_running
from tests.kind.waiting import wait_for

PROFILES = "/apis/berthmaster.dev/v1alpha1/schedulerprofiles"


@pytest.fixture
def profile(cluster: KindCluster) -> Iterator[str]:
    """Give the name of a profile, which is its schedulerName, too."""
    name = f"live-{secrets.token_hex(2)}"
    made = {
        "apiVersion": "berthmaster.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": {"schedulerName": name},
    }
    with temporary(cluster.api, made):
        yield name


def test_profile_is_served_and_told_of(cluster: KindCluster, namespace: str, profile: str) -> None:
    cluster.api.create(pod("web", namespace, schedulerName=profile))
    wait_pod_running(cluster, namespace, "web")

    def active() -> Object | None:
        found = cluster.api.get(f"{PROFILES}/{profile}")
        observers = found.get("status", {}).get("observedBy", [])
        is_active = is_true(found, "Valid") and is_true(found, "Active")
        return found if is_active and len(observers) == 2 else None

    wait_for("it is active in both schedulers", active)
    line = cluster.kubectl("get", "spro", profile, "--no-headers").split()
    assert line[:5] == [profile, profile, "True", "True", "1"]


def test_mistake_is_told_with_its_place_and_the_last_good_one_runs(
    cluster: KindCluster, namespace: str, profile: str
) -> None:
    path = f"{PROFILES}/{profile}"
    wait_for("it is valid", lambda: is_true(cluster.api.get(path), "Valid"))
    bad = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Most"}}}]
    cluster.api.patch(path, {"spec": {"pluginConfig": bad}})

    def mistake() -> str | None:
        conditions = cluster.api.get(path)["status"]["conditions"]
        [valid] = [one for one in conditions if one["type"] == "Valid"]
        return str(valid["message"]) if valid["status"] == "False" else None

    message = wait_for("it is invalid", mistake)
    assert "spec.pluginConfig[0].args.scoringStrategy.type" in message
    cluster.api.create(pod("web", namespace, schedulerName=profile))
    wait_pod_running(cluster, namespace, "web")
    assert cluster.api.get(path)["status"]["active"]["generation"] == 1


def test_pods_of_a_profile_that_goes_are_told(cluster: KindCluster, namespace: str) -> None:
    name = f"gone-{secrets.token_hex(2)}"
    made = {
        "apiVersion": "berthmaster.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": {"schedulerName": name},
    }
    with temporary(cluster.api, made):
        cluster.api.create(pod("waits", namespace, nodeSelector={"no": "node"}, schedulerName=name))
        reason = "FailedScheduling"
        wait_for("it is tried", lambda: cluster.events_of(namespace, "waits", reason=reason))
    reason = "SchedulerProfileDeleted"
    [event] = wait_for("it is told", lambda: cluster.events_of(namespace, "waits", reason=reason))
    assert name in event["message"]
    assert "nodeName" not in cluster.api.get(path_of_pods(namespace, "waits"))["spec"]
