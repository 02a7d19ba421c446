"""Beside kube-scheduler on nearly full nodes: races are lost, noticed, counted and explained."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Final

import pytest

from tests.kind.api import Object
from tests.kind.audit import metric
from tests.kind.cluster import KindCluster
from tests.kind.objects import SCHEDULER, container, on_node, pod, requesting
from tests.kind.pods import (
    free_milli_cpu,
    path_of_pods,
    wait_pod_running,
    wait_unschedulable,
)
from tests.kind.static_pods import MANIFESTS
from tests.kind.waiting import wait_for, wait_none

pytestmark = pytest.mark.usefixtures("whole")

OTHER: Final = "default-scheduler"
REFUSED: Final = 'berthmaster_pods_refused_total{reason="OutOfcpu"}'
WITHHELD: Final = "berthmaster_withheld_nodes"
# What the fillers leave over on each worker, and what each Pod of the burst takes.
LEFT_MILLI_CPU: Final = 550
EACH_MILLI_CPU: Final = 50
PLACES: Final = 2 * LEFT_MILLI_CPU // EACH_MILLI_CPU
BURST: Final = 20


def fill(cluster: KindCluster, namespace: str) -> None:
    """Leave a little room on each worker."""
    for number, node in enumerate(cluster.workers):
        amount = free_milli_cpu(cluster, node) - LEFT_MILLI_CPU
        filler = container(**requesting(cpu=f"{amount}m"))
        cluster.api.create(pod(f"filler-{number}", namespace, filler, nodeSelector=on_node(node)))
        wait_pod_running(cluster, namespace, f"filler-{number}")


def create_burst(cluster: KindCluster, namespace: str, scheduler: str) -> None:
    small = container(**requesting(cpu=f"{EACH_MILLI_CPU}m"))
    labels = {"by": scheduler}
    burst = [
        pod(f"{scheduler}-{number}", namespace, small, labels=labels, schedulerName=scheduler)
        for number in range(BURST)
    ]
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": burst})
    cluster.kubectl("create", "--filename=-", given=given)


def test_burst_of_both_fills_the_nodes_and_no_more(cluster: KindCluster, namespace: str) -> None:
    fill(cluster, namespace)
    before = metric(cluster, REFUSED)
    with ThreadPoolExecutor() as pool:
        list(pool.map(partial(create_burst, cluster, namespace), (SCHEDULER, OTHER)))

    def settled() -> dict[str, list[Object]] | None:
        found = cluster.api.items(path_of_pods(namespace), labelSelector="by")
        phases: dict[str, list[Object]] = {"Running": [], "Failed": [], "Pending": []}
        for one in found:
            phases[one["status"]["phase"]].append(one)
        is_settled = not any("nodeName" in one["spec"] for one in phases["Pending"])
        return phases if is_settled and len(phases["Running"]) == PLACES else None

    # Room that a refused Pod gives back is taken by one that waits.
    phases = wait_for("every place is taken", settled)
    assert sum(map(len, phases.values())) == 2 * BURST
    assert {one["status"]["reason"] for one in phases["Failed"]} <= {"OutOfcpu"}
    for node in cluster.workers:
        assert free_milli_cpu(cluster, node) == LEFT_MILLI_CPU % EACH_MILLI_CPU

    ours = {
        one["metadata"]["name"]
        for one in phases["Failed"]
        if one["spec"]["schedulerName"] == SCHEDULER
    }
    wait_for("they are counted", lambda: metric(cluster, REFUSED) == before + len(ours))

    def unexplained() -> set[str]:
        return {name for name in ours if not explained(cluster, namespace, name)}

    wait_none("Pods that nobody explains", unexplained)


def explained(cluster: KindCluster, namespace: str, name: str) -> str:
    """Give what the event about a refused Pod says, "" before there is one."""
    found = cluster.events_of(namespace, name, reason="RefusedByKubelet")
    return str(found[0]["message"]) if found else ""


@contextmanager
def unknown_pod(cluster: KindCluster, node: str, milli_cpu: int) -> Iterator[None]:
    """Keep a static Pod that the API server never hears of: its namespace isn't there."""
    name, namespace = f"unknown-{secrets.token_hex(2)}", "nowhere"
    manifest = pod(name, namespace, container(**requesting(cpu=f"{milli_cpu}m")))
    path = f"{MANIFESTS}/{name}.json"
    script = 'cat > "$0.new" && mv "$0.new" "$0"'

    def in_kubelet() -> bool:
        pods = cluster.api.get(f"/api/v1/nodes/{node}/proxy/pods")["items"]
        return any(one["metadata"]["namespace"] == namespace for one in pods)

    cluster.on_node(node, "sh", "-euc", script, path, given=json.dumps(manifest))
    try:
        wait_for("the kubelet has it", in_kubelet)
        yield
    finally:
        cluster.on_node(node, "rm", "-f", path)


def test_node_with_less_room_than_is_known_of_is_avoided(
    cluster: KindCluster, namespace: str
) -> None:
    node = cluster.workers[0]
    free, before = free_milli_cpu(cluster, node), metric(cluster, REFUSED)
    hidden = free - 50
    half = container(**requesting(cpu=f"{free // 2}m"))

    def failed() -> Object | None:
        found = cluster.api.get(path_of_pods(namespace, "refused"))
        return found if found["status"].get("phase") == "Failed" else None

    with unknown_pod(cluster, node, hidden):
        cluster.api.create(pod("refused", namespace, half, nodeSelector=on_node(node)))
        refused = wait_for("the kubelet refuses it", failed)
        cluster.api.create(pod("next", namespace, half, nodeSelector=on_node(node)))
        assert "1 Insufficient cpu" in wait_unschedulable(cluster, namespace, "next")
        # The other replica knows, too: it may have to lead.
        assert metric(cluster, WITHHELD) == len(cluster.pods_of("scheduler"))
    assert refused["status"]["reason"] == "OutOfcpu"
    told = wait_for("it is explained", lambda: explained(cluster, namespace, "refused"))
    assert told == (
        f"Node {node} refused the pod: OutOfcpu. Its kubelet has {hidden}m cpu less than the "
        "pods here add up to: no pod is sent there for it until that is accounted for, 30 s at "
        "most."
    )
    assert metric(cluster, REFUSED) == before + 1
    assert f"node={node} reason=OutOfcpu" in cluster.log_of(str(cluster.leader()))
    # Tried again after a while, when that room is there.
    wait_pod_running(cluster, namespace, "next")
    assert metric(cluster, WITHHELD) == 0
    assert metric(cluster, REFUSED) == before + 1
