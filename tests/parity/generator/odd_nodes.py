"""Odd labels, names and taints of Nodes, and the selectors and tolerations that meet them."""

from collections.abc import Sequence
from typing import Any, Final

from tests.parity.generator.manifests import (
    HOSTNAME,
    ZONE,
    Manifest,
    Random,
    chance,
    is_pending,
    name_of,
)

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NUMBERS: Final = ("5", "05", "+5", "-3", "0", "5.5", "1e1", "", "9223372036854775807", "many")
_MORE_NUMBERS: Final = (*_NUMBERS, "9223372036854775808", " 5", "0x5")
_VALUES: Final = ("", "a", "b", "A", "ssd")
_KEYS: Final = ("disk", "gen", "empty", "example.com/odd", ZONE, HOSTNAME, "missing")
_TAINT_KEYS: Final = ("dedicated", "example.com/odd", "node.kubernetes.io/not-ready")
_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
_EFFECTS: Final = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def odd_affinity(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Change Nodes' labels and give Pods odd node selectors and node affinity."""
    for node in nodes:
        _label(r, node)
    names = [name_of(node) for node in nodes]
    for pod in filter(is_pending, pods):
        spec = pod["spec"]
        if chance(r, 0.3):
            spec["nodeSelector"] = r.choice(
                [
                    *({}, {"empty": ""}, {"empty": None}, {"disk": "ssd"}),
                    *({"gen": r.choice(_NUMBERS)}, None),
                ]
            )
        if chance(r, 0.8):
            spec.setdefault("affinity", {})["nodeAffinity"] = _node_affinity(r, names)
    return []


def _label(r: Random, node: Manifest) -> None:
    labels = node["metadata"].setdefault("labels", {})
    if chance(r, 0.5):
        labels["gen"] = r.choice(_NUMBERS)
    if chance(r, 0.3):
        labels["empty"] = r.choice(["", None])
    if chance(r, 0.2):
        labels["example.com/odd"] = r.choice(_VALUES)
    if chance(r, 0.1):
        labels["disk"] = ""
    if chance(r, 0.1):
        labels[HOSTNAME] = "another"
    kind = r.random()
    if kind < 0.04:
        node["metadata"]["labels"] = {}
    elif kind < 0.08:
        del node["metadata"]["labels"]


def _node_affinity(r: Random, names: list[str]) -> Manifest:
    made: Manifest = {}
    if chance(r, 0.7):
        terms = [_term(r, names) for _ in range(r.choice([1, 1, 2, 3]))]
        made[_REQUIRED] = {"nodeSelectorTerms": terms}
    if chance(r, 0.6):
        made[_PREFERRED] = [
            {"weight": r.choice([1, 1, 37, 100]), "preference": _term(r, names)}
            for _ in range(r.choice([0, 1, 2, 4]))
        ]
    return made


def _term(r: Random, names: list[str]) -> Manifest:
    kind = r.random()
    if kind < 0.07:
        return {}
    if kind < 0.1:
        return {"matchExpressions": [], "matchFields": None}
    made: Manifest = {}
    if kind < 0.8:
        made["matchExpressions"] = [_expression(r) for _ in range(r.choice([1, 1, 2, 3]))]
    if kind > 0.6:
        made["matchFields"] = [_field(r, names) for _ in range(r.choice([1, 1, 1, 2]))]
    return made


def _expression(r: Random) -> Manifest:
    operator, key = r.choice(_OPERATORS), r.choice(_KEYS)
    made: Manifest = {"key": key, "operator": operator}
    if operator in ("Gt", "Lt"):
        made |= {"key": r.choice(["gen", "gen", key]), "values": [r.choice(_MORE_NUMBERS)]}
    elif operator in ("In", "NotIn"):
        values = [*_VALUES, *_NUMBERS[:3], "z-a", "hdd", "n01"]
        made["values"] = [r.choice(values) for _ in range(r.choice([1, 2, 3]))]
    return made


def _field(r: Random, names: list[str]) -> Manifest:
    value = r.choice([*names, *names, "nowhere"])
    key = "metadata.uid" if chance(r, 0.05) else "metadata.name"
    return {"key": key, "operator": r.choice(["In", "In", "NotIn"]), "values": [value]}


def odd_taints(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Taint Nodes and have Pods tolerate in odd ways; cordon Nodes, with and without the taint."""
    for node in nodes:
        taints = [_taint(r) for _ in range(r.choice([0, 1, 1, 2, 4]))]
        if chance(r, 0.2):
            node["spec"]["unschedulable"] = True
        if chance(r, 0.15):
            taints.append({"key": _UNSCHEDULABLE, "effect": "NoSchedule"})
        if taints or chance(r, 0.2):
            node["spec"]["taints"] = taints
        if chance(r, 0.05):
            del node["spec"]
    for pod in pods:
        tolerations: Any = [_toleration(r) for _ in range(r.choice([0, 1, 2, 4]))]
        if tolerations and chance(r, 0.3):
            tolerations.append(dict(r.choice(tolerations)))
        pod["spec"]["tolerations"] = tolerations
    return []


def _taint(r: Random) -> Manifest:
    made: Manifest = {"key": r.choice(_TAINT_KEYS), "effect": r.choice(_EFFECTS)}
    if chance(r, 0.6):
        made["value"] = r.choice(["", "a", "b", "7"])
    if chance(r, 0.2):
        made["timeAdded"] = "2026-01-01T00:00:00Z"
    return made


def _toleration(r: Random) -> Manifest:
    kind = r.random()
    if kind < 0.12:
        made: Manifest = {"operator": "Exists"}
    else:
        made = {"key": r.choice([*_TAINT_KEYS, *_TAINT_KEYS, _UNSCHEDULABLE])}
        operator = r.choice(["Exists", "Equal", "", None, "Gt", "Lt"])
        if operator is not None:
            made["operator"] = operator
        if operator in ("Gt", "Lt"):
            made["value"] = r.choice(["5", "9", "-1"])
        elif operator != "Exists" and chance(r, 0.8):
            made["value"] = r.choice(["", "a", "b", "7"])
    effect = r.choice([*_EFFECTS, "", None])
    if effect is not None:
        made["effect"] = effect
    if effect == "NoExecute" and chance(r, 0.5):
        made["tolerationSeconds"] = r.choice([0, -1, 300])
    return made
