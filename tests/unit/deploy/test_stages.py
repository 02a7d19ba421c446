"""The Stage files that kwok is given."""

from __future__ import annotations

import yaml

from deploy.controlplane.components import STAGES


def test_each_file_is_one_stage_named_after_it() -> None:
    found = {}
    for path in STAGES.glob("*.yaml"):
        (stage,) = yaml.safe_load_all(path.read_text())
        assert stage["apiVersion"] == "kwok.x-k8s.io/v1alpha1"
        assert stage["kind"] == "Stage"
        assert stage["metadata"]["name"] == path.stem
        found[path.stem] = stage["spec"]["resourceRef"]["kind"]
    assert found == {
        "node-ready": "Node",
        "pod-running": "Pod",
        "pod-succeeded": "Pod",
        "pod-deleted": "Pod",
    }
