"""Selectors, taints and ports, matched one by one."""

import re

from scheduler_svc.core.objects import (
    NodeAffinity,
    NodeSelectorTerm,
    Pod,
    Requirement,
    Taint,
    Toleration,
)
from tests.reference.cluster import HostedNode

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's word for it; nothing is bound here


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration is for this taint."""
    matches_effect = toleration.effect in ("", taint.effect)
    matches_key = toleration.key in ("", taint.key)
    if toleration.operator == "Exists":
        matches_value = True
    elif toleration.operator in ("", "Equal"):
        matches_value = toleration.value == taint.value
    else:
        matches_value = False
    return matches_effect and matches_key and matches_value


def _int64(text: str) -> int | None:
    if re.fullmatch(r"[+-]?[0-9]+", text) is None:
        return None
    return int(text) if -(2**63) <= int(text) <= 2**63 - 1 else None


def _expression_matches(requirement: Requirement, labels: dict[str, str]) -> bool:
    key, values = requirement.key, requirement.values
    match requirement.operator:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case operator:
            bound, value = _int64(values[0]), _int64(labels.get(key, ""))
            if bound is None or value is None:
                return False
            return value > bound if operator == "Gt" else value < bound


def _field_matches(requirement: Requirement, name: str) -> bool:
    if requirement.key != "metadata.name" or len(requirement.values) != 1:
        return False
    if requirement.operator == "In":
        return requirement.values[0] == name
    return requirement.operator == "NotIn" and requirement.values[0] != name


def term_matches(term: NodeSelectorTerm, node: HostedNode) -> bool:
    """Whether a Node meets a term."""
    if not term.match_expressions and not term.match_fields:
        return False
    return all(_expression_matches(r, node.labels) for r in term.match_expressions) and all(
        _field_matches(r, node.name) for r in term.match_fields
    )


def affinity_matches(affinity: NodeAffinity | None, node: HostedNode) -> bool:
    """Whether a Node meets what is required."""
    if affinity is None or affinity.required is None:
        return True
    return any(term_matches(term, node) for term in affinity.required.node_selector_terms)


def affinity_of(pod: Pod) -> NodeAffinity | None:
    """Give a Pod's node affinity."""
    return pod.spec.affinity.node_affinity if pod.spec.affinity else None


def named_nodes(affinity: NodeAffinity | None) -> set[str] | None:
    """Give the only Nodes that the required terms allow by name; None if some term does not."""
    if affinity is None or affinity.required is None or not affinity.required.node_selector_terms:
        return None
    allowed: set[str] = set()
    for term in affinity.required.node_selector_terms:
        sets = [
            set(r.values)
            for r in term.match_fields
            if r.key == "metadata.name" and r.operator == "In"
        ]
        if not sets:
            return None
        allowed |= set.intersection(*sets)
    return allowed


def host_ports(pod: Pod) -> list[tuple[str, int, str]]:
    """Give the ports that a Pod takes on its Node."""
    sidecars = [c for c in pod.spec.init_containers if c.restart_policy == "Always"]
    return [
        (port.protocol or "TCP", port.host_port, port.host_ip or EVERY_ADDRESS)
        for container in (*pod.spec.containers, *sidecars)
        for port in container.ports
        if port.host_port > 0
    ]


def ports_conflict(one: tuple[str, int, str], other: tuple[str, int, str]) -> bool:
    """Whether two ports cannot be on one Node."""
    return one[:2] == other[:2] and (one[2] == other[2] or EVERY_ADDRESS in (one[2], other[2]))
