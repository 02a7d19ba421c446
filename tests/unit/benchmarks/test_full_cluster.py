"""Decisions in a cluster that is full already: every Pod finds a Node and is counted once."""

import pytest

from benchmarks import affinity_decisions, spread_decisions
from benchmarks.full_cluster import (
    CLASS_COUNT,
    FullClusterResult,
    Shape,
    Sizes,
    full_cluster_table,
    plain,
    run_shape,
)

SHAPES = {**affinity_decisions.SHAPES, **spread_decisions.SHAPES}


@pytest.fixture(autouse=True)
def untouched_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the garbage collector of the test process as it is."""
    for name in ("collect", "freeze", "set_threshold"):
        monkeypatch.setattr(f"benchmarks.full_cluster.gc.{name}", lambda *_: None)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=lambda shape: shape.__qualname__)
def test_every_pod_finds_a_node_and_is_counted_once(shape: Shape) -> None:
    run = run_shape(shape, Sizes(60, 40))
    assert run.queue.count == run.bound.count == run.confirmed.count == 40
    assert (run.step.count, run.new_class_step.count) == (40 - CLASS_COUNT, CLASS_COUNT)


def test_the_goal_is_for_the_last_shape() -> None:
    run = run_shape(plain, Sizes(60, 40))
    result = FullClusterResult(
        subject="Pods",
        goal_microseconds=120,
        sizes=Sizes(60, 40),
        runs={"plain": (run,), "both": (run,)},
        quietness=(),
    )
    table = full_cluster_table(result)
    assert table.columns == ("µs of CPU a Pod", "plain", "both", "to reach (both)")
    assert [bool(row[-1]) for row in table.rows] == [True, False, False, False, False]
    assert "600 Pods on them" in table.title


def test_the_goals_are_those_that_were_agreed_on() -> None:
    spread, affinity = spread_decisions.SPREAD_DECISIONS, affinity_decisions.AFFINITY_DECISIONS
    assert (spread.goal_microseconds, affinity.goal_microseconds) == (120, 200)
    assert (list(spread.shapes)[-1], list(affinity.shapes)[-1]) == (
        "hard by zone, soft by host",
        "both",
    )
    assert (Sizes().node_count, CLASS_COUNT) == (5_000, 20)
