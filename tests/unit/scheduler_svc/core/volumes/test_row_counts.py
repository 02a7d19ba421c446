"""Sparse counts by key and row."""

from scheduler_svc.core.volumes.row_counts import RowCounts


def test_what_occurs_nowhere_takes_no_memory() -> None:
    counts = RowCounts[str]()
    assert counts.add("a", 3, 2) == 2
    assert counts.add("a", 5, 1) == 1
    assert set(counts.rows("a")) == {3, 5}
    assert counts.add("a", 5, -1) == 0
    assert set(counts.rows("a")) == {3}
    assert counts.add("a", 3, -2) == 0
    assert counts.by_key == {}
    assert not counts.rows("a")
