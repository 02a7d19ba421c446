"""Facts of clusters for the tests: a healthy one, and parts to change it with."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from berthmaster.cli.diagnosis.facts import (
    DaemonPod,
    Facts,
    Installation,
    LeaseState,
    NodeState,
    PendingPod,
    StoppedPod,
)
from berthmaster.cli.diagnosis.finding import Finding, Severity
from berthmaster.cli.diagnosis.judgement import judge

NOW = 1_800_000_000.0
LEASE_KEY = "berthmaster/berthmaster"


def replica(name: str = "scheduler-a", **fields: Any) -> DaemonPod:
    values: dict[str, Any] = {"namespace": "berthmaster", "created": NOW - 9000, "version": "1.2.3"}
    return DaemonPod(name=name, host_name=name, **values | fields)


def agent(node_name: str, **fields: Any) -> DaemonPod:
    values: dict[str, Any] = {"created": NOW - 9000, "version": "1.2.3"}
    name = f"agent-{node_name}"
    return DaemonPod(namespace="berthmaster", name=name, node_name=node_name, **values | fields)


def lease(**fields: Any) -> LeaseState:
    values: dict[str, Any] = {"holder": "scheduler-a_0f1e", "renewed": NOW - 2}
    return LeaseState(namespace="berthmaster", name="berthmaster", **values | fields)


def installation(**fields: Any) -> Installation:
    values: dict[str, Any] = {
        "names": ("berthmaster",),
        "lease_key": LEASE_KEY,
        "lease": lease(),
        "replicas": (replica("scheduler-a"), replica("scheduler-b")),
    }
    return Installation(**values | fields)


def node(name: str, **fields: Any) -> NodeState:
    values: dict[str, Any] = {
        "created": NOW - 90000,
        "kubelet_version": "v1.36.3",
        "allocatable": {"cpu": 4000, "memory": 2**33, "pods": 110},
        "used": {"cpu": 1000, "memory": 2**30, "pods": 3},
    }
    return NodeState(name=name, **values | fields)


def pending(name: str = "web", **fields: Any) -> PendingPod:
    values: dict[str, Any] = {
        "namespace": "shop",
        "scheduler_name": "berthmaster",
        "created": NOW - 600,
    }
    return PendingPod(name=name, **values | fields)


def rejected(name: str = "web", **fields: Any) -> PendingPod:
    values: dict[str, Any] = {
        "reason": "Unschedulable",
        "message": "0/2 nodes are available: 2 Insufficient cpu.",
        "since": NOW - 300,
    }
    return pending(name, **values | fields)


def stopped(cause: str, name: str = "web", **fields: Any) -> StoppedPod:
    values: dict[str, Any] = {
        "namespace": "shop",
        "node_name": "n1",
        "scheduler_name": "berthmaster",
        "detail": "It is so.",
        "since": NOW - 3600,
    }
    return StoppedPod(name=name, cause=cause, **values | fields)


HEALTHY = Facts(
    now=NOW,
    server="https://api:6443",
    kubernetes_version="v1.36.3",
    own_version="1.2.3",
    installations=(installation(),),
    kube_scheduler=LeaseState(
        namespace="kube-system", name="kube-scheduler", holder="cp_1", renewed=NOW - 1
    ),
    bound_count=20,
    nodes=(node("n1"), node("n2")),
    agents=(agent("n1"), agent("n2")),
    wanted_agents=2,
    asked_agents=2,
    judged_names=frozenset({"berthmaster", "default-scheduler"}),
)


def judged(**changes: Any) -> dict[str, list[Finding]]:
    """Judge the healthy cluster with some of its facts changed; give the findings by check."""
    findings: dict[str, list[Finding]] = {}
    for finding in judge(replace(HEALTHY, **changes)):
        findings.setdefault(finding.check, []).append(finding)
    return findings


def only(found: dict[str, list[Finding]], check: str) -> Finding:
    """Give the one finding of a check."""
    assert check in found, sorted(found)
    [finding] = found[check]
    return finding


def wrong(found: dict[str, list[Finding]]) -> set[str]:
    """Give the checks with a warning or a problem."""
    bad = (Severity.WARNING, Severity.PROBLEM)
    return {check for check, each in found.items() if any(f.severity in bad for f in each)}
