"""Rarer things about Pods and Nodes."""

from collections.abc import Sequence
from typing import Any, Final

from tests.parity.generator.manifests import (
    HOSTNAME,
    Manifest,
    Random,
    chance,
    is_pending,
    manifest,
    name_of,
)
from tests.parity.generator.nodes import IMAGES

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_OWNERS: Final = {
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicationController": "v1",
}


def corner_pods(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Change Pods and Nodes; gives the objects that belong to them."""
    for node in nodes:
        _change_node(r, node)
    made = []
    for kind, version in _OWNERS.items():
        if chance(r, 0.6):
            made.append(_owner(r, kind, version))
    for pod in pods:
        if made and chance(r, 0.4):
            _own(pod, r.choice(made))
        if is_pending(pod):
            _change_pending(r, pod, nodes)
        else:
            _change_running(r, pod)
    return [*made, *_budgets(r)]


def _change_node(r: Random, node: Manifest) -> None:
    if chance(r, 0.3):
        node["status"]["declaredFeatures"] = ["UserNamespacesHostNetworkSupport", "Other"]
    if chance(r, 0.05):
        del node["metadata"]["labels"][HOSTNAME]
    if chance(r, 0.1):
        node["metadata"]["labels"]["gen"] = "many"
    if chance(r, 0.04):
        node["metadata"]["labels"] = {}
    if chance(r, 0.1):
        node["status"]["allocatable"].pop(r.choice(["ephemeral-storage", "memory", "cpu"]), None)


def _owner(r: Random, kind: str, version: str) -> Manifest:
    labels = {"app": r.choice(["web", "db"])}
    selector: Any = labels if kind == "ReplicationController" else {"matchLabels": labels}
    return manifest(version, kind, f"owner-{kind.lower()}", "default", spec={"selector": selector})


def _own(pod: Manifest, owner: Manifest) -> None:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    pod["metadata"]["ownerReferences"] = [reference]


def _change_pending(r: Random, pod: Manifest, nodes: Sequence[Manifest]) -> None:
    spec = pod["spec"]
    kind = r.random()
    if kind < 0.08:
        spec["hostNetwork"], spec["hostUsers"] = True, False
    elif kind < 0.16:
        _tie_to_a_node(r, spec, nodes)
    elif kind < 0.22:
        expression = {"key": "gen", "operator": r.choice(["Gt", "Lt"]), "values": ["4"]}
        preferred: Manifest = {"weight": 50, "preference": {"matchExpressions": [expression]}}
        spec.setdefault("affinity", {})["nodeAffinity"] = {_PREFERRED: [preferred]}
    elif kind < 0.28:
        spec["volumes"] = [
            *spec.get("volumes", []),
            {"name": "image", "image": {"reference": r.choice(list(IMAGES))}},
        ]
    elif kind < 0.34:
        spec["containers"] = [{"name": "c", "image": "unknown"}]
    elif kind < 0.4:
        pod["metadata"]["labels"] = {}
    elif kind < 0.46:
        spec["schedulingGates"] = [{"name": "example.com/gate"}]
    else:
        _change_requests(r, spec)


def _tie_to_a_node(r: Random, spec: Manifest, nodes: Sequence[Manifest]) -> None:
    names = [name_of(r.choice(nodes)), "nowhere"]
    term = {"matchFields": [_named(r.choice(names))]}
    if chance(r, 0.4):
        # Both must hold.
        term["matchFields"].append(_named(r.choice(names)))
    if chance(r, 0.3):
        term["matchExpressions"] = [{"key": "disk", "operator": "Exists"}]
    affinity = spec.setdefault("affinity", {})
    affinity["nodeAffinity"] = {_REQUIRED: {"nodeSelectorTerms": [term]}}


def _change_requests(r: Random, spec: Manifest) -> None:
    """Ask for none of a resource, or for more than any Node has."""
    if chance(r, 0.07):
        spec["overhead"] = {"cpu": "64"}
    elif chance(r, 0.07):
        requests = spec["containers"][0].setdefault("resources", {}).setdefault("requests", {})
        requests["example.com/gpu"] = "0"


def _named(name: str) -> Manifest:
    return {"key": "metadata.name", "operator": "In", "values": [name]}


def _change_running(r: Random, pod: Manifest) -> None:
    if chance(r, 0.2):
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
        }
        ready = {"type": "Ready", "status": "False"}
        pod["status"]["conditions"] = [ready, condition] if chance(r, 0.7) else [ready]
        pod["metadata"] |= {
            "deletionTimestamp": "2026-01-01T01:00:00Z",
            "deletionGracePeriodSeconds": 30,
            "finalizers": ["example.com/hold"],
        }
    if chance(r, 0.1):
        allocated = {"cpu": "3", "memory": "1Gi"}
        name = pod["spec"]["containers"][0]["name"]
        status = {
            "name": name,
            "allocatedResources": allocated,
            "resources": {"requests": allocated},
        }
        pod["status"]["containerStatuses"] = [status]
    if chance(r, 0.05):
        del pod["status"]["startTime"]


def _budgets(r: Random) -> list[Manifest]:
    made = []
    selectors: list[Manifest] = [
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]},
        {},
        {"matchLabels": {"app": "cache", "rev": "1"}},
    ]
    for number, selector in enumerate(selectors):
        if chance(r, 0.4):
            status: Manifest = {"disruptionsAllowed": r.choice([0, 1])}
            if chance(r, 0.3):
                status["disruptedPods"] = {"run1": "2026-01-01T00:00:00Z"}
            budget = manifest("policy/v1", "PodDisruptionBudget", f"corner-{number}", "default")
            made.append(budget | {"spec": {"selector": selector}, "status": status})
    return made
