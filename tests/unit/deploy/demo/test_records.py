"""A Pod's record follows what a watch tells of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from deploy.demo.api_server import accepted_bindings
from deploy.demo.records import Node, Pod, PodState, new_record, state_of


def pod(spec: dict[str, Any], status: dict[str, Any] | None = None) -> Pod:
    metadata = {"name": "a", "uid": "1", "labels": {"demo.berthmaster.dev/shape": "plain"}}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status or {}}, Pod)


def unscheduled(reason: str) -> dict[str, Any]:
    return {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": reason}],
    }


GATES = {"schedulingGates": [{"name": "demo/halfway"}]}
BOUND = {"nodeName": "node-0001"}


@pytest.mark.parametrize(
    ("spec", "status", "state"),
    [
        ({}, {"phase": "Pending"}, PodState.PENDING),
        (GATES, unscheduled("SchedulingGated"), PodState.GATED),
        ({}, unscheduled("SchedulingGated"), PodState.PENDING),
        ({}, unscheduled("Unschedulable"), PodState.UNSCHEDULABLE),
        (BOUND, {"phase": "Pending"}, PodState.BOUND),
        (BOUND, unscheduled("Unschedulable"), PodState.BOUND),
        (BOUND, {"phase": "Running"}, PodState.RUNNING),
        (BOUND, {"phase": "Succeeded"}, PodState.ENDED),
        (BOUND, {"phase": "Failed"}, PodState.ENDED),
    ],
)
def test_states(spec: dict[str, Any], status: dict[str, Any], state: PodState) -> None:
    assert state_of(pod(spec, status)) is state


def test_a_record_keeps_when_its_pod_was_first_seen_bound() -> None:
    record = new_record(pod({}), 10.0)
    record.note(pod(BOUND), 10.5)
    record.note(pod(BOUND, {"phase": "Running"}), 11.0)

    assert (record.created_seconds, record.bound_seconds) == (10.0, 10.5)
    assert (record.name, record.shape, record.node) == ("a", "plain", "node-0001")
    assert record.state is PodState.RUNNING


def test_a_pod_first_seen_when_it_was_bound_already() -> None:
    record = new_record(pod(BOUND), 10.0)

    assert (record.bound_seconds, record.nodes) == (10.0, ["node-0001"])


def test_a_pod_that_moves_is_remembered() -> None:
    record = new_record(pod(BOUND), 10.0)
    record.note(pod({"nodeName": "node-0002"}), 11.0)

    assert record.nodes == ["node-0001", "node-0002"]
    assert record.bound_seconds == 10.0


@pytest.mark.parametrize(
    ("status", "taints", "is_ready"),
    [
        ("True", [], True),
        ("False", [], False),
        ("Unknown", [], False),
        ("True", [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}], False),
        ("True", [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}], True),
    ],
)
def test_a_node_is_ready_when_its_taint_is_gone(
    status: str, taints: list[dict[str, str]], is_ready: bool
) -> None:
    node = msgspec.convert(
        {
            "metadata": {"name": "node-0000"},
            "spec": {"taints": taints},
            "status": {"conditions": [{"type": "Ready", "status": status}]},
        },
        Node,
    )

    assert node.is_ready is is_ready


def test_accepted_bindings_are_those_answered_with_201() -> None:
    def line(code: int, subresource: str, count: int, dry_run: str = "") -> str:
        return (
            f'apiserver_request_total{{code="{code}",component="apiserver",dry_run="{dry_run}",'
            f'group="",resource="pods",scope="resource",subresource="{subresource}",verb="POST",'
            f'version="v1"}} {count}'
        )

    exposition = "\n".join(
        [
            "# TYPE apiserver_request_total counter",
            line(201, "binding", 498),
            line(409, "binding", 3),
            line(201, "", 500),
            line(201, "eviction", 7),
            "apiserver_request_duration_seconds_sum 1",
        ]
    )

    assert accepted_bindings(exposition) == 498
    assert accepted_bindings("") == 0
