"""Objects that come, go and come again while the scheduler works: its books stay right.

A Pod that is counted too often leaves room unused, one that is not counted overloads a Node. So
these tests fill every Node to the last place, and see that no other Pod gets one.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.faultproxy import Delay, Inject, Match
from tests.integration.rest import wait_for
from tests.integration.scheduler_faults.cluster import Cluster
from tests.integration.scheduler_faults.link import BINDING
from tests.integration.scheduler_faults.stage import Stage

pytestmark = pytest.mark.integration


def wait_settled(cluster: Cluster, pending_count: int) -> None:
    """Wait until so many Pods are left without a place, and have been told so."""
    wait_for("the rest is bound", lambda: len(cluster.pending_names()) == pending_count)
    cluster.wait_unschedulable(cluster.pending_names())


def test_pods_come_again_under_their_names(stage: Stage) -> None:
    """They are deleted while they wait, while they are assumed, and while they are bound."""
    cluster = stage.cluster
    cluster.create_nodes(*"abcde", pods="6")
    stage.link.add(Delay(match=BINDING, seconds=0.3, times=150))
    names = cluster.create_pods([f"p-{n}" for n in range(40)])
    for first, last in ((0, 40), (10, 40), (0, 20), (5, 35)):
        cluster.delete_pods(names[first:last])
        cluster.create_pods(names[first:last])
    wait_settled(cluster, pending_count=10)
    assert Counter(cluster.nodes_by_pod().values()) == {
        "": 10,
        **{cluster.node_name(name): 6 for name in "abcde"},
    }
    stage.check()


def test_node_comes_again_under_its_name(stage: Stage) -> None:
    """The Pods on it stay: there is nobody here to delete them."""
    cluster = stage.cluster
    cluster.create_nodes("a", pods="10")
    cluster.create_pods([f"first-{n}" for n in range(6)])
    cluster.wait_bound()
    cluster.delete_node("a")
    cluster.delete_pods(["first-0", "first-1"])
    cluster.create_nodes("a", pods="10")
    cluster.create_pods([f"second-{n}" for n in range(8)])
    wait_settled(cluster, pending_count=2)

    cluster.delete_node("a")
    cluster.create_nodes("a", pods="5")
    cluster.delete_pods([f"first-{n}" for n in range(2, 6)])
    bound = [name for name, node in cluster.nodes_by_pod().items() if node]
    assert len(bound) == 6
    cluster.delete_pods(bound[:3])
    cluster.wait_bound()
    cluster.create_pods(["one-too-many"])
    wait_settled(cluster, pending_count=1)
    stage.check()


def test_another_scheduler_binds_to_the_same_nodes(stage: Stage) -> None:
    """Its own Pods and some of ours, while our Bindings are under way."""
    cluster = stage.cluster
    node_names = cluster.create_nodes(*"abcde", pods="60")
    stage.link.add(Delay(match=BINDING, seconds=0.3, times=200))
    theirs = cluster.create_pods([f"theirs-{n}" for n in range(60)], schedulerName="other")
    ours = cluster.create_pods([f"ours-{n}" for n in range(150)])
    stolen = ours[::5]
    answers = cluster.bind([*theirs, *stolen], [node_names[n % 5] for n in range(90)])
    assert answers[:60] == [201] * 60
    assert set(answers[60:]) <= {201, 409}
    cluster.wait_bound()
    nodes_by_pod = cluster.nodes_by_pod()
    for number, name in enumerate(stolen):
        if answers[60 + number] == 201:
            assert nodes_by_pod[name] == node_names[number % 5]
    stage.check()

    cluster.create_pods([f"more-{n}" for n in range(300 - 210 + 5)])
    wait_settled(cluster, pending_count=5)
    stage.check()


def watch_event(kind: str, metadata: dict[str, str], **content: object) -> bytes:
    event = {"type": kind, "object": {"metadata": metadata, **content}}
    return json.dumps(event).encode()


def test_objects_that_cannot_be_read(stage: Stage) -> None:
    """They are counted, named in the log once, and skipped; what was known of them stays."""
    cluster = stage.cluster
    cluster.create_nodes("a", pods="2")
    cluster.create_pods(["known"])
    cluster.wait_bound()
    known = {
        "namespace": cluster.name,
        "name": "known",
        "uid": cluster.pods()[0]["metadata"]["uid"],
    }
    container = {"name": "c", "resources": {"requests": {"cpu": "lots"}}}
    lines = (
        ("pods", watch_event("MODIFIED", known, spec={"containers": [container]})),
        ("pods", watch_event("ADDED", {**known, "name": "odd", "uid": "odd-pod"}, spec="none")),
        (
            "nodes",
            watch_event(
                "ADDED",
                {"name": "odd", "uid": "odd-node"},
                status={"allocatable": {"cpu": "lots"}},
            ),
        ),
    )
    before = counts_of_undecodable(stage)
    faults = [
        stage.link.add(Inject(match=Match(watch=True, path=f"/{resource}$"), line=line, times=2))
        for resource, line in lines
    ]
    for time in (1, 2):
        stage.link.drop()
        for fault in faults:
            stage.link.wait_hits(fault, time)
    wait_for(
        "each is counted each time",
        lambda: counts_of_undecodable(stage) == (before[0] + 4, before[1] + 2),
    )
    told = [line for line in stage.log() if "Cannot decode an object" in line]
    assert sorted(line.partition("kept=")[2].partition(" error=")[0] for line in told) == [
        '"its older state"',
        "nothing",
        "nothing",
    ]
    odd = 'resource=nodes namespace="" name=odd uid=odd-node kept=nothing error="\'lots\''
    assert any(odd in line for line in told)

    cluster.create_pods(["second", "third"])
    wait_settled(cluster, pending_count=1)
    stage.check()


def counts_of_undecodable(stage: Stage) -> tuple[float, float]:
    metrics, name = stage.metrics(), "berthmaster_undecodable_objects_total"
    return metrics.value(name, resource="pods"), metrics.value(name, resource="nodes")


def test_nodes_are_filled_exactly(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.create_nodes(*(f"n-{n}" for n in range(50)), cpu="1")
    cluster.create_pods([f"p-{n}" for n in range(520)], cpu="100m")
    wait_settled(cluster, pending_count=20)
    counts = Counter(cluster.nodes_by_pod().values())
    assert counts.pop("") == 20
    assert counts == {cluster.node_name(f"n-{n}"): 10 for n in range(50)}
    messages = {
        condition["message"]
        for pod in cluster.pods()
        for condition in pod["status"].get("conditions", [])
        if condition["status"] == "False"
    }
    no_room = "0/50 nodes are available: 50 Insufficient cpu."
    no_victims = "0/50 nodes are available: 50 No preemption victims found for incoming pod."
    assert messages == {f"{no_room} no new claims to deallocate, preemption: {no_victims}"}
    stage.check()


def test_two_thousand_pods_at_once(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.create_nodes(*(f"n-{n}" for n in range(100)), pods="20")
    cluster.create_pods([f"p-{n}" for n in range(2000)])
    cluster.wait_bound(timeout_seconds=60)
    counts = Counter(cluster.nodes_by_pod().values())
    assert counts == {cluster.node_name(f"n-{n}"): 20 for n in range(100)}
    stage.check()
