"""Manifests as text, and what the kubelet's own code made of them: a Pod, or none."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node_agent.core.objects import Pod, WirePod, read_pod
from node_agent.core.operations import Source
from node_agent.core.static_pods import Origin, Refusal, static_pod, static_pods
from node_agent.shell.manifest_text import parse_manifest

RECORDED = Path(__file__).parents[3] / "data" / "kubelet" / "manifests-1.36.3.jsonl.gz"
CASES: list[dict[str, Any]] = [
    json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).splitlines()
]
RULES_OF_THE_KUBELET_ALONE = {"request over limit"}
"""Refused there by a rule that is not repeated here."""


def outcome(case: dict[str, Any]) -> tuple[Pod, ...] | Refusal:
    """Give what becomes of a case's manifest here."""
    parsed = parse_manifest(case["manifest"].encode())
    if isinstance(parsed, Refusal):
        return parsed
    origin = Origin(Source(case["source"]), case["place"])
    if origin.source is Source.HTTP:
        return static_pods(parsed.document, origin, case["node"])
    pod = static_pod(parsed.document, origin, case["node"])
    return pod if isinstance(pod, Refusal) else (pod,)


def test_there_are_cases_of_either_kind() -> None:
    refused = sum("error" in case for case in CASES)
    assert (refused, len(CASES) - refused) == (176, 122)


@pytest.mark.parametrize("case", CASES, ids=[f"{c['title']}-{c['source']}" for c in CASES])
def test_a_manifest_gives_what_the_kubelet_makes_of_it(case: dict[str, Any]) -> None:
    pods = outcome(case)
    if "error" in case:
        is_refused = isinstance(pods, Refusal)
        assert is_refused or case["title"] in RULES_OF_THE_KUBELET_ALONE, case["error"]
        return
    assert not isinstance(pods, Refusal), pods
    for ours, wire in zip(pods, case["pods"], strict=True):
        theirs = read_pod(msgspec.convert(wire, WirePod))
        assert ours.full_name == theirs.full_name
        assert ours.spec == theirs.spec
        assert ours.status == theirs.status
        assert (ours.metadata.labels or {}) == (theirs.metadata.labels or {})
        assert (ours.metadata.annotations or {}).keys() == (
            theirs.metadata.annotations or {}
        ).keys()
        assert ours.metadata.deletion_timestamp == theirs.metadata.deletion_timestamp


@pytest.mark.parametrize("case", [c for c in CASES if c["title"] == "uid"], ids=["file", "http"])
def test_a_uid_that_is_given_is_the_kubelets(case: dict[str, Any]) -> None:
    pods = outcome(case)
    assert not isinstance(pods, Refusal), pods
    (ours,), (theirs,) = pods, case["pods"]
    assert ours.metadata.uid == theirs["metadata"]["uid"] == "12345"
    assert ours.metadata.annotations == theirs["metadata"]["annotations"]
