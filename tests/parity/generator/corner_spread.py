"""Rarer things about spreading: default constraints, odd domains, selectors of all or nothing."""

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
    manifest,
)
from tests.parity.generator.pods import start_ending

_RACK: Final = "rack"
_OWNER_NAMES: Final = ("o1", "o2", "unknown")
# The last ones are no controllers whose selectors count.
_OWNERS: Final = (
    ("ReplicaSet", "apps/v1"),
    ("StatefulSet", "apps/v1"),
    ("ReplicationController", "v1"),
    ("ReplicaSet", "extensions/v1beta1"),
    ("Job", "batch/v1"),
)


def corner_spread(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Change Pods and Nodes; gives Services and controllers."""
    for node in nodes:
        _change_labels(r, node["metadata"]["labels"])
    for pod in pods:
        if chance(r, 0.4):
            _own(r, pod)
        if is_pending(pod):
            _change_constraints(r, pod["spec"].get("topologySpreadConstraints", []))
        elif chance(r, 0.2):
            start_ending(r, pod)
    return [made for namespace in ("default", "team-a") for made in _selecting(r, namespace)]


def _change_labels(r: Random, labels: dict[str, str]) -> None:
    if chance(r, 0.2):
        labels[ZONE] = ""
    if chance(r, 0.1):
        labels.pop(HOSTNAME, None)
    if chance(r, 0.4):
        labels[_RACK] = r.choice(["r1", "r2", "r3", ""])


def _own(r: Random, pod: Manifest) -> None:
    kind, version = r.choice(_OWNERS)
    reference = {
        "apiVersion": version,
        "kind": kind,
        "name": r.choice(_OWNER_NAMES),
        "uid": "uid-owner",
        "controller": chance(r, 0.85),
    }
    pod["metadata"]["ownerReferences"] = [reference]


def _change_constraints(r: Random, constraints: list[Manifest]) -> None:
    for constraint in constraints:
        if chance(r, 0.2):
            constraint["labelSelector"] = {}
        elif chance(r, 0.1):
            del constraint["labelSelector"]
    # One of a key: two of one key and action are not allowed.
    if constraints and chance(r, 0.3):
        constraints[0]["topologyKey"] = _RACK


def _selecting(r: Random, namespace: str) -> list[Manifest]:
    made = [
        manifest("v1", "Service", f"s{number}", namespace, spec=_labels_spec(r))
        for number in range(r.choice([0, 1, 3]))
    ]
    for name in _OWNER_NAMES[:2]:
        for kind, version in _OWNERS[:3]:
            if chance(r, 0.7):
                spec = _labels_spec(r) if version == "v1" else _selector_spec(r)
                made.append(manifest(version, kind, name, namespace, spec=spec))
    return made


def _labels_spec(r: Random) -> Manifest:
    rev = {"rev": r.choice(["1", "2"])}
    app = {"app": r.choice(APPS)}
    selector = r.choice([app, app, {**app, **rev}, rev, {}, None])
    return {} if selector is None else {"selector": selector}


def _selector_spec(r: Random) -> Manifest:
    operator: Any = r.choice(["In", "NotIn", "Exists", "DoesNotExist"])
    expression: Manifest = {"key": r.choice(["app", "rev"]), "operator": operator}
    if operator in ("In", "NotIn"):
        expression["values"] = r.sample([*APPS, "1"], 2)
    labels = {"matchLabels": {"app": r.choice(APPS)}}
    if chance(r, 0.05):
        # It makes no sense.
        expression["operator"] = r.choice(["Gt", "in", ""])
    selector = r.choice([labels, labels, {"matchExpressions": [expression]}, {}, None])
    return {} if selector is None else {"selector": selector}
