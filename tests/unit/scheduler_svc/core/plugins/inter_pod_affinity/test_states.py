"""What the plugin keeps of a class answers rightly for Pods that are only supposed to be there."""

import pytest

from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import judge
from scheduler_svc.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_svc.core.pods import PodInfo
from tests.builders import make_pod_info
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.asking import (
    FAR,
    NEAR,
    NOTHING,
    UNWANTED,
    Answer,
    Asked,
    new,
    running,
)
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.terms import demands, prefers, term


def test_single_rows_are_judged_while_pods_are_counted_that_are_not_there() -> None:
    asked = Asked(running("web", "a1"), running("db", "b1", away=demands(term("new"))))
    pod = new(away=demands(term("web")))
    prepared = prepare(asked.profile, pod, asked.cluster)
    columns = asked.cluster.columns

    def answer() -> Answer:
        return asked.by_name(judge(prepared, columns))

    before = answer()
    assert before == {"a1": NEAR, "a2": NEAR, "b1": UNWANTED, "bare": None}
    with asked.cache.speculation() as speculation:
        speculation.remove(running("web", "a1"), columns.rows["a1"])
        assert answer() == {"a1": None, "a2": None, "b1": UNWANTED, "bare": None}
        speculation.add(running("web", "b1"), columns.rows["b1"])
        assert answer()["b1"] == NEAR
        guest = running("guest", "a2", away=demands(term("new", "host"), term("none", "host")))
        speculation.add(guest, columns.rows["a2"])
        assert answer() == {"a1": None, "a2": UNWANTED, "b1": NEAR, "bare": None}
    assert answer() == before


def test_pods_that_upstream_skips_are_not_kept_from_pods_that_may_come() -> None:
    """Where PreFilter skips, upstream takes no account of nominated Pods."""
    asked = Asked(running("x", "a1", near=prefers((1, term("new")))))
    pod = new()
    asked(pod)
    kept = asked.classes.evaluation(pod).prepared
    with asked.cache.speculation() as speculation:
        guest = running("guest", "a2", away=demands(term("new", "host")))
        speculation.add(guest, asked.cluster.columns.rows["a2"])
        assert kept.filters == []
    unlabelled = Asked(running("x", "bare", away=demands(term("new", "host"))))
    prepared = prepare(unlabelled.profile, pod, unlabelled.cluster)
    rows = unlabelled.cluster.columns.rows
    with unlabelled.cache.speculation() as speculation:
        speculation.add(guest, rows["a2"])
        verdict = judge(prepared, unlabelled.cluster.columns)
        assert unlabelled.by_name(verdict) == NOTHING


def test_a_guest_may_be_all_that_is_in_the_way() -> None:
    asked = Asked(running("db", "a1"))
    pod = new(near=demands(term("db")))
    prepared = prepare(asked.profile, pod, asked.cluster)
    with asked.cache.speculation() as speculation:
        guest = running("guest", "a2", away=demands(term("new", "host")))
        speculation.add(guest, asked.cluster.columns.rows["a2"])
        answer = asked.by_name(judge(prepared, asked.cluster.columns))
    assert answer == {"a1": None, "a2": UNWANTED, "b1": FAR, "bare": FAR}


def test_away_and_guest_without_terms_of_its_own() -> None:
    asked = Asked(running("x", "a1", away=demands(term("new", "host"))))
    prepared = prepare(asked.profile, new(), asked.cluster)
    with asked.cache.speculation() as speculation:
        columns = asked.cluster.columns
        speculation.remove(running("x", "a1"), columns.rows["a1"])
        guest = running("guest", "a2", away=demands(term("new"), term("else")))
        speculation.add(guest, columns.rows["a2"])
        answer = asked.by_name(judge(prepared, columns))
    assert answer == {"a1": UNWANTED, "a2": UNWANTED, "b1": None, "bare": None}


def test_guests_are_judged_for_the_pod_that_is_asked_about() -> None:
    """Pods share a class that differ in labels; only a guest may tell them apart."""
    asked = Asked()

    def replica(number: str) -> PodInfo:
        labels = {"app": number}
        return make_pod_info(f"r{number}", labels=labels, away=demands(term("x", "host")))

    first, second = replica("1"), replica("2")
    guest = running("guest", "a2", away=demands(term("2", "host")))
    rows = asked.cluster.columns.rows
    for pod, expected in ((first, None), (second, UNWANTED), (first, None)):
        prepared = asked.classes.evaluation(pod).prepared
        with asked.cache.speculation() as speculation:
            speculation.add(guest, rows["a2"])
            answer = asked.by_name(judge(prepared, asked.cluster.columns))
        assert answer["a2"] == expected
    assert asked.classes.statistics().class_count == 1


@pytest.mark.parametrize(
    ("pod", "other", "expected"),
    [
        (new(near=demands(term("web"))), running("web", "a1"), True),
        (new(near=demands(term("web"))), running("db", "a1"), False),
        (new(away=demands(term("web"))), running("web", "a1"), True),
        (new(away=demands(term("web"))), running("db", "a1"), False),
        # It may demand to be away from the Pod.
        (new(away=demands(term("web"))), running("db", "a1", away=demands(term("x"))), True),
        (new("shunned"), running("db", "a1", away=demands(term("x"))), True),
        (new("shunned"), running("db", "a1", near=demands(term("x"))), False),
    ],
)
def test_pods_that_may_change_the_answer(pod: PodInfo, other: PodInfo, expected: bool) -> None:
    asked = Asked(running("y", "b1", away=demands(term("shunned"))))
    [(plugin, state)] = prepare(asked.profile, pod, asked.cluster).filters
    assert plugin.is_concerned_by(state, other) is expected


def test_what_is_kept_counts_as_memory_of_the_class() -> None:
    asked = Asked(running("web", "a1", near=prefers((1, term("new")))))
    capacity = asked.cluster.columns.capacity

    def size_bytes(pod: PodInfo) -> int:
        return asked.classes.evaluation(pod).size_bytes

    plain, drawn, lonely = size_bytes(new("plain")), size_bytes(new()), make_lonely()
    # Totals of 8 bytes and counts of 4.
    assert drawn >= plain + 12 * capacity
    # Beside these a mask, and counts of Pods and of domains.
    assert size_bytes(lonely) >= drawn + 9 * capacity


def make_lonely() -> PodInfo:
    return new(near=demands(term("web")), away=demands(term("x", "host")))


def test_no_weight_no_memory() -> None:
    asked = Asked(
        running("web", "a1", near=demands(term("new"))),
        plugin=InterPodAffinity(hard_pod_affinity_weight=0),
    )
    assert asked(new()) == NOTHING
    assert asked.classes.evaluation(new()).size_bytes > 0
