"""Groups of Pods that start together or not at all, and what `kubectl get pg` says of them."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from tests.kind.api import Object
from tests.kind.cluster import KindCluster
from tests.kind.objects import container, is_true, pod, requesting
from tests.kind.pods import (
    free_milli_cpu,
    nodes_of,
    path_of_pods,
    wait_pod_running,
    wait_running,
    wait_unschedulable,
)
from tests.kind.waiting import wait_for

GROUPS = "scheduling.x-k8s.io/v1alpha1"
MEMBER_OF = "scheduling.x-k8s.io/pod-group"


def group(name: str, namespace: str, minimum: int) -> Object:
    """Give a PodGroup."""
    return {
        "apiVersion": GROUPS,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minMember": minimum},
    }


def create_members(cluster: KindCluster, name: str, namespace: str, count: int, cpu: str) -> None:
    for number in range(count):
        made = pod(
            f"{name}-{number}",
            namespace,
            container(**requesting(cpu=cpu)),
            labels={MEMBER_OF: name},
        )
        cluster.api.create(made)


def path_of_group(namespace: str, name: str) -> str:
    return f"/apis/{GROUPS}/namespaces/{namespace}/podgroups/{name}"


def shown(cluster: KindCluster, namespace: str, name: str) -> dict[str, str]:
    """Give what ``kubectl get pg`` shows of a group, by column."""
    titles, *lines = cluster.kubectl("get", "pg", name, f"--namespace={namespace}").splitlines()
    [line] = lines
    starts = [found.start() for found in re.finditer(r"\S+", titles)]
    columns = [slice(start, end) for start, end in pairwise([*starts, None])]
    return {titles[column].strip(): line[column].strip() for column in columns}


def wait_shown(cluster: KindCluster, namespace: str, name: str, **columns: str) -> dict[str, str]:
    """Wait until ``kubectl get pg`` shows these columns; give all."""

    def seen() -> dict[str, str] | None:
        found = shown(cluster, namespace, name)
        return found if columns.items() <= found.items() else None

    return wait_for(f"kubectl get pg {name} shows {columns}", seen)


def test_group_that_fits_runs(cluster: KindCluster, namespace: str) -> None:
    cluster.api.create(group("ring", namespace, 3))
    create_members(cluster, "ring", namespace, 3, cpu="10m")
    wait_running(cluster, namespace, 3)
    counts = {"MINMEMBER": "3", "SCHEDULED": "3", "RUNNING": "3"}
    wait_shown(cluster, namespace, "ring", PHASE="Running", **counts)
    stored = cluster.api.get(path_of_group(namespace, "ring"))
    assert is_true(stored, "PodGroupScheduled")
    described = wait_for(
        "an Event of the controller",
        lambda: cluster.events_of(namespace, "ring", reason="Scheduled"),
    )
    assert described[0]["reportingComponent"] == "berthmaster-controller"


def half_a_worker(cluster: KindCluster) -> str:
    """Give how much CPU fits once on each worker and not twice."""
    free = [free_milli_cpu(cluster, node) for node in cluster.workers]
    amount = max(free) // 2 + 1
    assert amount <= min(free)
    return f"{amount}m"


def pending_members(cluster: KindCluster, namespace: str, name: str) -> list[Any]:
    pods = cluster.api.items(path_of_pods(namespace), labelSelector=f"{MEMBER_OF}={name}")
    return [one for one in pods if "nodeName" not in one["spec"]]


def test_group_that_does_not_fit_holds_nothing_and_says_why(
    cluster: KindCluster, namespace: str
) -> None:
    cluster.api.create(group("torn", namespace, 3))
    create_members(cluster, "torn", namespace, 3, cpu=half_a_worker(cluster))
    message = "needs 3, 2 fit: 1 lacks cpu"
    told = wait_unschedulable(cluster, namespace, "torn-0")
    assert told.startswith(f"pod group torn: {message}; ")
    wait_shown(cluster, namespace, "torn", PHASE="Pending", MESSAGE=message)
    assert len(pending_members(cluster, namespace, "torn")) == 3
    [event] = wait_for(
        "the group's Event", lambda: cluster.events_of(namespace, "torn", reason="Unschedulable")
    )
    assert message in event["message"]
    # It is in nobody's way.
    cluster.api.create(pod("plain", namespace))
    wait_pod_running(cluster, namespace, "plain")
    # Two are enough from now on.
    cluster.api.patch(path_of_group(namespace, "torn"), {"spec": {"minMember": 2}})
    running = wait_running(cluster, namespace, 2, selector=f"{MEMBER_OF}=torn")
    assert nodes_of(running) == list(cluster.workers)
    wait_shown(cluster, namespace, "torn", PHASE="Running", SCHEDULED="2", RUNNING="2")


def test_controller_makes_way_without_a_word_to_the_groups(
    cluster: KindCluster, namespace: str
) -> None:
    cluster.api.create(group("kept", namespace, 2))
    create_members(cluster, "kept", namespace, 2, cpu="10m")
    wait_shown(cluster, namespace, "kept", PHASE="Running")
    before = cluster.api.get(path_of_group(namespace, "kept"))["metadata"]["resourceVersion"]
    [controller] = cluster.pods_of("controller")
    cluster.kubectl("delete", "pod", controller["metadata"]["name"], "--namespace=berthmaster")

    def another() -> list[Object] | None:
        pods = cluster.pods_of("controller")
        ready = [one for one in pods if is_true(one, "Ready")]
        return ready if ready and len(pods) == 1 else None

    [new] = wait_for("another controller is ready", another)
    assert new["metadata"]["uid"] != controller["metadata"]["uid"]
    # That it has looked at all of them shows with a change.
    cluster.api.create(group("new", namespace, 1))
    create_members(cluster, "new", namespace, 1, cpu="10m")
    wait_shown(cluster, namespace, "new", PHASE="Running")
    after = cluster.api.get(path_of_group(namespace, "kept"))["metadata"]["resourceVersion"]
    assert after == before
