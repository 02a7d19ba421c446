"""The way of a user: helm install, a schedulerName, Pods that run, and reasons where they don't."""

from __future__ import annotations

from tests.kind.cluster import KindCluster
from tests.kind.objects import SCHEDULER, container, deployment, requesting
from tests.kind.pods import nodes_of, wait_running


def test_deployment_runs_spread(cluster: KindCluster, namespace: str) -> None:
    small = container(**requesting(cpu="10m", memory="16Mi"))
    cluster.api.create(deployment("web", namespace, 20, small))
    pods = wait_running(cluster, namespace, 20)
    assert {pod["spec"]["schedulerName"] for pod in pods} == {SCHEDULER}
    # Two workers alike; the control plane is tainted.
    first, second = cluster.workers
    assert set(nodes_of(pods)) == {first, second}
