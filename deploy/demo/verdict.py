"""Whether the demonstration has shown what it should: every check, and what was found; pure.

The evidence is what the API server says: Pods as a watch saw them, events, and the number of
Bindings that the API server has accepted. The scheduler's own word is not asked.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deploy.demo.figures import NodeLoad, measure_loads
from deploy.demo.plan import Plan, PlannedNode
from deploy.demo.records import PodRecord
from deploy.demo.shapes import AFTER_LEADER, PODS_PER_NODE, SHAPE_BY_NAME, PodShape

TAKEOVER_LIMIT_SECONDS = 17.0
"""A lease of 15 s that nobody renews, and the 2 s after which a standby tries again."""
SHOWN_COUNT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What has been seen.

    Attributes
    ----------
    records
        All Pods of the namespace.
    gates_lifted_seconds
        When the first gate's lifting was sent, on the clock of the records; None if none was.
    accepted_binding_count
        Bindings that the API server has answered with 201.
    refusals
        Note of the FailedScheduling event, by the Pod's name.
    lapsed_nodes
        Nodes that were not ready for a while: a machine without enough CPU for their heartbeats.
        They are tainted meanwhile, so what refusals say of them is not known.
    takeover_seconds
        From the leader's end to the binding of a Pod created then; None if no leader was killed,
        infinite if the Pod was not bound.
    """

    plan: Plan
    records: Sequence[PodRecord]
    gates_lifted_seconds: float | None
    accepted_binding_count: int
    refusals: Mapping[str, str]
    lapsed_nodes: frozenset[str] = frozenset()
    takeover_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must be so; ``found`` says what is."""

    what: str
    is_met: bool
    found: str


def judge(evidence: Evidence) -> list[Check]:
    """Check everything."""
    loads = measure_loads(evidence.plan.nodes, evidence.records)
    checks = [
        _check_all_bound(evidence),
        _check_nothing_else_bound(evidence),
        _check_gates(evidence),
        _check_bound_once(evidence),
        _check_allocatable(loads),
        _check_placement(evidence),
        _check_refusals(evidence),
    ]
    if evidence.takeover_seconds is not None:
        checks.append(_check_takeover(evidence.takeover_seconds))
    return checks


def expected_counts(evidence: Evidence) -> dict[str, int]:
    """Give how many Pods of each shape are to be bound; none of those that fit nowhere."""
    counts = {
        name: count
        for name, count in evidence.plan.counts.items()
        if not SHAPE_BY_NAME[name].is_impossible
    }
    if evidence.takeover_seconds is not None:
        counts[AFTER_LEADER.name] = 1
    return counts


def expected_refusal(shape: PodShape, nodes: Iterable[PlannedNode]) -> str:
    """Write why a shape without tolerations fits on none of ``nodes``, as kube-scheduler does.

    Of several reasons each Node gives the first: that it is cordoned, then that it is tainted, then
    the shape's own. Counts and reasons are sorted as text.
    """
    reasons: Counter[str] = Counter()
    for node in nodes:
        if node.pool.is_cordoned:
            reasons["node(s) were unschedulable"] += 1
        elif node.pool.taint is not None:
            reasons["node(s) had untolerated taint(s)"] += 1
        else:
            reasons[shape.refusal] += 1
    parts = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"0/{reasons.total()} nodes are available: {', '.join(parts)}."


def _check_all_bound(evidence: Evidence) -> Check:
    expected = expected_counts(evidence)
    bound = Counter(record.shape for record in evidence.records if record.node)
    wrong = [
        f"{count - bound[shape]} of {count} {shape} missing"
        for shape, count in expected.items()
        if bound[shape] < count
    ]
    return _check("every Pod that fits somewhere is bound", f"{sum(expected.values())} Pods", wrong)


def _check_nothing_else_bound(evidence: Evidence) -> Check:
    expected = expected_counts(evidence)
    bound = Counter(record.shape for record in evidence.records if record.node)
    wrong = [
        f"{count - expected.get(shape, 0)} {shape or 'of no shape'} bound"
        for shape, count in bound.items()
        if count > expected.get(shape, 0)
    ]
    unbound_count = sum(1 for record in evidence.records if not record.node)
    return _check("nothing else is bound", f"{unbound_count} Pods wait", wrong)


def _check_gates(evidence: Evidence) -> Check:
    lifted = evidence.gates_lifted_seconds
    gated = [record for record in evidence.records if _has_gate(record)]
    wrong = [
        f"{record.name} was"
        for record in gated
        if record.bound_seconds is not None and (lifted is None or record.bound_seconds < lifted)
    ]
    return _check(
        "no gated Pod is bound before its gate is lifted", f"{len(gated)} gated Pods", wrong
    )


def _check_bound_once(evidence: Evidence) -> Check:
    bound = [record for record in evidence.records if record.node]
    wrong = [f"{record.name}: {', then '.join(record.nodes)}" for record in bound if record.moved]
    found = f"{evidence.accepted_binding_count} Bindings accepted for {len(bound)} bound Pods"
    if evidence.accepted_binding_count != len(bound):
        wrong.append(found)
    return _check("none is bound twice", found, wrong)


def _check_allocatable(loads: Iterable[NodeLoad]) -> Check:
    loads = list(loads)
    wrong = [f"{load.node.name}: {problem}" for load in loads if (problem := _overload(load))]
    return _check("no Node carries more than it has", f"{len(loads)} Nodes", wrong)


def _overload(load: NodeLoad) -> str:
    if not load.requested.fits_in(load.node.pool.allocatable):
        return f"{load.requested} requested of {load.node.pool.allocatable}"
    if load.pod_count > PODS_PER_NODE:
        return f"{load.pod_count} Pods of {PODS_PER_NODE}"
    if len(set(load.host_ports)) < len(load.host_ports):
        port, _ = Counter(load.host_ports).most_common(1)[0]
        return f"host port {port} twice"
    return ""


def _check_placement(evidence: Evidence) -> Check:
    nodes = {node.name: node for node in evidence.plan.nodes}
    bound = [record for record in evidence.records if record.node]
    wrong = [
        f"{record.name} on {record.node}"
        for record in bound
        if not _may_run(record, nodes.get(record.node))
    ]
    return _check("each Pod is on a Node that its spec allows", f"{len(bound)} Pods", wrong)


def _may_run(record: PodRecord, node: PlannedNode | None) -> bool:
    shape = SHAPE_BY_NAME.get(record.shape)
    if node is None or shape is None:
        return False
    return node.pool.name in shape.pools and node.zone in shape.zones


def _check_refusals(evidence: Evidence) -> Check:
    nodes = evidence.plan.nodes
    wrong = []
    for pod in evidence.plan.impossible:
        expected = expected_refusal(pod.shape, nodes)
        note = evidence.refusals.get(pod.name)
        if note is None:
            wrong.append(f"{pod.name}: no FailedScheduling event")
        elif evidence.lapsed_nodes:
            if not note.startswith(f"0/{len(nodes)} nodes") or pod.shape.refusal not in note:
                wrong.append(f"{pod.name}: {note!r} instead of something like {expected!r}")
        elif not note.startswith(expected):  # what preemption adds may follow
            wrong.append(f"{pod.name}: {note!r} instead of {expected!r}")
    found = f"{len(evidence.plan.impossible)} events"
    if evidence.lapsed_nodes:
        found += f" (numbers not checked: {len(evidence.lapsed_nodes)} Nodes were not always ready)"
    return _check("Pods that fit nowhere are told why", found, wrong)


def _check_takeover(seconds: float) -> Check:
    return Check(
        f"another replica binds within {TAKEOVER_LIMIT_SECONDS:g} s of the leader's end",
        seconds <= TAKEOVER_LIMIT_SECONDS,
        f"{seconds:.1f} s" if math.isfinite(seconds) else "no Pod was bound",
    )


def _has_gate(record: PodRecord) -> bool:
    shape = SHAPE_BY_NAME.get(record.shape)
    return shape is not None and shape.is_gated


def _check(what: str, found: str, wrong: Sequence[str]) -> Check:
    if not wrong:
        return Check(what, True, found)
    more = f" and {len(wrong) - SHOWN_COUNT} more" if wrong[SHOWN_COUNT:] else ""
    return Check(what, False, ", ".join(wrong[:SHOWN_COUNT]) + more)
