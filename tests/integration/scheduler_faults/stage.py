"""A cluster, a scheduler, and the link between them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.faultproxy import RequestRecord
from tests.integration.rest import wait_for
from tests.integration.scheduler_faults.cluster import NODES, SCHEDULER, Cluster
from tests.integration.scheduler_faults.cluster_checks import (
    find_binding_faults,
    find_needless_bindings,
    find_overloads,
    find_pods_without_node,
    is_finished,
)
from tests.integration.scheduler_faults.link import BINDING, Link
from tests.integration.scheduler_process import SchedulerProcess

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"


def start_scheduler(link: Link, log_path: Path, *arguments: str) -> SchedulerProcess:
    """Give a scheduler process that is to be entered, behind a link."""
    return SchedulerProcess(
        log_path,
        *("--kubeconfig", str(link.kubeconfig_path), "--bind-address", "127.0.0.1"),
        *("--secure-port", "0", "--authorization", "none", "-v", "2", *arguments),
    )


def check_cluster(cluster: Cluster, bindings: Iterable[RequestRecord]) -> None:
    """See that no Pod was bound twice or to a Node that is gone, and no Node carries too much.

    Parameters
    ----------
    bindings
        All that were sent for this cluster's Pods, in order.
    """
    nodes, pods = cluster.nodes(), cluster.pods()
    assert find_overloads(nodes, pods) == []
    assert find_pods_without_node(nodes, pods) == []
    assert find_binding_faults(bindings, pods) == []


class Metrics:
    """What a scheduler tells of itself, at one moment."""

    def __init__(self, process: SchedulerProcess) -> None:
        status, text = process.get("/metrics")
        assert status == 200, text
        self._samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        """Give a sample; 0 if there is none."""
        return self._samples.get((name, frozenset(labels.items())), 0.0)


class Stage:
    """Where one test takes place."""

    def __init__(self, cluster: Cluster, link: Link, process: SchedulerProcess) -> None:
        self.cluster = cluster
        self.link = link
        self.process = process
        self._first_request = len(link.requests())
        self._first_line = len(process.log().splitlines())

    def bindings(self) -> list[RequestRecord]:
        """Give the Bindings that the scheduler has sent during this test."""
        return self.link.requests(BINDING, since=self._first_request)

    def log(self) -> list[str]:
        """Give the scheduler's lines of this test."""
        return self.process.log().splitlines()[self._first_line :]

    def print_log(self) -> None:
        """Write the last of these lines; pytest shows it with a failure."""
        sys.stdout.write("\n".join(["the scheduler's log:", *self.log()[-60:], ""]))

    def metrics(self) -> Metrics:
        """Ask the scheduler."""
        return Metrics(self.process)

    def check(self) -> None:
        """See that all holds that must hold whatever has gone wrong; nothing may be under way."""
        bindings = self.bindings()
        check_cluster(self.cluster, bindings)
        assert find_needless_bindings(bindings) == []
        wait_for("the scheduler's books are right", lambda: self._gauges() == self._truth())

    def _gauges(self) -> dict[str, float]:
        metrics = self.metrics()
        cached = {
            kind: metrics.value("scheduler_cache_size", type=kind)
            for kind in ("nodes", "pods", "assumed_pods")
        }
        pending = (
            metrics.value("scheduler_pending_pods", queue=queue)
            for queue in ("active", "backoff", "unschedulable", "gated")
        )
        return {**cached, "pending": sum(pending)}

    def _truth(self) -> dict[str, float]:
        """Count all clusters: the scheduler cares for all."""
        server = self.cluster.server
        specs = [
            pod["spec"]
            for pod in server.get("/api/v1/pods", fieldSelector=UNFINISHED)["items"]
            if not is_finished(pod)
        ]
        is_bound = [bool(spec.get("nodeName")) for spec in specs]
        is_ours = [spec["schedulerName"] == SCHEDULER for spec in specs]
        return {
            "nodes": len(server.get(NODES)["items"]),
            "pods": sum(is_bound),
            "assumed_pods": 0,
            "pending": sum(
                ours and not bound for ours, bound in zip(is_ours, is_bound, strict=True)
            ),
        }
