"""Placement rules of Pods: affinity to Nodes and Pods, and spreading."""

from collections.abc import Sequence
from typing import Final

from tests.parity.generator.manifests import (
    APPS,
    HOSTNAME,
    ZONE,
    Manifest,
    Random,
    chance,
    name_of,
)

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_TOPOLOGIES: Final = (ZONE, HOSTNAME, "disk")


def _expression(r: Random) -> Manifest:
    operator = r.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    if operator in ("Gt", "Lt"):
        key = r.choice(["gen", "gen", "disk"])
        return {"key": key, "operator": operator, "values": [str(r.randint(1, 9))]}
    made: Manifest = {"key": r.choice(["disk", ZONE, "missing"]), "operator": operator}
    if operator in ("In", "NotIn"):
        made["values"] = r.sample(["ssd", "hdd", "z-a", "z-b", "z-c"], r.choice([1, 2, 3]))
    return made


def _node_term(r: Random, nodes: Sequence[Manifest]) -> Manifest:
    made: Manifest = {}
    if chance(r, 0.9):
        made["matchExpressions"] = [_expression(r) for _ in range(r.choice([1, 1, 2]))]
    if chance(r, 0.2):
        operator = r.choice(["In", "In", "NotIn"])
        values = [name_of(r.choice(nodes))]
        made["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": values}]
    return made


def add_node_affinity(r: Random, pod: Manifest, nodes: Sequence[Manifest]) -> None:
    """Have a Pod choose its Node."""
    if chance(r, 0.3):
        pod["spec"]["nodeSelector"] = {"disk": r.choice(["ssd", "hdd"])}
    rules: Manifest = {}
    if chance(r, 0.6):
        terms = [_node_term(r, nodes) for _ in range(r.choice([1, 2]))]
        rules[_REQUIRED] = {"nodeSelectorTerms": terms}
    if chance(r, 0.6):
        rules[_PREFERRED] = [
            {
                "weight": r.choice([1, 10, 50, 100]),
                "preference": {"matchExpressions": [_expression(r)]},
            }
            for _ in range(r.choice([1, 2, 3]))
        ]
    if rules:
        pod["spec"].setdefault("affinity", {})["nodeAffinity"] = rules


def _selector(r: Random) -> Manifest:
    kind = r.random()
    if kind < 0.6:
        return {"matchLabels": {"app": r.choice(APPS)}}
    if kind < 0.8:
        operator, values = r.choice(["In", "NotIn"]), r.sample(APPS, 2)
        return {"matchExpressions": [{"key": "app", "operator": operator, "values": values}]}
    if kind < 0.9:
        operator = r.choice(["Exists", "DoesNotExist"])
        return {"matchExpressions": [{"key": r.choice(["rev", "nope"]), "operator": operator}]}
    return {}


def add_spread(r: Random, pod: Manifest) -> None:
    """Have a Pod be spread over domains."""
    pod["spec"]["topologySpreadConstraints"] = [
        _constraint(r, key) for key in r.sample(_TOPOLOGIES, r.choice([1, 1, 2, 3]))
    ]


def _constraint(r: Random, key: str) -> Manifest:
    made = {
        "maxSkew": r.choice([1, 1, 2, 5]),
        "topologyKey": key,
        "whenUnsatisfiable": r.choice(["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": _selector(r),
    }
    if made["whenUnsatisfiable"] == "DoNotSchedule" and chance(r, 0.25):
        made["minDomains"] = r.choice([2, 3, 4])
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if chance(r, 0.3):
            made[policy] = r.choice(["Honor", "Ignore"])
    if chance(r, 0.2):
        made["matchLabelKeys"] = ["rev"]
    return made


def _pod_term(r: Random) -> Manifest:
    keys = (*_TOPOLOGIES, "nokey") if chance(r, 0.1) else _TOPOLOGIES
    made: Manifest = {"topologyKey": r.choice(keys), "labelSelector": _selector(r)}
    kind = r.random()
    if kind < 0.15:
        made["namespaces"] = r.sample(["default", "team-a", "team-b"], 2)
    elif kind < 0.3:
        made["namespaceSelector"] = r.choice(
            [
                {},
                {"matchLabels": {"team": "a"}},
                {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
                {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]},
                {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
            ]
        )
    return made


def add_pod_affinity(r: Random, pod: Manifest, *, strength: float = 0.5) -> None:
    """Have a Pod choose its neighbours; the stronger, the more rules."""
    affinity = pod["spec"].get("affinity", {})
    for kind in ("podAffinity", "podAntiAffinity"):
        rules: Manifest = {}
        if chance(r, strength * 0.7):
            rules[_REQUIRED] = [_pod_term(r) for _ in range(r.choice([1, 1, 2]))]
        if chance(r, strength):
            rules[_PREFERRED] = [
                {"weight": r.choice([1, 20, 100]), "podAffinityTerm": _pod_term(r)}
                for _ in range(r.choice([1, 2]))
            ]
        if rules:
            affinity[kind] = rules
    if affinity:
        pod["spec"]["affinity"] = affinity
