"""The fullest Node that has room."""

import numpy as np

from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.pod_groups.fullest import emptiest_first, fullest_row
from tests.builders import GPU, make_columns, make_node_info, make_pod_info

ONE_CPU = {"cpu": "1"}


def test_the_node_with_the_least_left_is_taken() -> None:
    nodes = [make_node_info(name) for name in ("a", "b", "c")]
    columns = make_columns(nodes, [make_pod_info("x", node="b", requests=ONE_CPU)])
    totals = np.full(columns.capacity, INFEASIBLE)
    totals[:3] = 10
    requests = make_pod_info("p", requests=ONE_CPU).requests
    assert fullest_row(columns, requests, totals) == columns.rows["b"]
    totals[columns.rows["b"]] = INFEASIBLE
    totals[columns.rows["c"]] = 11
    assert fullest_row(columns, requests, totals) == columns.rows["c"]


def test_only_what_is_requested_counts() -> None:
    nodes = [
        make_node_info("a", offers={GPU: 8}),
        make_node_info("b", offers={GPU: 8}),
    ]
    pods = [
        make_pod_info("x", node="a", requests={"cpu": "3"}),
        make_pod_info("y", node="b", requests={GPU: 4}),
    ]
    columns = make_columns(nodes, pods)
    totals = np.full(columns.capacity, INFEASIBLE)
    totals[:2] = 0
    requests = make_pod_info("p", requests={GPU: 1}).requests
    assert fullest_row(columns, requests, totals) == columns.rows["b"]


def test_none_fits() -> None:
    columns = make_columns([make_node_info("a")])
    totals = np.full(columns.capacity, INFEASIBLE)
    assert fullest_row(columns, make_pod_info("p").requests, totals) is None


def test_the_scarcest_of_what_is_requested_says_how_much_room_there_is() -> None:
    nodes = [make_node_info(name, offers={GPU: 8}) for name in ("a", "b", "c")]
    pods = [
        make_pod_info("x", node="a", requests={"cpu": "3"}),
        make_pod_info("y", node="b", requests={GPU: 7}),
    ]
    columns = make_columns(nodes, pods)
    rows = np.array([columns.rows[name] for name in ("a", "b", "c")])
    for requests, names in (({GPU: 2}, "acb"), ({"cpu": "1"}, "bca"), (ONE_CPU | {GPU: 4}, "cab")):
        wanted = make_pod_info("p", requests=requests).requests
        ordered = emptiest_first(columns, wanted, rows)
        assert [columns.names[row] for row in ordered] == list(names)
