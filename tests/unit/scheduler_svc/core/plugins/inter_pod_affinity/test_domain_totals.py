"""Pods by domain, weighted: kept with every Pod that comes or goes."""

from dataclasses import dataclass

import pytest

from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.plugins.inter_pod_affinity.domain_totals import (
    _MAX_CHANGES,
    CountedTerm,
    DomainPresence,
    DomainTotals,
)
from scheduler_svc.core.pod_counts import Tally
from tests.builders import make_columns, make_node_info

ZONES = {"a1": "a", "a2": "a", "b1": "b"}


@dataclass
class Counted:
    tally: Tally


def make_nodes() -> NodeColumns:
    """Give Nodes in two zones, each with a name of its own as `host`, and one without labels."""
    nodes = [make_node_info(n, labels={"zone": z, "host": n}) for n, z in ZONES.items()]
    return make_columns([*nodes, make_node_info("bare")])


def counted(columns: NodeColumns, **pods: int) -> Counted:
    """Count Pods by Node."""
    tally = Tally(columns.capacity)
    for node, count in pods.items():
        tally.add(columns.rows[node], count)
    return Counted(tally)


def by_node(totals: DomainTotals, columns: NodeColumns) -> dict[str, int]:
    values = totals.refresh()
    return {name: int(values[row]) for name, row in columns.rows.items() if values[row]}


def test_every_pod_counts_in_the_whole_domain() -> None:
    columns = make_nodes()
    pods = counted(columns, a1=2, b1=1, bare=7)
    totals = DomainTotals(columns, [CountedTerm(pods, "zone")])
    assert by_node(totals, columns) == {"a1": 2, "a2": 2, "b1": 1}
    assert len(totals.refresh()) == columns.capacity


def test_terms_add_up() -> None:
    columns = make_nodes()
    web, db = counted(columns, a1=1), counted(columns, a1=1, b1=2)
    terms = [CountedTerm(web, "zone", 10), CountedTerm(db, "zone", -3), CountedTerm(db, "host", 5)]
    totals = DomainTotals(columns, terms)
    assert by_node(totals, columns) == {"a1": 12, "a2": 7, "b1": 4}


@pytest.mark.parametrize("count", [1, 3, _MAX_CHANGES + 1, 5000])
def test_totals_follow_the_pods(count: int) -> None:
    columns = make_nodes()
    web, db = counted(columns, a2=1), counted(columns, b1=1)
    terms = [CountedTerm(web, "zone", 2), CountedTerm(db, "host", -1), CountedTerm(web, "host")]
    totals = DomainTotals(columns, terms)
    assert by_node(totals, columns) == {"a1": 2, "a2": 3, "b1": -1}
    web.tally.add(columns.rows["a1"], count)
    assert by_node(totals, columns) == {"a1": 3 * count + 2, "a2": 2 * count + 3, "b1": -1}
    web.tally.add(columns.rows["a1"], -count)
    db.tally.add(columns.rows["b1"], -1)
    db.tally.add(columns.rows["bare"], count)
    assert by_node(totals, columns) == {"a1": 2, "a2": 3}


def test_pods_that_come_and_go_change_nothing() -> None:
    columns = make_nodes()
    web = counted(columns, a1=1)
    totals = DomainTotals(columns, [CountedTerm(web, "zone")])
    before = by_node(totals, columns)
    web.tally.add(columns.rows["b1"], 1)
    web.tally.add(columns.rows["b1"], -1)
    assert by_node(totals, columns) == before


def test_totals_follow_the_nodes() -> None:
    columns = make_nodes()
    web = counted(columns, a1=1, bare=1)
    totals = DomainTotals(columns, [CountedTerm(web, "zone"), CountedTerm(web, "host")])
    assert by_node(totals, columns) == {"a1": 2, "a2": 1}
    columns.set_node(make_node_info("a2", labels={"zone": "b", "host": "a1"}))
    assert by_node(totals, columns) == {"a1": 2, "a2": 1}
    web.tally.add(columns.rows["a2"], 1)
    assert by_node(totals, columns) == {"a1": 3, "a2": 3, "b1": 1}
    columns.set_node(make_node_info("bare", labels={"zone": "b"}))
    assert by_node(totals, columns) == {"a1": 3, "a2": 4, "b1": 2, "bare": 2}
    columns.remove_node("a1")
    assert by_node(totals, columns) == {"a2": 3, "b1": 2, "bare": 2}


def test_presence_is_a_total_that_is_not_zero() -> None:
    columns = make_nodes()
    web, db = counted(columns, a1=1), counted(columns, bare=2)
    terms = [CountedTerm(web, "zone"), CountedTerm(db, "host", 5), CountedTerm(web, "host")]
    presence = DomainPresence(columns, terms)
    row_of = columns.rows

    def present() -> set[str]:
        mask = presence.refresh()
        assert mask.tolist() == (DomainTotals(columns, terms).refresh() > 0).tolist()
        return {name for name, row in row_of.items() if mask[row]}

    assert present() == {"a1", "a2"}
    web.tally.add(row_of["a2"], 1)
    assert present() == {"a1", "a2"}
    web.tally.add(row_of["a1"], -1)
    web.tally.add(row_of["a2"], -1)
    assert present() == set()
    db.tally.add(row_of["b1"], 2)
    web.tally.add(row_of["bare"], 1)
    assert present() == {"b1"}
    db.tally.add(row_of["b1"], -1)
    assert present() == {"b1"}
    web.tally.add(row_of["a1"], 3 * _MAX_CHANGES)
    assert present() == {"a1", "a2", "b1"}
    columns.set_node(make_node_info("a2", labels={"zone": "b", "host": "b1"}))
    assert present() == {"a1", "a2", "b1"}
    columns.set_node(make_node_info("a1"))
    assert present() == {"a2", "b1"}


def test_totals_grow_with_the_rows() -> None:
    columns = make_nodes()
    web = counted(columns, a1=1)
    columns.on_growth(web.tally.grow)
    totals = DomainTotals(columns, [CountedTerm(web, "zone")])
    totals.refresh()
    for number in range(columns.capacity):
        columns.set_node(make_node_info(f"new-{number}", labels={"zone": "a"}))
    assert sum(by_node(totals, columns).values()) == 2 + number + 1


def test_nothing_counted_is_not_the_same_as_nothing_left_over() -> None:
    columns = make_nodes()
    web, nobody = counted(columns, a1=1), counted(columns)
    apart = DomainTotals(columns, [CountedTerm(web, "zone"), CountedTerm(web, "zone", -1)])
    assert by_node(apart, columns) == {}
    assert apart.is_anything_counted()
    web.tally.add(columns.rows["a1"], -1)
    web.tally.add(columns.rows["bare"], 1)
    assert by_node(apart, columns) == {}
    assert not apart.is_anything_counted()
    none = DomainTotals(columns, [CountedTerm(nobody, "zone")])
    none.refresh()
    assert not none.is_anything_counted()
    one = DomainTotals(columns, [CountedTerm(web, "zone")])
    web.tally.add(columns.rows["a1"], 1)
    one.refresh()
    assert one.is_anything_counted()


def test_the_memory_of_arrays_is_known() -> None:
    columns = make_nodes()
    web, db = counted(columns, a1=1), counted(columns, b1=1)
    terms = [CountedTerm(web, "zone"), CountedTerm(db, "zone")]
    totals, presence = DomainTotals(columns, terms), DomainPresence(columns, terms)
    assert totals.size_bytes == presence.size_bytes == 0
    totals.refresh()
    presence.refresh()
    tallies = web.tally.counts.nbytes + db.tally.counts.nbytes
    assert totals.size_bytes == 8 * columns.capacity + tallies
    # A mask, and a count for each of two zones and for Nodes in none.
    assert presence.size_bytes == columns.capacity + 4 * 3 + tallies
