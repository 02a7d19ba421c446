"""The chart gives the rights of the manifest, of which tests/integration/rights proves each one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import pytest
import yaml

from tests.chart.rendering import ROOT, Document, Helm, find, parse, values_of

pytestmark = pytest.mark.integration

MANIFEST: Final = ROOT / "deploy/manifests/berthmaster.yaml"
# The agent's rules of the manifest are those of all its flags.
ALL_FLAGS: Final = ("--set=agent.events.write=true",)
CLUSTER: Final = "placement.blue-berthmaster"


def rights(rules: Sequence[dict[str, Any]]) -> set[tuple[str, ...]]:
    """Give each verb on each resource or path by itself."""
    return {
        right
        for rule in rules
        for right in product(
            rule.get("apiGroups", [""]),
            rule.get("resources", [""]),
            rule.get("nonResourceURLs", [""]),
            rule["verbs"],
        )
    }


def manifest() -> list[Document]:
    return parse(MANIFEST.read_text())


@pytest.mark.parametrize("component", ["scheduler", "agent"])
def test_cluster_role_is_that_of_the_manifest(helm: Helm, component: str) -> None:
    ours = find(helm.documents(*ALL_FLAGS), "ClusterRole", f"{CLUSTER}-{component}")
    proven = find(manifest(), "ClusterRole", f"berthmaster-{component}")
    assert rights(ours["rules"]) == rights(proven["rules"])


def test_lease_is_ours_alone(helm: Helm) -> None:
    documents = helm.documents()
    rules = find(documents, "Role")["rules"]
    assert rights(rules) == rights(find(manifest(), "Role")["rules"])
    [named] = [rule for rule in rules if "resourceNames" in rule]
    lease = find(documents, "Lease")["metadata"]
    assert named["resourceNames"] == [lease["name"]]
    configuration = find(documents, "ConfigMap")["data"]["scheduler.yaml"]
    election = yaml.safe_load(configuration)["leaderElection"]
    assert (election["resourceNamespace"], election["resourceName"]) == (
        lease["namespace"],
        lease["name"],
    )


def test_rights_follow_what_the_agent_is_to_do(helm: Helm) -> None:
    settings = ["kubelet.enabled", "events.read"]
    documents = helm.documents(*(f"--set=agent.{setting}=false" for setting in settings))
    rules = find(documents, "ClusterRole", f"{CLUSTER}-agent")["rules"]
    resources = {resource for rule in rules for resource in rule.get("resources", ())}
    assert resources == {"pods", "tokenreviews", "subjectaccessreviews"}


def test_rules_of_the_values_are_added(helm: Helm) -> None:
    documents = helm.documents(values=[values_of("everything")])
    scheduler = find(documents, "ClusterRole", "placement.berths-scheduler")["rules"]
    assert ("", "configmaps", "", "watch") in rights(scheduler)
    agent = find(documents, "ClusterRole", "placement.berths-agent")["rules"]
    assert ("", "nodes/proxy", "", "get") in rights(agent)


def test_nobody_has_a_token_who_does_not_ask(helm: Helm) -> None:
    documents = helm.documents()
    accounts = [document for document in documents if document["kind"] == "ServiceAccount"]
    assert [account["automountServiceAccountToken"] for account in accounts] == [False, False]
    for kind in ("Deployment", "DaemonSet"):
        pod = find(documents, kind)["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is True
    assert find(documents, "Pod")["spec"]["automountServiceAccountToken"] is False
