import pytest

from benchmarks.affinity_decisions import CLASS_COUNT, SHAPES, Sizes, run_shape, table_of


@pytest.fixture(autouse=True)
def untouched_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the garbage collector of the test process as it is."""
    for name in ("collect", "freeze", "set_threshold"):
        monkeypatch.setattr(f"benchmarks.affinity_decisions.gc.{name}", lambda *_: None)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_pod_finds_a_node_and_is_counted_once(shape: str) -> None:
    run = run_shape(shape, Sizes(60, 40))
    assert run.queue.count == run.bound.count == run.confirmed.count == 40
    assert (run.step.count, run.new_class_step.count) == (40 - CLASS_COUNT, CLASS_COUNT)


def test_the_goal_is_for_pods_that_want_both() -> None:
    run = run_shape("plain", Sizes(60, 40))
    table = table_of({"plain": [run], "both": [run]}, Sizes(60, 40))
    assert table.columns == ("µs of CPU a Pod", "plain", "both", "to reach (both)")
    assert [bool(row[-1]) for row in table.rows] == [True, False, False, False, False]
    assert "600 Pods on them" in table.title
