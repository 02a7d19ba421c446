"""`berthmaster diagnose` in a real cluster: nothing wrong, what is wrong, and what to type next."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kind.api import Object
from tests.kind.cluster import KindCluster
from tests.kind.objects import container, pod, requesting
from tests.kind.pods import wait_pod_running, wait_unschedulable
from tests.kind.waiting import wait_for, wait_none

# Of a cluster in which all is well; the others are told where there is something to tell.
WELL = {"leader", "replicas", "nodes", "room", "agents", "pending", "running"}
UNANSWERED = {"scheduler-not-asked", "agents-not-asked", "right-missing", "not-read"}
WRONG = ("problem", "warning")
# An image that is not there is told of once the kubelet has tried for a while.
TOLD_SECONDS = 150.0
MISSING_IMAGE = "berthmaster.invalid/missing:1"

Findings = dict[str, dict[str, Any]]


def diagnosed(cluster: KindCluster, namespace: str) -> Findings:
    """Diagnose with the Pods of one namespace; give findings by their check."""
    arguments = ("diagnose", "--namespace", namespace, "-o", "json")
    report = json.loads(cluster.berthmaster(*arguments, codes=(0, 1)))
    return {finding["check"]: finding for finding in report["findings"]}


@pytest.mark.usefixtures("whole")
def test_nothing_is_wrong_where_nothing_is(cluster: KindCluster, namespace: str) -> None:
    cluster.api.create(pod("web", namespace))
    wait_pod_running(cluster, namespace, "web")

    looks: list[Findings] = []

    def wrong() -> list[Any]:
        looks.append(diagnosed(cluster, namespace))
        return [each for each in looks[-1].values() if each["severity"] in WRONG]

    # What other tests have left may still be ending on its Node.
    wait_none("what is wrong", wrong)
    found = looks[-1]
    assert found.keys() >= WELL
    assert found.keys() & UNANSWERED == set()
    leader = cluster.leader()
    assert leader is not None
    assert leader in found["leader"]["what"]
    text = cluster.berthmaster("diagnose", "--namespace", namespace)
    assert text.startswith("Nothing is wrong")


def broken_pods(namespace: str) -> list[Object]:
    """Give a Pod that fits nowhere, one that nobody serves, and one whose image is nowhere."""
    image = container() | {"image": MISSING_IMAGE}
    return [
        pod("huge", namespace, container(**requesting(cpu="1000"))),
        pod("typo", namespace, schedulerName="berthmastr"),
        pod("imageless", namespace, image),
    ]


def test_what_is_wrong_is_told_by_who_knows_it_and_its_commands_work(
    cluster: KindCluster, namespace: str
) -> None:
    for each in broken_pods(namespace):
        cluster.api.create(each)
    wait_unschedulable(cluster, namespace, "huge")

    def told() -> Findings | None:
        found = diagnosed(cluster, namespace)
        wanted = {"pods-unschedulable", "scheduler-name-unknown", "pods-image-pull"}
        return found if found.keys() >= wanted else None

    found = wait_for("all three are told of", told, timeout_seconds=TOLD_SECONDS)
    assert found.keys() & UNANSWERED == set()
    cluster.berthmaster("diagnose", "--namespace", namespace, codes=(1,))
    unschedulable = found["pods-unschedulable"]
    assert unschedulable["objects"] == [f"{namespace}/huge"]
    assert "2 Insufficient cpu" in unschedulable["why"] + " ".join(unschedulable["detail"])
    typo = found["scheduler-name-unknown"]
    assert typo["objects"] == [f"{namespace}/typo"]
    assert "did you mean 'berthmaster'?" in typo["what"]
    [stopped] = found["pods-image-pull"]["objects"]
    assert stopped.startswith(f"{namespace}/imageless")
    commands = {finding["nextCommand"] for finding in found.values() if "nextCommand" in finding}
    assert commands
    for command in commands:
        assert cluster.typed(command), command
