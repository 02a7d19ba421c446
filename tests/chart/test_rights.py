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


@pytest.mark.parametrize("component", ["scheduler", "agent", "controller"])
def test_cluster_role_is_that_of_the_manifest(helm: Helm, component: str) -> None:
    ours = find(helm.documents(*ALL_FLAGS), "ClusterRole", f"{CLUSTER}-{component}")
    proven = find(manifest(), "ClusterRole", f"berthmaster-{component}")
    assert rights(ours["rules"]) == rights(proven["rules"])


@pytest.mark.parametrize(
    ("component", "role"),
    [("scheduler", "berthmaster-lease"), ("controller", "berthmaster-controller-lease")],
)
def test_lease_is_ours_alone(helm: Helm, component: str, role: str) -> None:
    documents = helm.documents()
    rules = find(documents, "Role", component=component)["rules"]
    assert rights(rules) == rights(find(manifest(), "Role", role)["rules"])
    [named] = [rule for rule in rules if "resourceNames" in rule]
    lease = find(documents, "Lease", component=component)["metadata"]
    assert named["resourceNames"] == [lease["name"]]
    assert told_lease(documents, component) == (lease["namespace"], lease["name"])


def told_lease(documents: list[Document], component: str) -> tuple[str, str]:
    """Give which Lease a process is told to elect by: namespace and name."""
    if component == "scheduler":
        configuration = find(documents, "ConfigMap")["data"]["scheduler.yaml"]
        election = yaml.safe_load(configuration)["leaderElection"]
        return election["resourceNamespace"], election["resourceName"]
    deployment = find(documents, "Deployment", component=component)
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    told = dict(argument.split("=") for argument in container["args"] if "=" in argument)
    election_flag = "--leader-elect-resource-"
    return told[f"{election_flag}namespace"], told[f"{election_flag}name"]


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
    controller = find(documents, "ClusterRole", "placement.berths-controller")["rules"]
    assert ("", "configmaps", "", "get") in rights(controller)


def test_nobody_has_a_token_who_does_not_ask(helm: Helm) -> None:
    documents = helm.documents()
    accounts = [document for document in documents if document["kind"] == "ServiceAccount"]
    assert [account["automountServiceAccountToken"] for account in accounts] == [False] * 3
    workloads = [one for one in documents if one["kind"] in ("Deployment", "DaemonSet")]
    pods = [workload["spec"]["template"]["spec"] for workload in workloads]
    assert [pod["automountServiceAccountToken"] for pod in pods] == [True] * 3
    assert find(documents, "Pod")["spec"]["automountServiceAccountToken"] is False
