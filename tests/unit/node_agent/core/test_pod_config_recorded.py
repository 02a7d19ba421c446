"""Sequences of lists, and the operations that the kubelet's own code made of them."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node_agent.core.objects import WirePod, read_pod
from node_agent.core.operations import Operation, PodUpdate, Source
from node_agent.core.pod_config import PodConfig
from tests.unit.node_agent.core.pods import at

RECORDED = Path(__file__).parents[3] / "data" / "kubelet" / "pod-config-1.36.3.jsonl.gz"
CASES: list[dict[str, Any]] = [
    json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).splitlines()
]

Told = list[tuple[str, list[str]]]


def told(updates: tuple[PodUpdate, ...]) -> Told:
    """Give operations and uids; those of a REMOVE sorted, for the kubelet has them in no order."""
    operations = []
    for update in updates:
        uids = [pod.metadata.uid for pod in update.pods]
        is_remove = update.operation is Operation.REMOVE
        operations.append((update.operation.value, sorted(uids) if is_remove else uids))
    return operations


def recorded(operations: list[dict[str, Any]]) -> Told:
    """Give what the kubelet's code told, in the same form."""
    return [
        (one["operation"], sorted(one["uids"]) if one["operation"] == "REMOVE" else one["uids"])
        for one in operations
    ]


def test_there_are_cases_of_every_operation() -> None:
    seen = {one["operation"] for case in CASES for ops in case["updates"] for one in ops}
    assert seen == {operation.value for operation in Operation}
    assert len(CASES) == 300


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_operations_are_the_kubelets(case: dict[str, Any]) -> None:
    config = PodConfig(Source)
    for listed, operations in zip(case["lists"], case["updates"], strict=True):
        pods = [read_pod(msgspec.convert(pod, WirePod)) for pod in listed["pods"]]
        merged = config.merge(Source(listed["source"]), pods, at(0))
        assert told(merged.updates) == recorded(operations)
