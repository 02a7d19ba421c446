"""Odd rules of Pods about other Pods: selectors of all or nothing, keys that are not there."""

from collections.abc import Sequence
from typing import Any, Final

from tests.parity.generator.manifests import (
    APPS,
    HOSTNAME,
    ZONE,
    Manifest,
    Random,
    chance,
    is_pending,
)

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_KEYS: Final = (ZONE, HOSTNAME, "disk", "empty", "rack", "missing")
_LABELS: Final = ("app", "rev", "empty", "tier")
_NAMESPACES: Final = ("default", "team-a", "team-b", "unknown", "")


def odd_rules(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Give Pods odd labels, spread constraints and affinity to other Pods."""
    for node in nodes:
        labels = node["metadata"].setdefault("labels", {})
        if chance(r, 0.5):
            labels["empty"] = ""
        if chance(r, 0.5):
            labels["rack"] = r.choice(["r1", "r2", ""])
        if chance(r, 0.05):
            labels.clear()
    for pod in pods:
        _label(r, pod)
        affinity = pod["spec"].setdefault("affinity", {})
        for kind in ("podAffinity", "podAntiAffinity"):
            if chance(r, 0.3):
                affinity[kind] = _rules(r)
        if is_pending(pod) and chance(r, 0.6):
            pod["spec"]["topologySpreadConstraints"] = _constraints(r)
            if chance(r, 0.3):
                pod["spec"]["tolerations"] = [{"operator": "Exists"}]
    return []


def odd_namespaces(r: Random, namespaces: Sequence[Manifest]) -> list[Manifest]:
    """Leave some Namespaces out, and some without labels."""
    made = []
    for namespace in namespaces:
        kind = r.random()
        if kind < 0.15:
            continue
        if kind < 0.3:
            namespace["metadata"].pop("labels", None)
        elif kind < 0.5:
            namespace["metadata"]["labels"] = {"team": "", "empty": ""}
        made.append(namespace)
    return made


def _label(r: Random, pod: Manifest) -> None:
    kind = r.random()
    if kind < 0.08:
        pod["metadata"].pop("labels", None)
    elif kind < 0.16:
        pod["metadata"]["labels"] = {}
    elif kind < 0.5:
        labels = {"empty": "", "tier": r.choice(["", "a"])}
        pod["metadata"]["labels"] = pod["metadata"].get("labels", {}) | labels


def _selector(r: Random) -> Any:
    kind = r.random()
    if kind < 0.1:
        return None
    if kind < 0.2:
        return {}
    made: Manifest = {}
    if chance(r, 0.6):
        key = r.choice(_LABELS)
        made["matchLabels"] = {key: r.choice(APPS) if key == "app" else r.choice(["", "1", "a"])}
    if chance(r, 0.5):
        made["matchExpressions"] = [_expression(r) for _ in range(r.choice([1, 1, 2]))]
    return made


def _expression(r: Random) -> Manifest:
    operator = r.choice(["In", "NotIn", "Exists", "DoesNotExist"])
    made: Manifest = {"key": r.choice(_LABELS), "operator": operator}
    if operator in ("In", "NotIn"):
        made["values"] = r.sample([*APPS, "", "1", "2", "a"], r.choice([1, 2, 3]))
    return made


def _term(r: Random) -> Manifest:
    made: Manifest = {"topologyKey": r.choice(_KEYS)}
    selector = _selector(r)
    if selector is not None or chance(r, 0.5):
        made["labelSelector"] = selector
    kind = r.random()
    if kind < 0.2:
        made["namespaces"] = r.sample(_NAMESPACES, r.choice([1, 2]))
    if 0.1 < kind < 0.4:
        made["namespaceSelector"] = r.choice(
            [
                {},
                {"matchLabels": {"team": r.choice(["", "a"])}},
                {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
                {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
                {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["", "a"]}]},
                {"matchExpressions": [{"key": "empty", "operator": "DoesNotExist"}]},
            ]
        )
    if selector is not None and chance(r, 0.1):
        made[r.choice(["matchLabelKeys", "mismatchLabelKeys"])] = [r.choice(["rev", "nope"])]
    return made


def _rules(r: Random) -> Manifest:
    made: Manifest = {}
    if chance(r, 0.4):
        made[_REQUIRED] = [_term(r) for _ in range(r.choice([0, 1, 1, 2]))]
    if chance(r, 0.6):
        made[_PREFERRED] = [
            {"weight": r.choice([1, 2, 29, 100]), "podAffinityTerm": _term(r)}
            for _ in range(r.choice([1, 2, 3]))
        ]
    return made


def _constraints(r: Random) -> list[Manifest]:
    """Make constraints of which no two have the same key and action."""
    pairs = [(key, action) for key in _KEYS for action in ("DoNotSchedule", "ScheduleAnyway")]
    weights = [1 if key in ("empty", "rack", "missing") else 3 for key, _ in pairs]
    chosen = dict.fromkeys(r.choices(pairs, weights, k=r.choice([1, 2, 3, 4])))
    return [_constraint(r, key, action) for key, action in chosen]


def _constraint(r: Random, key: str, action: str) -> Manifest:
    made: Manifest = {
        "maxSkew": r.choice([1, 1, 2, 7, 2147483647]),
        "topologyKey": key,
        "whenUnsatisfiable": action,
    }
    selector = _selector(r)
    if selector is not None:
        made["labelSelector"] = selector
        if chance(r, 0.3):
            made["matchLabelKeys"] = r.sample(["rev", "nope", "empty"], r.choice([1, 2]))
    if action == "DoNotSchedule" and chance(r, 0.3):
        made["minDomains"] = r.choice([1, 3, 100, 2147483647])
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if chance(r, 0.4):
            made[policy] = r.choice(["Honor", "Ignore"])
    return made
