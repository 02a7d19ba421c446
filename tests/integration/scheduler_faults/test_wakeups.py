"""Pods that fit nowhere are bound as soon as something has happened that helps them.

None of them waits for the flush, which comes 5 minutes later and hides events that were missed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.integration.rest import wait_for
from tests.integration.scheduler_faults.cluster import Cluster
from tests.integration.scheduler_faults.stage import Stage

pytestmark = pytest.mark.integration

SOON_SECONDS = 12.0
"""A backoff of 1 s, 2 s at most for one that was tried twice, on a machine that is busy."""
TAINT = {"key": "example.com/reserved", "value": "yes", "effect": "NoSchedule"}
TOLERATION = {"key": "example.com/reserved", "operator": "Exists", "effect": "NoSchedule"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """What keeps a Pod from the only Node, and what helps it.

    `holder` are the options of a Pod that is on the Node before.
    """

    node: dict[str, Any] = field(default_factory=dict)
    holder: dict[str, Any] | None = None
    pod: dict[str, Any] = field(default_factory=dict)
    help: Callable[[Cluster], object]


CASES = {
    "a Pod is deleted": Case(
        node={"pods": "1"}, holder={}, help=lambda cluster: cluster.delete_pods(["holder"])
    ),
    "a Pod finishes": Case(
        node={"cpu": "1"},
        holder={"cpu": "1"},
        help=lambda cluster: cluster.patch_pod(
            "holder", {"status": {"phase": "Succeeded"}}, subresource="/status"
        ),
    ),
    "a host port is freed": Case(
        holder={"host_port": 8080},
        pod={"host_port": 8080},
        help=lambda cluster: cluster.delete_pods(["holder"]),
    ),
    "a Node is added": Case(
        node={"cpu": "0"}, help=lambda cluster: cluster.create_nodes("another")
    ),
    "a Node grows": Case(
        node={"cpu": "9m"},
        help=lambda cluster: cluster.patch_node(
            "a", {"status": {"allocatable": {"cpu": "10m"}}}, subresource="/status"
        ),
    ),
    "a taint is removed": Case(
        node={"taints": [TAINT]},
        help=lambda cluster: cluster.patch_node("a", {"spec": {"taints": None}}),
    ),
    "a Node is uncordoned": Case(
        node={"unschedulable": True},
        help=lambda cluster: cluster.patch_node("a", {"spec": {"unschedulable": None}}),
    ),
    "a Node gets a label": Case(
        pod={"selector": {"disk": "ssd"}},
        help=lambda cluster: cluster.patch_node("a", {"metadata": {"labels": {"disk": "ssd"}}}),
    ),
    "the Pod gets a toleration": Case(
        node={"taints": [TAINT]},
        help=lambda cluster: cluster.patch_pod("p", {"spec": {"tolerations": [TOLERATION]}}),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_pod_is_bound_when_room_is_made(stage: Stage, name: str) -> None:
    case, cluster = CASES[name], stage.cluster
    cluster.create_nodes("a", **case.node)
    if case.holder is not None:
        cluster.create_pods(["holder"], **case.holder)
        cluster.wait_bound()
    cluster.create_pods(["p"], **case.pod)
    cluster.wait_unschedulable(["p"])
    case.help(cluster)
    cluster.wait_bound(["p"], timeout_seconds=SOON_SECONDS)
    assert stage.metrics().value("scheduler_pod_scheduled_after_flush_total") == 0
    stage.check()


def test_gated_pod_is_bound_when_its_last_gate_is_removed(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.create_nodes("a")
    gates = [{"name": "example.com/first"}, {"name": "example.com/second"}]
    cluster.create_pods(["p"], schedulingGates=gates)
    wait_for(
        "it is gated",
        lambda: stage.metrics().value("scheduler_pending_pods", queue="gated") == 1,
    )
    cluster.patch_pod("p", {"spec": {"schedulingGates": gates[1:]}})
    cluster.create_pods(["later"])
    cluster.wait_bound(["later"])
    assert cluster.nodes_by_pod()["p"] == ""
    cluster.patch_pod("p", {"spec": {"schedulingGates": None}})
    cluster.wait_bound(["p"], timeout_seconds=SOON_SECONDS)
    assert stage.metrics().value("scheduler_pod_scheduled_after_flush_total") == 0
    stage.check()


def test_those_that_fit_nowhere_do_not_hold_up_others(stage: Stage) -> None:
    """300 Pods of a higher priority, called again and again by Nodes that come, in vain."""
    cluster = stage.cluster
    cluster.create_nodes("a", cpu="1")
    cluster.server.send(
        "POST",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"metadata": {"name": cluster.name}, "value": 1_000_000},
    )
    large = cluster.create_pods(
        [f"large-{n}" for n in range(300)], cpu="2", priorityClassName=cluster.name
    )
    cluster.wait_unschedulable(large)
    for number in range(10):
        cluster.create_nodes(f"small-{number}", cpu="100m")
        names = cluster.create_pods([f"small-{number}"], cpu="100m")
        cluster.wait_bound(names, timeout_seconds=SOON_SECONDS)
    assert cluster.pending_names() == set(large)
    stage.check()
