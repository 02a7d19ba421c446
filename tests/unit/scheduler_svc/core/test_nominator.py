"""Who has been promised room where, and who must leave it."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.pods import PodInfo
from tests.builders import make_columns, make_node_info, make_pod_info


def nominator(*nodes: str) -> Nominator:
    return Nominator(make_columns([make_node_info(name) for name in nodes]))


def pod(name: str, priority: int = 0, nominated: str = "") -> PodInfo:
    return make_pod_info(name, priority=priority, nominated=nominated)


def names(pods: object) -> list[str]:
    return [p.name for p in pods]  # type: ignore[attr-defined]


def test_a_pod_has_one_nomination() -> None:
    known = nominator("n1", "n2")
    assert known.nominate(pod("a"), "n1") == ""
    assert known.nominate(pod("a"), "n2") == "n1"
    assert known.node_name_of("uid-a") == "n2"
    assert names(known.pods_on("n1")) == []
    assert names(known.pods_on("n2")) == ["a"]
    assert len(known) == 1


def test_a_nomination_is_dropped() -> None:
    known = nominator("n1")
    known.nominate(pod("a"), "n1")
    assert known.nominate(pod("a"), "") == "n1"
    assert known.forget("uid-a") == ""
    assert len(known) == 0
    assert known.rows_respected_by(pod("b")).tolist() == []


def test_what_the_status_says_is_taken_over() -> None:
    known = nominator("n1", "n2")
    first, second = pod("a", nominated="n1"), pod("a", nominated="n2")
    known.update(None, first)
    assert known.node_name_of("uid-a") == "n1"
    assert known.update(first, second) == "n1"
    assert known.node_name_of("uid-a") == "n2"
    known.update(second, pod("a"))
    assert known.node_name_of("uid-a") == ""


def test_a_nomination_that_the_watch_has_not_told_yet_is_kept() -> None:
    known = nominator("n1")
    known.nominate(pod("a"), "n1")
    newer = pod("a")
    known.update(pod("a"), newer)
    assert known.node_name_of("uid-a") == "n1"
    assert [p is newer for p in known.pods_on("n1")] == [True]


def test_equals_and_betters_are_respected_others_not() -> None:
    known = nominator("n1")
    for name, priority in (("low", 1), ("same", 5), ("high", 9)):
        known.nominate(pod(name, priority), "n1")
    assert names(known.respected_by(pod("a", 5), "n1")) == ["same", "high"]
    assert names(known.respected_by(pod("same", 5), "n1")) == ["high"]
    assert known.respected_by(pod("a", 5), "n2") == []


def test_nodes_that_come_after_the_nomination_count() -> None:
    columns = make_columns()
    known = Nominator(columns)
    known.nominate(pod("a", 5), "n1")
    assert known.rows_respected_by(pod("b")).tolist() == []
    columns.set_node(make_node_info("n1"))
    assert known.rows_respected_by(pod("b")).tolist() == [columns.rows["n1"]]
    columns.remove_node("n1")
    assert known.rows_respected_by(pod("b")).tolist() == []


NODES = ["n0", "n1", "n2", "unknown"]


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([*NODES, ""])), max_size=30))
def test_the_rows_are_those_where_somebody_is_respected(changes: list[tuple[int, str]]) -> None:
    known = nominator("n0", "n1", "n2")
    asking = [pod(f"p{i}", i % 3) for i in range(6)] + [pod("other", 1)]
    for number, node_name in changes:
        known.nominate(asking[number], node_name)
        for asked in asking:
            expected = [row for row in range(3) if known.respected_by(asked, f"n{row}")]
            assert known.rows_respected_by(asked).tolist() == expected
