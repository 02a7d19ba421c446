"""Counts of Pods by query follow every Pod, and are kept no longer than somebody asks."""

import gc
from random import Random

import numpy as np
import pytest

from scheduler_svc.core import pod_counts
from scheduler_svc.core.affinity_objects import LabelRequirement
from scheduler_svc.core.changes import ChangeLog
from scheduler_svc.core.label_selectors import EVERYTHING, Selector
from scheduler_svc.core.labels import LabelColumn
from scheduler_svc.core.pod_counts import (
    DomainSums,
    PodCounts,
    PodQuery,
    PodTerm,
    Tally,
    decode_changes,
)
from scheduler_svc.core.pods import PodInfo
from tests.builders import make_pod_info


def selects(key: str, operator: str, *values: str) -> Selector:
    return Selector((LabelRequirement(key, operator, values),))


IS_WEB = selects("app", "In", "web")
WEB_HERE = PodQuery((PodTerm(frozenset({"default"}), IS_WEB),))
WEB = make_pod_info(labels={"app": "web"})
DB = make_pod_info(labels={"app": "db", "rev": "1"})
BARE = make_pod_info()
GOING = make_pod_info(labels={"app": "web"}, is_terminating=True)
ELSEWHERE = make_pod_info(labels={"app": "web"}, namespace="elsewhere")
PODS = {"web": WEB, "db": DB, "bare": BARE, "going": GOING, "elsewhere": ELSEWHERE}


@pytest.mark.parametrize(
    ("terms", "counts_terminating", "expected"),
    [
        ([PodTerm(None, EVERYTHING)], True, "web db bare going elsewhere"),
        ([PodTerm(None, EVERYTHING)], False, "web db bare elsewhere"),
        ([PodTerm(None, IS_WEB)], True, "web going elsewhere"),
        ([PodTerm(frozenset({"default"}), IS_WEB)], True, "web going"),
        ([PodTerm(frozenset({"default"}), IS_WEB)], False, "web"),
        ([PodTerm(frozenset({"elsewhere", "other"}), IS_WEB)], True, "elsewhere"),
        ([PodTerm(frozenset({"default", "elsewhere"}), IS_WEB)], True, "web going elsewhere"),
        ([PodTerm(frozenset(), EVERYTHING)], True, ""),
        ([PodTerm(None, selects("app", "In", "db", "web"))], False, "web db elsewhere"),
        ([PodTerm(None, selects("app", "In"))], True, ""),
        ([PodTerm(None, selects("app", "NotIn", "web"))], True, "db bare"),
        ([PodTerm(None, selects("rev", "Exists"))], True, "db"),
        ([PodTerm(None, selects("rev", "DoesNotExist"))], False, "web bare elsewhere"),
        (
            [PodTerm(None, IS_WEB), PodTerm(frozenset({"elsewhere"}), EVERYTHING)],
            True,
            "elsewhere",
        ),
        ([PodTerm(None, EVERYTHING), PodTerm(None, selects("rev", "In", "1"))], True, "db"),
    ],
)
def test_what_a_query_counts(terms: list[PodTerm], counts_terminating: bool, expected: str) -> None:
    """Whether it is asked before the Pods come or after."""
    query = PodQuery(tuple(terms), counts_terminating)
    early, late = PodCounts(5), PodCounts(5)
    counter = early.counter(query)
    for row, pod in enumerate(PODS.values()):
        early.count(pod, row, 1)
        late.count(pod, row, 1)
    wanted = [int(name in expected.split()) for name in PODS]
    assert counter.tally.counts.tolist() == wanted
    assert late.counter(query).tally.counts.tolist() == wanted
    assert counter.tally.total == late.counter(query).tally.total == sum(wanted)
    found = [
        query.matches(p.namespace, dict(p.labels), is_terminating=p.is_terminating)
        for p in PODS.values()
    ]
    assert found == [bool(count) for count in wanted]
    for row, pod in enumerate(PODS.values()):
        early.count(pod, row, -1)
    assert not counter.tally.counts.any()
    assert dict(early.held()) == {}


def test_pods_come_and_go_on_several_nodes() -> None:
    counts = PodCounts(3)
    tally = counts.counter(WEB_HERE).tally
    # Nobody holds the counter any more, but as long as there are few it goes on.
    for row in (0, 1, 1, 2):
        counts.count(WEB, row, 1)
    counts.count(WEB, 1, -1)
    assert tally.counts.tolist() == [1, 1, 1]
    assert dict(counts.held()) == {("default", WEB.labels, False): {0: 1, 1: 1, 2: 1}}
    assert counts.counter(WEB_HERE).tally is tally
    counts.count(WEB, 1, -1)
    assert tally.counts.tolist() == [1, 0, 1]
    assert dict(counts.held()) == {("default", WEB.labels, False): {0: 1, 2: 1}}


def test_a_query_has_one_counter() -> None:
    counts = PodCounts(1)
    counter = counts.counter(WEB_HERE)
    again = counts.counter(PodQuery((PodTerm(frozenset({"default"}), IS_WEB),)))
    assert again is counter


def test_each_change_is_logged() -> None:
    tally = Tally(4)
    tally.add(2, 1)
    tally.add(3, 2)
    tally.add(2, -1)
    changes = tally.log.since(0)
    assert changes is not None
    rows, signs = decode_changes(changes)
    assert list(zip(rows.tolist(), signs.tolist(), strict=True)) == [
        (2, 1),
        (3, 1),
        (3, 1),
        (2, -1),
    ]
    assert (tally.counts.tolist(), tally.total) == ([0, 0, 0, 2], 2)


def test_counts_have_room_for_more_nodes() -> None:
    counts = PodCounts(2)
    counter = counts.counter(WEB_HERE)
    counts.count(WEB, 1, 1)
    counts.grow(4)
    counts.count(WEB, 3, 1)
    assert counter.tally.counts.tolist() == [0, 1, 0, 1]
    everything = counts.counter(PodQuery((PodTerm(None, EVERYTHING),)))
    assert everything.tally.counts.tolist() == [0, 1, 0, 1]


def numbered(number: int) -> tuple[PodQuery, PodInfo]:
    query = PodQuery((PodTerm(None, selects("number", "In", str(number))),))
    return query, make_pod_info(labels={"number": str(number), "app": "web"})


def test_counts_that_nobody_holds_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_counts, "_SPARE_TALLIES", 4)
    counts = PodCounts(1)
    held = counts.counter(WEB_HERE)
    counts.count(WEB, 0, 1)
    dropped = []
    for number in range(20):
        query, pod = numbered(number)
        counter = counts.counter(query)
        counts.count(pod, 0, 1)
        dropped.append((counter.tally, pod))
        del counter
    gc.collect()
    before = [tally.counts[0] for tally, _ in dropped]
    for _, pod in dropped:
        counts.count(pod, 0, 1)
    followed = [int(t.counts[0] - b) for (t, _), b in zip(dropped, before, strict=True)]
    assert 0 < sum(followed) < 10
    assert held.tally.counts.tolist() == [41]
    for number in range(20):
        query, _ = numbered(number)
        assert counts.counter(query).tally.counts.tolist() == [2]


def column_of(*values: str | None) -> LabelColumn:
    column = LabelColumn(len(values))
    for row, value in enumerate(values):
        column.set(row, value)
    return column


def summed(sums: DomainSums) -> dict[str, int]:
    assert sums.sums[-1] == 0
    return dict(zip(sums.column.values, sums.sums[:-1].tolist(), strict=True))


def test_sums_by_domain_follow_pods_and_labels() -> None:
    column, tally = column_of("a", "a", "b", None), Tally(4)
    sums = DomainSums(tally, column)
    assert sums.refresh()
    assert summed(sums) == {"a": 0, "b": 0}
    assert not sums.refresh()
    for row in (0, 1, 2, 3):
        tally.add(row, 1)
    assert sums.refresh()
    assert summed(sums) == {"a": 2, "b": 1}
    tally.add(1, -1)
    tally.add(3, 5)
    assert sums.refresh()
    assert summed(sums) == {"a": 1, "b": 1}
    column.set(3, "c")
    tally.add(2, 1)
    assert sums.refresh()
    assert summed(sums) == {"a": 1, "b": 2, "c": 6}


def test_sums_are_taken_anew_if_the_log_is_too_short() -> None:
    column, tally = column_of("a", "b"), Tally(2)
    tally.log = ChangeLog(4)
    sums = DomainSums(tally, column)
    sums.refresh()
    tally.add(1, 10)
    assert sums.refresh()
    assert summed(sums) == {"a": 0, "b": 10}
    assert sums.sums.dtype == np.int64


@pytest.mark.parametrize("seed", range(5))
def test_queries_that_come_late_count_as_those_that_were_there(seed: int) -> None:
    """However Pods came and went: what is kept to find groups by their labels stays right."""
    random, counts, rows = Random(seed), PodCounts(4), range(4)
    pods = [
        make_pod_info(f"p{n}", labels={"app": random.choice(["web", "db"]), "own": str(n)})
        for n in range(12)
    ]
    queries = [
        PodQuery((PodTerm(None, selects(key, "In", *values)),))
        for key, *values in (("app", "web"), ("own", "3", "4", "4"), ("app", "db", "web"))
    ]
    placed: dict[int, int] = {}
    for number in range(120):
        index = random.randrange(len(pods))
        if index in placed:
            counts.count(pods[index], placed.pop(index), -1)
        else:
            placed[index] = random.choice(rows)
            counts.count(pods[index], placed[index], 1)
        if number % 10 == 9:
            for query in queries:
                expected = [0] * len(rows)
                for known, row in placed.items():
                    labels = dict(pods[known].labels)
                    expected[row] += query.matches("default", labels, is_terminating=False)
                assert counts.counter(query).tally.counts.tolist() == expected
            gc.collect()
