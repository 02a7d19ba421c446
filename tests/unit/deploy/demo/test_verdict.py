"""Each check is met by a run that went well and fails for the one fault it is there for."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import pytest

from deploy.demo.plan import PlannedNode, make_plan
from deploy.demo.records import PodRecord
from deploy.demo.shapes import POD_SHAPES, POOL_BY_NAME, SHAPE_BY_NAME, PodShape
from deploy.demo.verdict import Check, Evidence, expected_refusal, judge

PLAN = make_plan(100, 500)
LIFTED_SECONDS = 50.0
REFUSALS = {
    "too-large-0000": "0/100 nodes are available: 1 node(s) were unschedulable, "
    "20 node(s) had untolerated taint(s), 79 Insufficient cpu.",
    "nowhere-0000": "0/100 nodes are available: 1 node(s) were unschedulable, "
    "20 node(s) had untolerated taint(s), 79 node(s) didn't match Pod's node affinity/selector.",
}


def place_all() -> list[PodRecord]:
    """Place the plan's Pods well: each shape's take turns on the Nodes it may run on."""
    return [record for shape in POD_SHAPES for record in place(shape)]


def place(shape: PodShape) -> Iterator[PodRecord]:
    nodes = [n for n in PLAN.nodes if n.pool.name in shape.pools and n.zone in shape.zones]
    for index in range(PLAN.counts[shape.name]):
        yield PodRecord(
            name=f"{shape.name}-{index:04}",
            shape=shape.name,
            created_seconds=0.0,
            nodes=[nodes[index % len(nodes)].name] if nodes else [],
            bound_seconds=LIFTED_SECONDS + 1 if nodes else None,
        )


@pytest.fixture
def evidence() -> Evidence:
    return Evidence(
        plan=PLAN,
        records=place_all(),
        gates_lifted_seconds=LIFTED_SECONDS,
        accepted_binding_count=498,
        refusals=dict(REFUSALS),
    )


def record_of(evidence: Evidence, name: str) -> PodRecord:
    return next(record for record in evidence.records if record.name == name)


def failing(evidence: Evidence) -> Check:
    (check,) = [check for check in judge(evidence) if not check.is_met]
    return check


def node_of(pool: str, zone: str = "") -> PlannedNode:
    return next(n for n in PLAN.nodes if n.pool.name == pool and zone in ("", n.zone))


def test_a_good_run_meets_every_check(evidence: Evidence) -> None:
    assert [check for check in judge(evidence) if not check.is_met] == []


def test_a_pod_that_was_not_bound(evidence: Evidence) -> None:
    record = record_of(evidence, "gpu-0003")
    record.nodes, record.bound_seconds = [], None
    evidence = dataclasses.replace(evidence, accepted_binding_count=497)

    check = failing(evidence)

    assert check.what == "every Pod that fits somewhere is bound"
    assert check.found == "1 of 20 gpu missing"


def test_a_pod_that_was_never_made(evidence: Evidence) -> None:
    records = [r for r in evidence.records if r.name != "deployment-0000"]
    evidence = dataclasses.replace(evidence, records=records, accepted_binding_count=497)

    assert failing(evidence).found == "1 of 38 deployment missing"


def test_a_pod_that_fits_nowhere_and_is_bound(evidence: Evidence) -> None:
    record_of(evidence, "nowhere-0000").nodes = ["node-0000"]
    evidence = dataclasses.replace(evidence, accepted_binding_count=499)

    failed = {check.what: check.found for check in judge(evidence) if not check.is_met}

    assert failed == {
        "nothing else is bound": "1 nowhere bound",
        "each Pod is on a Node that its spec allows": "nowhere-0000 on node-0000",
    }


def test_a_gated_pod_that_did_not_wait(evidence: Evidence) -> None:
    record_of(evidence, "gated-0000").bound_seconds = LIFTED_SECONDS - 0.1

    check = failing(evidence)

    assert check.what == "no gated Pod is bound before its gate is lifted"
    assert check.found == "gated-0000 was"


def test_gates_that_were_never_lifted(evidence: Evidence) -> None:
    check = failing(dataclasses.replace(evidence, gates_lifted_seconds=None))

    assert check.what == "no gated Pod is bound before its gate is lifted"
    assert check.found.endswith("gated-0004 was and 15 more")


def test_a_pod_that_moved(evidence: Evidence) -> None:
    record_of(evidence, "plain-0000").nodes = ["node-0000", "node-0001"]

    check = failing(evidence)

    assert check.what == "none is bound twice"
    assert check.found == "plain-0000: node-0000, then node-0001"


def test_a_binding_too_many(evidence: Evidence) -> None:
    check = failing(dataclasses.replace(evidence, accepted_binding_count=499))

    assert check.what == "none is bound twice"
    assert check.found == "499 Bindings accepted for 498 bound Pods"


def test_a_node_over_its_cpu(evidence: Evidence) -> None:
    """30 Pods with an init container of 1 CPU are too many for a small Node's 4 CPUs."""
    node = node_of("small")
    for record in evidence.records:
        if record.shape == "init-container":
            record.nodes = [node.name]

    check = failing(evidence)

    assert check.what == "no Node carries more than it has"
    assert f"{node.name}: cpu " in check.found
    assert "of cpu 4000m, memory 16384Mi" in check.found


def test_a_node_over_its_gpus(evidence: Evidence) -> None:
    node = node_of("gpu")
    for index in range(5):
        record_of(evidence, f"gpu-{index:04}").nodes = [node.name]

    assert failing(evidence).what == "no Node carries more than it has"


def test_a_host_port_used_twice(evidence: Evidence) -> None:
    first, second = (record_of(evidence, f"host-port-{index:04}") for index in range(2))
    second.nodes = list(first.nodes)

    check = failing(evidence)

    assert check.what == "no Node carries more than it has"
    assert check.found == f"{first.node}: host port 8080 twice"


def test_more_pods_than_a_node_takes(evidence: Evidence) -> None:
    node = node_of("large")
    for index in range(110):
        record_of(evidence, f"plain-{index:04}").nodes = [node.name]

    check = failing(evidence)

    assert check.what == "no Node carries more than it has"
    assert f"{node.name}: 11" in check.found
    assert check.found.endswith(" Pods of 110")


@pytest.mark.parametrize(
    ("name", "pool", "zone"),
    [
        ("plain-0000", "gpu", ""),
        ("plain-0000", "batch", ""),
        ("plain-0000", "cordoned", ""),
        ("node-selector-0000", "small", ""),
        ("required-affinity-0000", "large", "zone-c"),
        ("tolerations-0000", "small", ""),
        ("gpu-0000", "large", ""),
    ],
)
def test_a_pod_where_its_spec_forbids(evidence: Evidence, name: str, pool: str, zone: str) -> None:
    node = node_of(pool, zone)
    record_of(evidence, name).nodes = [node.name]

    # A GPU that isn't there is more than the Node has, too.
    failed = {check.what: check.found for check in judge(evidence) if not check.is_met}

    assert failed["each Pod is on a Node that its spec allows"] == f"{name} on {node.name}"


def test_a_node_that_does_not_exist(evidence: Evidence) -> None:
    record_of(evidence, "plain-0000").nodes = ["node-9999"]

    assert failing(evidence).found == "plain-0000 on node-9999"


def test_an_event_that_never_came(evidence: Evidence) -> None:
    refusals = {"nowhere-0000": REFUSALS["nowhere-0000"]}

    check = failing(dataclasses.replace(evidence, refusals=refusals))

    assert check.found == "too-large-0000: no FailedScheduling event"


def test_an_event_with_another_text(evidence: Evidence) -> None:
    note = "0/100 nodes are available: 100 Insufficient cpu."

    check = failing(dataclasses.replace(evidence, refusals={**REFUSALS, "too-large-0000": note}))

    assert check.what == "Pods that fit nowhere are told why"
    assert note in check.found


def test_what_preemption_says_may_follow(evidence: Evidence) -> None:
    note = REFUSALS["too-large-0000"] + " preemption: 0/100 nodes are available: ..."
    evidence = dataclasses.replace(evidence, refusals={**REFUSALS, "too-large-0000": note})

    assert all(check.is_met for check in judge(evidence))


def test_numbers_are_not_checked_where_nodes_were_not_always_ready(evidence: Evidence) -> None:
    note = REFUSALS["too-large-0000"].replace("20 node", "21 node").replace("79 Ins", "78 Ins")
    evidence = dataclasses.replace(
        evidence,
        refusals={**REFUSALS, "too-large-0000": note},
        lapsed_nodes=frozenset(["node-0000"]),
    )

    assert all(check.is_met for check in judge(evidence))

    without_reason = {**REFUSALS, "too-large-0000": "0/100 nodes are available: 100 Too many pods."}
    check = failing(dataclasses.replace(evidence, refusals=without_reason))

    assert check.what == "Pods that fit nowhere are told why"


def test_counts_in_a_refusal_are_sorted_as_text() -> None:
    nodes = [
        *[PlannedNode("a", POOL_BY_NAME["small"], "zone-a")] * 10,
        *[PlannedNode("b", POOL_BY_NAME["batch"], "zone-a")] * 9,
    ]

    assert expected_refusal(SHAPE_BY_NAME["too-large"], nodes) == (
        "0/19 nodes are available: 10 Insufficient cpu, 9 node(s) had untolerated taint(s)."
    )


def with_takeover(evidence: Evidence, seconds: float, *, is_bound: bool) -> Evidence:
    record = PodRecord(
        name="after-leader",
        shape="after-leader",
        created_seconds=100.0,
        nodes=["node-0000"] if is_bound else [],
        bound_seconds=100.0 + seconds if is_bound else None,
    )
    return dataclasses.replace(
        evidence,
        records=[*evidence.records, record],
        accepted_binding_count=498 + is_bound,
        takeover_seconds=seconds,
    )


def test_a_takeover_in_time(evidence: Evidence) -> None:
    assert all(check.is_met for check in judge(with_takeover(evidence, 14.2, is_bound=True)))


def test_a_takeover_too_late(evidence: Evidence) -> None:
    check = failing(with_takeover(evidence, 17.1, is_bound=True))

    assert check == Check("another replica binds within 17 s of the leader's end", False, "17.1 s")


def test_no_takeover(evidence: Evidence) -> None:
    failed = {
        check.what: check.found
        for check in judge(with_takeover(evidence, math.inf, is_bound=False))
        if not check.is_met
    }

    assert failed == {
        "every Pod that fits somewhere is bound": "1 of 1 after-leader missing",
        "another replica binds within 17 s of the leader's end": "no Pod was bound",
    }


def test_the_pod_after_the_leader_is_not_expected_if_it_lives(evidence: Evidence) -> None:
    surplus = with_takeover(evidence, 14.2, is_bound=True)

    check = failing(dataclasses.replace(surplus, takeover_seconds=None))

    assert check.what == "nothing else is bound"
