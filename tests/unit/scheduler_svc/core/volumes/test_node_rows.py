"""Rows of Nodes by their labels."""

import numpy as np
import pytest

from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.volumes.node_rows import Conjunction, NodeRows
from tests.builders import make_columns, make_node_info, where


class Owner:
    """Anything that can be asked for."""


NODES = [
    make_node_info("a", labels={"zone": "1", "disk": "ssd"}),
    make_node_info("b", labels={"zone": "2"}),
    make_node_info("c", labels={"zone": "1"}),
    make_node_info("d"),
]


def names(columns: NodeColumns, rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> str:
    return "".join(columns.names[row] for row in rows if row < len(columns.names))


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ([], ""),
        ([()], "abcd"),
        ([(where("zone", "In", "1"),)], "ac"),
        ([(where("zone", "In", "1", "2", "1"),)], "abc"),
        ([(where("zone", "In", "9"),)], ""),
        ([(where("zone", "In"),)], ""),
        ([(where("zone", "NotIn", "1"),)], "bd"),
        ([(where("disk", "Exists"), where("zone", "In", "1"))], "a"),
        ([(where("zone", "In", "1"), where("disk", "In", "ssd"))], "a"),
        ([(where("zone", "Exists"), where("disk", "DoesNotExist"))], "bc"),
        ([(where("zone", "In", "2"),), (where("disk", "Exists"),)], "ab"),
        ([(where("zone", "In", "1"),), (where("disk", "Exists"),)], "ac"),
    ],
)
def test_rows_of_terms(terms: list[Conjunction], found: str) -> None:
    columns = make_columns(NODES)
    rows = NodeRows(columns)
    assert names(columns, rows.rows(terms)) == found
    assert names(columns, rows.rows_for(Owner(), terms)) == found


def test_what_was_found_is_kept_until_labels_change() -> None:
    columns = make_columns(NODES)
    rows, owner, terms = NodeRows(columns), Owner(), [(where("zone", "In", "1"),)]
    first = rows.rows_for(owner, terms)
    columns.set_node(make_node_info("d", labels={"disk": "ssd"}))
    assert rows.rows_for(owner, terms) is first
    columns.set_node(make_node_info("d", labels={"zone": "1"}))
    assert names(columns, rows.rows_for(owner, terms)) == "acd"
    columns.remove_node("a")
    assert names(columns, rows.rows_for(owner, terms)) == "cd"
    columns.set_node(make_node_info("e", labels={"zone": "3"}))
    assert names(columns, rows.rows([(where("zone", "In", "3"),)])) == "e"
