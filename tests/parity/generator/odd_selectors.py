"""Selectors that make no sense, which the API server would refuse: of Pods and of Nodes."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.parity.generator.manifests import (
    APPS,
    HOSTNAME,
    ZONE,
    Manifest,
    Random,
    chance,
    is_pending,
    manifest,
    name_of,
)

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_KEYS: Final = (
    *("", "bad key", "/app", "app/", "a/b/c", "Bad_.example/app", "x" * 64, 'q"uo\\te', "é"),
    *("example.com/app", "x" * 63, "app", "disk", "gen"),
)
_VALUES: Final = ("", "web", "db", "ssd", "5", "-1", "no value", "x" * 64, "é")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "in", "Equals", "")


def odd_selectors(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Have some Pods select nonsense; gives budgets that do."""
    made = [_budget(r, number) for number in range(r.choice([0, 1, 2]))]
    names = [name_of(node) for node in nodes]
    for pod in pods:
        spec = pod["spec"]
        affinity = spec.setdefault("affinity", {})
        for kind in ("podAffinity", "podAntiAffinity"):
            if chance(r, 0.2):
                affinity[kind] = _pod_rules(r)
        if not is_pending(pod):
            continue
        if chance(r, 0.4):
            affinity["nodeAffinity"] = _node_rules(r, names)
        if chance(r, 0.4):
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": key,
                    "whenUnsatisfiable": action,
                    "labelSelector": _selector(r),
                }
                for key, action in (
                    (ZONE, "DoNotSchedule"),
                    (HOSTNAME, "ScheduleAnyway"),
                    (ZONE, "ScheduleAnyway"),
                )
                if chance(r, 0.5)
            ]
    return made


def _expressions(r: Random, operators: Sequence[str]) -> Iterator[Manifest]:
    for _ in range(r.choice([1, 1, 2])):
        made: Manifest = {"key": "app", "operator": r.choice(operators[:4]), "values": ["web"]}
        if made["operator"] in ("Exists", "DoesNotExist"):
            del made["values"]
        if chance(r, 0.15):
            made["key"] = r.choice(_KEYS)
        if chance(r, 0.1):
            made["operator"] = r.choice(operators)
        if chance(r, 0.1):
            made["values"] = [r.choice(_VALUES) for _ in range(r.choice([1, 2]))]
        elif chance(r, 0.05):
            made.pop("values", None)
        yield made


def _selector(r: Random) -> Manifest:
    made: Manifest = {}
    if chance(r, 0.6):
        # One at most: kube-scheduler tells of the first in the order of a map.
        key = r.choice(_KEYS) if chance(r, 0.1) else "app"
        made["matchLabels"] = {key: r.choice(_VALUES if chance(r, 0.1) else APPS)}
    if chance(r, 0.5):
        made["matchExpressions"] = list(_expressions(r, _OPERATORS))
    return made


def _pod_rules(r: Random) -> Manifest:
    made: Manifest = {}
    if chance(r, 0.5):
        made[_REQUIRED] = [_pod_term(r) for _ in range(r.choice([1, 2]))]
    if chance(r, 0.5):
        made[_PREFERRED] = [
            {"weight": r.choice([1, 100]), "podAffinityTerm": _pod_term(r)}
            for _ in range(r.choice([1, 2]))
        ]
    return made


def _pod_term(r: Random) -> Manifest:
    made: Manifest = {"topologyKey": r.choice([ZONE, HOSTNAME]), "labelSelector": _selector(r)}
    if chance(r, 0.2):
        made["namespaceSelector"] = _selector(r)
    return made


def _node_rules(r: Random, names: Sequence[str]) -> Manifest:
    made: Manifest = {}
    if chance(r, 0.5):
        made[_REQUIRED] = {"nodeSelectorTerms": [_node_term(r, names) for _ in range(2)]}
    if chance(r, 0.6):
        made[_PREFERRED] = [
            {"weight": r.choice([1, 100]), "preference": _node_term(r, names)}
            for _ in range(r.choice([1, 2]))
        ]
    return made


def _node_term(r: Random, names: Sequence[str]) -> Manifest:
    made: Manifest = {}
    if chance(r, 0.7):
        made["matchExpressions"] = list(_expressions(r, _OPERATORS))
        for expression in made["matchExpressions"]:
            if expression["key"] == "app":
                expression["key"] = "disk"
    if chance(r, 0.3):
        field: Any = {"key": "metadata.name", "operator": "In", "values": [r.choice(names)]}
        if chance(r, 0.3):
            field["operator"] = r.choice(["NotIn", "Exists", "Gt", ""])
        if chance(r, 0.2):
            field["values"] = r.choice([[r.choice(names), "nowhere"], [""]])
        made["matchFields"] = [field]
    return made


def _budget(r: Random, number: int) -> Manifest:
    budget = manifest("policy/v1", "PodDisruptionBudget", f"odd-selector-{number}", "default")
    return budget | {"spec": {"selector": _selector(r)}, "status": {"disruptionsAllowed": 0}}
