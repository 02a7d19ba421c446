"""The columns: where each Node's state is, and that it follows what happens."""

import numpy as np
import pytest

from scheduler_svc.core import columns as columns_module
from scheduler_svc.core.columns import (
    CPU_ROW,
    EPHEMERAL_STORAGE_ROW,
    FLOAT_LIMIT,
    MEMORY_ROW,
    PODS_ROW,
    SCORED_CPU,
    SCORED_MEMORY,
    UNKNOWN_ROW,
    NodeColumns,
    NodeView,
)
from scheduler_svc.core.objects import ContainerImage, Taint
from scheduler_svc.core.resources import Requests
from tests.builders import GPU, make_columns, make_node_info, make_pod_info, where

REQUESTS = Requests(
    milli_cpu=1000,
    memory_bytes=300,
    ephemeral_storage_bytes=50,
    scalars=((GPU, 2),),
    nonzero_milli_cpu=1100,
    nonzero_memory_bytes=400,
)


def test_allocatable_amounts_by_resource() -> None:
    columns = make_columns(
        [make_node_info("n", cpu=4, memory=1000, pods=9, offers={"ephemeral-storage": 70, GPU: 3})]
    )
    row = columns.rows["n"]
    expected = {
        SCORED_CPU: 4000,
        SCORED_MEMORY: 1000,
        PODS_ROW: 9,
        CPU_ROW: 4000,
        MEMORY_ROW: 1000,
        EPHEMERAL_STORAGE_ROW: 70,
        UNKNOWN_ROW: 0,
        columns.resource_row(GPU): 3,
    }
    for resource, amount in expected.items():
        assert columns.allocatable[resource, row] == amount
        assert columns.free[resource, row] == amount
        assert columns.divisors[resource, row] == max(amount, 1)
    assert columns.largest_amount == 4000
    assert columns.resource_names == ("pods", "cpu", "memory", "ephemeral-storage", GPU)
    assert columns.resource_row("unheard-of") == UNKNOWN_ROW


def test_usage_is_taken_off_and_given_back() -> None:
    columns = make_columns([make_node_info("n", cpu=4, memory=1000, pods=9)])
    row = columns.rows["n"]
    columns.add_usage(row, REQUESTS, 1)
    gpu = columns.resource_row(GPU)
    assert columns.free[:, row].tolist() == [2900, 600, 8, 3000, 700, -50, 0, -2]
    assert gpu == 7
    columns.add_usage(row, REQUESTS, -1)
    assert columns.free[:, row].tolist() == columns.allocatable[:, row].tolist()
    assert columns.usage_log.since(0) is not None
    assert columns.usage_log.position == 2


def test_vectors_are_computed_once_and_again_when_there_are_more_resources() -> None:
    columns = NodeColumns()
    vector = columns.vector(REQUESTS)
    assert columns.vector(REQUESTS) is vector
    assert vector.tolist() == [1100, 400, 1, 1000, 300, 50, 0, 2]
    columns.set_node(make_node_info(offers={"hugepages-2Mi": "4Mi"}))
    assert columns.vector(REQUESTS).tolist() == [1100, 400, 1, 1000, 300, 50, 0, 2, 0]


def test_vectors_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "_MAX_VECTORS", 2)
    columns = NodeColumns()
    vectors = [columns.vector(Requests(milli_cpu=i)) for i in range(3)]
    assert [vector[CPU_ROW] for vector in vectors] == [0, 1, 2]
    assert columns.vector(Requests(milli_cpu=0)) is not vectors[0]
    assert columns.vector(Requests(milli_cpu=2)) is vectors[2]


def test_a_node_that_changes_keeps_its_row_and_its_usage() -> None:
    former = make_node_info("n", cpu=4, offers={GPU: 3}, taints=[Taint("a", "NoSchedule")])
    newer = make_node_info("n", cpu=2, unschedulable=True)
    columns = make_columns([former], [make_pod_info(node="n", requests={"cpu": 3, GPU: 1})])
    row = columns.rows["n"]
    assert columns.set_node(newer) == former
    assert columns.rows["n"] == row
    assert columns.free[CPU_ROW, row] == -1000
    assert columns.free[columns.resource_row(GPU), row] == -1
    assert columns.allocatable[columns.resource_row(GPU), row] == 0
    assert columns.unschedulable[row]
    assert columns.taint_sets[columns.taint_codes[row]] == ()
    assert columns.node_count == 1


def test_a_node_that_did_not_change_is_no_change() -> None:
    columns = make_columns([make_node_info("n")])
    position = columns.spec_log.position
    assert columns.set_node(make_node_info("n")) == make_node_info("n")
    assert columns.spec_log.position == position
    columns.set_node(make_node_info("n", labels={"zone": "a"}))
    assert columns.spec_log.position == position + 1


def test_a_node_that_goes_leaves_the_usage_of_its_pods() -> None:
    info = make_node_info(
        "n",
        labels={"zone": "a"},
        taints=[Taint("a", "NoSchedule")],
        unschedulable=True,
        images=[ContainerImage(("app:1",), 5)],
    )
    columns = make_columns([info], [make_pod_info(node="n", requests={"cpu": 1})])
    columns.label_column("zone")
    row = columns.rows["n"]
    assert columns.remove_node("n") == info
    assert columns.free[CPU_ROW, row] == -1000
    assert not columns.live[row]
    assert not columns.unschedulable[row]
    assert columns.taint_codes[row] == 0
    assert not columns.allocatable[:, row].any()
    assert columns.images.held(row) == frozenset()
    assert columns.label_column("zone").codes[row] == -1
    assert columns.node_count == 0
    assert columns.spec_log.position == 2


def test_a_node_that_is_unknown_cannot_go() -> None:
    columns = make_columns([], [make_pod_info(node="seen-by-its-pod-only")])
    position = columns.spec_log.position
    assert columns.remove_node("unheard-of") is None
    assert columns.remove_node("seen-by-its-pod-only") is None
    assert columns.spec_log.position == position


def test_a_node_exists_while_it_is_live_and_has_a_row_for_longer() -> None:
    columns = make_columns([make_node_info("a"), make_node_info("b")])
    columns.add_usage(columns.rows["a"], REQUESTS, 1)
    columns.remove_node("a")
    assert not columns.has_node("a")
    assert columns.has_node("b")
    assert not columns.has_node("unheard-of")
    assert columns.rows_of(["b", "unheard-of", "a"]).tolist() == [
        columns.rows["b"],
        columns.rows["a"],
    ]
    assert columns.rows_of([]).tolist() == []


def test_rows_are_given_again() -> None:
    columns = make_columns([make_node_info("a"), make_node_info("b")])
    row = columns.rows["a"]
    columns.remove_node("a")
    columns.release_row(row)
    assert "a" not in columns.rows
    assert columns.row_for("c") == row
    assert columns.names[row] == "c"
    assert columns.row_for("c") == row
    assert not columns.live[row]


def test_columns_grow_by_a_half_and_keep_what_they_hold() -> None:
    columns = make_columns(
        [make_node_info(f"n{i}", labels={"zone": str(i)}, cpu=i) for i in range(64)],
        [make_pod_info("p", node="n63", requests={"cpu": 1})],
    )
    columns.label_column("zone")
    columns.ports.add(63, [("TCP", 80, "10.0.0.1")], 1)
    assert columns.capacity == 64
    columns.set_node(make_node_info("n64", labels={"zone": "63"}, cpu=64))
    assert columns.capacity == 96
    assert columns.live.tolist() == [True] * 65 + [False] * 31
    assert columns.allocatable[CPU_ROW, :65].tolist() == [1000 * i for i in range(65)]
    assert columns.free[CPU_ROW, 63:].tolist() == [62_000, 64_000] + [0] * 31
    assert columns.divisors.min() == 1
    matches = columns.label_column("zone").match(where("zone", "In", "63"), slice(None))
    assert np.flatnonzero(matches).tolist() == [63, 64]
    taken = columns.ports.free([("TCP", 80, "10.0.0.1")], slice(0, 96))
    assert taken is not None
    assert np.flatnonzero(~taken).tolist() == [63]
    for array in (columns.allocatable, columns.free, columns.room, columns.divisors):
        assert array.flags.c_contiguous


def test_labels_are_looked_up_from_their_first_use_on() -> None:
    columns = make_columns(
        [make_node_info("a", labels={"zone": "x"}), make_node_info("b")],
        [make_pod_info(node="ghost")],
    )
    column = columns.label_column("zone")
    assert columns.label_column("zone") is column
    exists = where("zone", "Exists")
    assert column.match(exists, slice(0, 3)).tolist() == [True, False, False]
    columns.set_node(make_node_info("b", labels={"zone": "y"}))
    columns.set_node(make_node_info("a"))
    assert column.match(exists, slice(0, 3)).tolist() == [False, True, False]


def test_equal_taints_have_one_code() -> None:
    taints = [Taint("a", "NoSchedule")]
    columns = make_columns([make_node_info(name, taints=taints) for name in ("a", "b")])
    assert columns.taint_codes[:2].tolist() == [1, 1]
    assert columns.taint_sets == [(), tuple(taints)]


def test_what_every_node_offers() -> None:
    columns = make_columns([make_node_info("a", offers={GPU: 1}), make_node_info("b", cpu=0)])
    gpu = columns.resource_row(GPU)
    assert columns.is_offered_everywhere((MEMORY_ROW, PODS_ROW))
    assert not columns.is_offered_everywhere((MEMORY_ROW, CPU_ROW))
    assert not columns.is_offered_everywhere((gpu,))
    columns.remove_node("b")
    assert columns.is_offered_everywhere((gpu, CPU_ROW))
    assert not columns.is_offered_everywhere((UNKNOWN_ROW,))


@pytest.mark.parametrize("rows", [slice(1, 3), np.array([2, 0])])
def test_a_view_cuts_out_its_rows(rows: slice) -> None:
    columns = make_columns(
        [make_node_info(f"n{i}", cpu=i) for i in range(3)],
        [make_pod_info(node="n2", requests={"cpu": 1})],
    )
    view = NodeView(columns, rows)
    assert view.count == 2
    assert view.free.tolist() == columns.free[:, rows].tolist()
    assert view.allocatable.tolist() == columns.allocatable[:, rows].tolist()
    assert view.divisors.tolist() == columns.divisors[:, rows].tolist()
    assert view.room.tolist() == view.free.tolist()
    assert view.room is view.room
    assert view.free is view.free
    assert view.allocatable is view.allocatable
    assert view.divisors is view.divisors


def gather_of_each(columns: NodeColumns, position: int) -> int:
    """Compare the last entry of each row used since a position with the columns; give the count."""
    rows = columns.usage_log.since(position)
    assert rows is not None
    view = columns.used_since(position, rows)
    last = {row: index for index, row in enumerate(rows.tolist())}
    for row, index in last.items():
        assert view.room[:, index].tolist() == columns.free[:, row].tolist()
        assert (
            view.divisors[:, index].tolist() == np.maximum(columns.allocatable[:, row], 1).tolist()
        )
    assert view.free.tolist() == columns.free[:, rows].tolist()
    return len(rows)


def test_amounts_of_rows_used_since_a_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "_RECENT_CHANGES", 4)
    columns = make_columns([make_node_info(f"n{i}", cpu=4 + i, memory=i) for i in range(3)])
    for count in range(1, 12):
        columns.add_usage(count % 3, REQUESTS, 1)
        # All, of which the first are kept no more; then those that are; then none.
        for position in range(columns.usage_log.position + 1):
            assert gather_of_each(columns, position) == count - position


def test_amounts_after_changes_that_have_been_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "_RECENT_CHANGES", 4)
    columns = make_columns([make_node_info(f"n{i}", cpu=4 + i) for i in range(3)])
    for undone_count in range(7):
        columns.add_usage(0, REQUESTS, 1)
        position = columns.usage_log.position
        for sign in (1, -1):
            for _ in range(undone_count):
                columns.add_usage(1, REQUESTS, sign)
        columns.usage_log.rewind(position)
        assert gather_of_each(columns, position - 1) == 1
        columns.add_usage(2, REQUESTS, 1)
        assert gather_of_each(columns, position - 1) == 2
        assert gather_of_each(columns, 0) == columns.usage_log.position


def test_amounts_where_a_resource_came_with_a_pod() -> None:
    columns = make_columns([make_node_info("n", cpu=4)])
    columns.add_usage(0, Requests(milli_cpu=1), 1)
    columns.add_usage(0, REQUESTS, 1)
    assert gather_of_each(columns, 1) == 1
    assert gather_of_each(columns, 0) == 2


def test_room_is_exact_again_after_amounts_beyond_a_float() -> None:
    columns = make_columns([make_node_info("n", memory=1001)])
    row = columns.rows["n"]
    huge = make_pod_info(requests={"memory": 2**53 - 1}).requests
    for _ in range(4):
        columns.add_usage(row, huge, 1)
    assert columns.room[MEMORY_ROW, row] < -(2**53)
    for _ in range(4):
        columns.add_usage(row, huge, -1)
    assert columns.room[MEMORY_ROW, row] == 1001


@pytest.mark.parametrize(("memory", "expected"), [(FLOAT_LIMIT - 1, True), (FLOAT_LIMIT, False)])
def test_amounts_are_exact_in_float_up_to_a_limit(memory: int, expected: bool) -> None:
    assert make_columns([make_node_info("n", memory=memory)]).is_exact_in_float is expected
