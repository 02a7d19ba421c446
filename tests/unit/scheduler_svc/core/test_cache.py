"""The cache: every Pod counts once, on the Node where it was seen last."""

from collections.abc import Callable

import pytest

from scheduler_svc.core.affinity_objects import (
    LabelRequirement,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
)
from scheduler_svc.core.cache import Cache, describe
from scheduler_svc.core.columns import CPU_ROW, PODS_ROW
from scheduler_svc.core.errors import InvariantError
from scheduler_svc.core.label_selectors import Selector
from scheduler_svc.core.objects import ContainerPort
from scheduler_svc.core.pod_counts import PodQuery, PodTerm
from tests.builders import GPU, make_cache, make_node_info, make_pod_info


def milli_cpu(cache: Cache, node: str) -> int:
    """Give what Pods take of a Node."""
    columns, row = cache.columns, cache.columns.rows[node]
    cache.validate()
    return int(columns.allocatable[CPU_ROW, row] - columns.free[CPU_ROW, row])


def test_a_pod_is_counted_on_its_node() -> None:
    cache = make_cache([make_node_info("n")])
    pod = make_pod_info(node="n", requests={"cpu": 1})
    assert cache.upsert(pod) is None
    assert milli_cpu(cache, "n") == 1000
    assert pod.uid in cache
    assert len(cache) == 1
    assert cache.get(pod.uid) is pod
    assert [cached.pod for cached in cache.pods()] == [pod]
    assert not cache.is_assumed(pod.uid)
    assert cache.remove(pod.uid) is pod
    assert milli_cpu(cache, "n") == 0
    assert pod.uid not in cache
    assert cache.get(pod.uid) is None
    assert cache.remove(pod.uid) is None


def test_a_pod_is_counted_with_its_new_requests() -> None:
    cache = make_cache([make_node_info("n")])
    former = make_pod_info(node="n", requests={"cpu": 1})
    newer = make_pod_info(node="n", requests={"cpu": 3}, version="2")
    cache.upsert(former)
    assert cache.upsert(newer) is former
    assert milli_cpu(cache, "n") == 3000
    assert cache.get(former.uid) is newer


def test_a_change_of_no_interest_is_not_logged() -> None:
    cache = make_cache([make_node_info("n")])
    cache.upsert(make_pod_info(node="n"))
    position = cache.columns.usage_log.position
    cache.upsert(make_pod_info(node="n", labels={"new": ""}, version="2"))
    assert cache.columns.usage_log.position == position


def test_ports_are_held_while_the_pod_is_there() -> None:
    cache = make_cache([make_node_info("n")])
    row = cache.columns.rows["n"]
    cache.upsert(make_pod_info(node="n", ports=[ContainerPort(host_port=80, host_ip="10.0.0.1")]))
    assert cache.columns.ports.held(row) == {("TCP", 80, "10.0.0.1"): 1}
    cache.remove("uid-a")
    assert cache.columns.ports.held(row) == {}
    cache.upsert(make_pod_info(node="n", ports=[ContainerPort(host_port=81, host_ip="10.0.0.1")]))
    cache.upsert(make_pod_info(node="n", version="2"))
    assert cache.columns.ports.held(row) == {}
    cache.validate()


def test_an_assumed_pod_is_confirmed() -> None:
    cache = make_cache([make_node_info("n")])
    pod = make_pod_info(requests={"cpu": 1})
    cache.assume(pod, cache.columns.rows["n"])
    assert cache.is_assumed(pod.uid)
    assert cache.assumed_count == 1
    assert milli_cpu(cache, "n") == 1000
    # To everybody else the Pod is new.
    assert cache.upsert(make_pod_info(node="n", requests={"cpu": 1})) is None
    assert not cache.is_assumed(pod.uid)
    assert cache.assumed_count == 0
    assert milli_cpu(cache, "n") == 1000


def test_an_assumed_pod_that_is_seen_elsewhere_is_moved() -> None:
    cache = make_cache([make_node_info("n"), make_node_info("other")])
    pod = make_pod_info(requests={"cpu": 1})
    cache.assume(pod, cache.columns.rows["n"])
    assert cache.upsert(make_pod_info(node="other", requests={"cpu": 1})) is None
    assert milli_cpu(cache, "n") == 0
    assert milli_cpu(cache, "other") == 1000
    assert cache.assumed_count == 0
    assert not cache.forget(pod.uid)
    assert milli_cpu(cache, "other") == 1000


def test_an_assumption_is_forgotten_once() -> None:
    cache = make_cache([make_node_info("n")])
    pod = make_pod_info(requests={"cpu": 1})
    cache.assume(pod, cache.columns.rows["n"])
    assert cache.forget(pod.uid)
    assert not cache.forget(pod.uid)
    assert milli_cpu(cache, "n") == 0
    assert cache.assumed_count == 0


def test_an_assumed_pod_may_be_deleted() -> None:
    cache = make_cache([make_node_info("n")])
    pod = make_pod_info(requests={"cpu": 1})
    cache.assume(pod, cache.columns.rows["n"])
    assert cache.assumed_node_name(pod.uid) == "n"
    removed = cache.remove(pod.uid)
    assert removed is not None
    assert (removed.uid, removed.node_name) == (pod.uid, "n")
    assert cache.assumed_count == 0
    assert cache.assumed_node_name(pod.uid) == ""
    assert milli_cpu(cache, "n") == 0


def test_nobody_is_assumed_twice() -> None:
    cache = make_cache([make_node_info("n")])
    pod = make_pod_info("a")
    cache.assume(pod, 0)
    with pytest.raises(InvariantError, match=r"default/a \(uid-a\) is assumed a second time"):
        cache.assume(pod, 0)


def test_a_pod_may_be_seen_before_its_node() -> None:
    cache = make_cache()
    cache.upsert(make_pod_info(node="n", requests={"cpu": 1, GPU: 1}))
    assert cache.columns.node_count == 0
    assert not cache.columns.live[cache.columns.rows["n"]]
    cache.set_node(make_node_info("n", cpu=4, offers={GPU: 2}))
    assert milli_cpu(cache, "n") == 1000
    row = cache.columns.rows["n"]
    assert cache.columns.free[cache.columns.resource_row(GPU), row] == 1


def test_a_node_that_comes_again_has_its_pods_still() -> None:
    cache = make_cache([make_node_info("n")], [make_pod_info(node="n", requests={"cpu": 1})])
    assert cache.remove_node("n") == make_node_info("n")
    assert not cache.columns.live.any()
    assert cache.set_node(make_node_info("n")) is None
    assert milli_cpu(cache, "n") == 1000


def test_a_row_is_given_back_when_neither_node_nor_pods_are_left() -> None:
    cache = make_cache([make_node_info("n")], [make_pod_info(node="n")])
    cache.remove_node("n")
    assert "n" in cache.columns.rows
    cache.remove("uid-a")
    assert "n" not in cache.columns.rows
    cache.set_node(make_node_info("empty"))
    cache.remove_node("empty")
    assert "empty" not in cache.columns.rows
    cache.upsert(make_pod_info(node="ghost"))
    cache.upsert(make_pod_info(node="other-ghost", version="2"))
    assert list(cache.columns.rows) == ["other-ghost"]
    cache.validate()


def test_an_unknown_node_cannot_go() -> None:
    cache = make_cache([], [make_pod_info(node="ghost")])
    assert cache.remove_node("ghost") is None
    assert cache.remove_node("unheard-of") is None
    assert list(cache.columns.rows) == ["ghost"]


def test_columns_are_described_by_names() -> None:
    cache = make_cache(
        [make_node_info("n", cpu=1, memory=10, pods=3, labels={"a": "b"})],
        [make_pod_info(node="n", requests={"cpu": "100m", "memory": 4, GPU: 1})],
    )
    assert describe(cache.columns) == {
        "n": {
            "allocatable scored cpu": 1000,
            "allocatable scored memory": 10,
            "allocatable cpu": 1000,
            "allocatable memory": 10,
            "allocatable pods": 3,
            "free scored cpu": 900,
            "free scored memory": 6,
            "free cpu": 900,
            "free memory": 6,
            "free pods": 2,
            f"free {GPU}": -1,
            "live": True,
            "unschedulable": False,
            "taints": (),
            "ports": {},
            "images": frozenset(),
        }
    }


def add_usage_that_nobody_has(cache: Cache) -> None:
    cache.columns.free[PODS_ROW, 0] -= 1


def add_a_node_that_nobody_knows(cache: Cache) -> None:
    cache.columns.row_for("nobody's")


def hold_a_term_twice(cache: Cache) -> None:
    term = PodAffinityTerm("zone", LabelSelector())
    pod = make_pod_info(node="n", away=PodAffinity((term,)))
    cache.cluster.affinity_terms.count(pod, 0, 1)


def count_one_assumed_too_many(cache: Cache) -> None:
    cache.assumed_count += 1


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (add_usage_that_nobody_has, "the columns differ from a recount"),
        (add_a_node_that_nobody_knows, "the columns differ from a recount"),
        (hold_a_term_twice, "the holders of affinity terms differ from a recount"),
        (count_one_assumed_too_many, "the count of assumed Pods is wrong"),
    ],
)
def test_validation_finds_what_is_wrong(spoil: Callable[[Cache], None], message: str) -> None:
    cache = make_cache([make_node_info("n")], [make_pod_info(node="n")])
    cache.validate()
    spoil(cache)
    with pytest.raises(InvariantError, match=message):
        cache.validate()


def test_speculation_leaves_no_trace() -> None:
    cache = make_cache(
        [make_node_info("n", cpu=4)], [make_pod_info("a", node="n", requests={"cpu": 1})]
    )
    columns, row = cache.columns, cache.columns.rows["n"]
    position, present = columns.usage_log.position, cache.get("uid-a")
    assert present is not None
    with cache.speculation() as speculation:
        speculation.remove(present, row)
        speculation.add(make_pod_info("b", requests={"cpu": 3}), row)
        speculation.add(make_pod_info("c", requests={"cpu": 2}), row)
        assert columns.free[CPU_ROW, row] == -1000
    assert columns.free[CPU_ROW, row] == 3000
    assert columns.usage_log.position == position
    cache.validate()


def test_speculation_is_undone_when_it_fails() -> None:
    cache = make_cache([make_node_info("n", cpu=4)])
    row = cache.columns.rows["n"]

    def fail() -> None:
        with cache.speculation() as speculation:
            speculation.add(make_pod_info("b", requests={"cpu": 3}), row)
            raise InvariantError("on purpose")

    with pytest.raises(InvariantError, match="on purpose"):
        fail()
    assert cache.columns.free[CPU_ROW, row] == 4000
    cache.validate()


def test_pods_are_found_by_their_node() -> None:
    cache = make_cache([make_node_info("n"), make_node_info("m")])
    n, m = cache.columns.rows["n"], cache.columns.rows["m"]
    cache.upsert(make_pod_info("a", node="n"))
    cache.assume(make_pod_info("b"), n)
    assert [cached.pod.name for cached in cache.pods_on(n)] == ["a", "b"]
    assert list(cache.pods_on(m)) == []
    cache.upsert(make_pod_info("b", node="m"))
    assert [cached.pod.name for cached in cache.pods_on(m)] == ["b"]
    cache.remove("uid-a")
    assert list(cache.pods_on(n)) == []
    cache.validate()


def test_a_pod_with_new_labels_is_of_another_kind() -> None:
    cache = make_cache([make_node_info("n")], [make_pod_info("a", node="n", labels={"app": "old"})])
    new = PodQuery((PodTerm(None, Selector((LabelRequirement("app", "In", ("new",)),))),))
    counter = cache.cluster.pod_counts.counter(new)
    assert counter.tally.total == 0
    cache.upsert(make_pod_info("a", node="n", labels={"app": "new"}, version="2"))
    assert counter.tally.total == 1
    cache.validate()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda cache: cache.cluster.pod_counts.count(make_pod_info("x"), 0, 1), "counts of Pods"),
        (lambda cache: cache._pods_by_row[0].clear(), "Pods of each Node"),
    ],
)
def test_wrong_counts_are_found(spoil: Callable[[Cache], None], message: str) -> None:
    cache = make_cache([make_node_info("n")], [make_pod_info("a", node="n")])
    spoil(cache)
    with pytest.raises(InvariantError, match=message):
        cache.validate()


def test_whether_there_is_anybody_less_important() -> None:
    cache = make_cache([make_node_info("n")], [make_pod_info("a", node="n", priority=5)])
    assert not cache.has_less_important(5)
    assert cache.has_less_important(6)
    cache.upsert(make_pod_info("a", node="n", priority=7))
    cache.validate()
    assert not cache.has_less_important(6)
    aside = cache.set_aside("uid-a")
    assert not cache.has_less_important(9)
    cache.bring_back(aside)
    assert cache.has_less_important(9)
    cache.remove("uid-a")
    cache.validate()
    assert not cache.has_less_important(9)


def test_priorities_counted_wrongly_are_found() -> None:
    cache = make_cache([make_node_info("n")], [make_pod_info("a", node="n")])
    cache._priorities[3] += 1
    with pytest.raises(InvariantError, match="the counts of priorities differ from a recount"):
        cache.validate()
