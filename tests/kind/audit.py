"""Whether every Pod of a test is there, bound once, and not by chance."""

from __future__ import annotations

from typing import Any

from deploy.kind.chart import NAMESPACE
from tests.kind.api import Object, path_of
from tests.kind.cluster import SCHEDULER_PORT, KindCluster
from tests.kind.objects import pod
from tests.kind.pods import path_of_pods, wait_running
from tests.kind.waiting import wait_for


class Audited:
    """The Pods that a test makes in its namespace, by their uids."""

    def __init__(self, cluster: KindCluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._uids: dict[str, str] = {}

    def create(self, prefix: str, count: int, *containers: Object, **fields: Any) -> None:
        """Make Pods ``prefix-0``, …; ``fields`` are of their specification."""
        for number in range(count):
            name = f"{prefix}-{number}"
            labels = {"made": prefix}
            made = pod(name, self._namespace, *containers, labels=labels, **fields)
            self._uids[name] = self._stored(made)["metadata"]["uid"]

    def _stored(self, made: Object) -> Object:
        """Create a Pod, also where the API server was away and has carried out what it heard."""

        def stored() -> Object:
            return self._cluster.api.find(path_of(made)) or self._cluster.api.create(made)

        return wait_for(f"{made['metadata']['name']} is created", stored)

    def wait_running(self, prefix: str | None = None) -> list[Object]:
        """Wait until all Pods, or those of a prefix, run; give them."""
        names = [name for name in self._uids if prefix in (None, name.rpartition("-")[0])]
        selector = "" if prefix is None else f"made={prefix}"
        return wait_running(self._cluster, self._namespace, len(names), selector=selector)

    def check(self) -> None:
        """See that none is lost or made anew, and that each was bound once, if at all."""
        pods = self._cluster.api.items(path_of_pods(self._namespace))
        assert {one["metadata"]["name"]: one["metadata"]["uid"] for one in pods} == self._uids
        told: dict[str, list[str]] = {}
        for event in self._events():
            assert (event.get("count") or 1) == 1, event
            assert event.get("series") is None, event
            told.setdefault(event["involvedObject"]["uid"], []).append(event["message"])
        for one in pods:
            uid, node = one["metadata"]["uid"], one["spec"].get("nodeName")
            name = f"{self._namespace}/{one['metadata']['name']}"
            # An event may be lost with the scheduler that was to write it; none is written twice.
            assert told.get(uid, []) in ([], [f"Successfully assigned {name} to {node}"])

    def _events(self) -> list[Object]:
        path = f"/api/v1/namespaces/{self._namespace}/events"
        return self._cluster.api.items(path, fieldSelector="reason=Scheduled")


def metric(cluster: KindCluster, series: str) -> float:
    """Add up what the schedulers count, e.g. of ``name{label="value"}``."""
    total = 0.0
    for scheduler in cluster.pods_of("scheduler"):
        for line in cluster.ask(scheduler, SCHEDULER_PORT, "/metrics").splitlines():
            if line.startswith(f"{series} "):
                total += float(line.rpartition(" ")[2])
    return total


def assert_none_flushed(cluster: KindCluster) -> None:
    """See that no Pod had to wait for the 5-minute flush to be tried again."""
    name = "scheduler_pod_scheduled_after_flush_total"
    # One that has just been started may not be able yet to ask who may read it.
    assert wait_for("all schedulers tell", lambda: [metric(cluster, name)]) == [0]


def node_of_scheduler(cluster: KindCluster, name: str) -> str:
    """Give the Node that one of the schedulers runs on."""
    found: str = cluster.api.get(path_of_pods(NAMESPACE, name))["spec"]["nodeName"]
    return found
