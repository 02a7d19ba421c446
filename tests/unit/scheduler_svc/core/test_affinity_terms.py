"""The terms of Pods on Nodes: whom they speak of, where they are, and that none is left over."""

import gc

import pytest

from scheduler_svc.core.affinity_objects import LabelRequirement, LabelSelector
from scheduler_svc.core.affinity_terms import (
    _LOG_CAPACITY,
    AffinityTerms,
    TermKind,
    TermMatch,
)
from scheduler_svc.core.cluster_objects import ObjectStore
from scheduler_svc.core.pods import PodInfo
from tests.builders import make_pod_info
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.terms import (
    EVERY_NAMESPACE,
    NOT_TEAM_A,
    TEAM_A,
    demands,
    namespace,
    namespaces,
    prefers,
    term,
)

WEB = (("app", "web"),)
DB = (("app", "db"),)


def make_terms(store: ObjectStore | None = None) -> AffinityTerms:
    return AffinityTerms(4, ObjectStore() if store is None else store)


def kinds(match: TermMatch) -> list[tuple[TermKind, int]]:
    return [(each.term.kind, each.term.weight) for each in match.holders]


def loner(name: str = "loner", of: str = "web", space: str = "default") -> PodInfo:
    """Give a Pod that demands to be away from an app."""
    return make_pod_info(name, namespace=space, away=demands(term(of)))


def test_terms_are_known_by_kind_and_weight() -> None:
    terms = make_terms()
    pod = make_pod_info(
        near=demands(term("web")),
        away=prefers((3, term("web")), (5, term("web", "host"))),
    )
    terms.count(pod, 0, 1)
    terms.count(loner(), 1, 1)
    assert kinds(terms.match("default", WEB)) == [
        (TermKind.AFFINITY, 0),
        (TermKind.PREFERENCE, -3),
        (TermKind.PREFERENCE, -5),
        (TermKind.ANTI_AFFINITY, 0),
    ]
    assert terms.match("default", WEB).excludes
    assert terms.match("default", DB) is terms.no_terms
    assert not terms.no_terms.excludes


def test_pods_alike_in_a_term_hold_the_same() -> None:
    terms = make_terms()
    terms.count(loner("a"), 0, 1)
    terms.count(make_pod_info("b", away=demands(term("web")), priority=7), 0, 1)
    terms.count(make_pod_info("c", away=demands(term("web"), term("web"))), 3, 1)
    [(_, rows)] = terms.held()
    assert rows == {0: 2, 3: 2}
    [holders] = terms.match("default", WEB).holders
    counter = terms.counter(holders)
    assert counter.tally.counts.tolist() == [2, 0, 0, 2]
    terms.count(loner("a"), 0, -1)
    assert counter.tally.counts.tolist() == [1, 0, 0, 2]
    assert terms.counter(holders) is counter


def test_a_term_is_counted_only_while_somebody_asks() -> None:
    terms = make_terms()
    terms.count(loner(), 0, 1)
    [holders] = terms.match("default", WEB).holders
    counter = terms.counter(holders)
    del counter
    terms.count(loner(), 1, 1)
    terms.grow(6)
    assert terms.counter(holders).tally.counts.tolist() == [1, 1, 0, 0, 0, 0]


def test_counts_grow_with_the_rows() -> None:
    terms = make_terms()
    terms.count(loner(), 2, 1)
    counter = terms.counter(terms.match("default", WEB).holders[0])
    terms.grow(6)
    terms.count(loner(), 5, 1)
    assert counter.tally.counts.tolist() == [0, 0, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("own", "spaces", "selector", "expected"),
    [
        ("default", [], None, {"default"}),
        ("team-a", [], None, {"team-a"}),
        ("default", ["team-a", "gone"], None, {"team-a", "gone"}),
        ("default", [], EVERY_NAMESPACE, {"default", "team-a", "team-b", "gone"}),
        ("default", [], TEAM_A, {"team-a"}),
        ("default", ["default"], TEAM_A, {"default", "team-a"}),
        ("default", [], NOT_TEAM_A, {"default", "team-b", "gone"}),
    ],
)
def test_terms_speak_of_namespaces_by_name_or_by_their_labels_now(
    own: str, spaces: list[str], selector: LabelSelector | None, expected: set[str]
) -> None:
    terms = make_terms(namespaces(default={}, team_a={"team": "a"}, team_b={"team": "b"}))
    away = demands(term("web", namespaces=spaces, of=selector))
    terms.count(make_pod_info(namespace=own, away=away), 0, 1)
    asked = ("default", "team-a", "team-b", "gone")
    assert {name for name in asked if terms.match(name, WEB).holders} == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, set()),
        (LabelSelector(), {WEB, DB, ()}),
        (LabelSelector({"app": "web"}), {WEB}),
        (LabelSelector(match_expressions=(LabelRequirement("app", "Exists"),)), {WEB, DB}),
        (LabelSelector(match_expressions=(LabelRequirement("app", "NotIn", ("web",)),)), {DB, ()}),
        (
            LabelSelector(
                match_expressions=(
                    LabelRequirement("x", "DoesNotExist"),
                    LabelRequirement("app", "In", ("db", "web", "db")),
                )
            ),
            {WEB, DB},
        ),
    ],
)
def test_terms_are_found_by_labels(
    selector: LabelSelector | None, expected: set[tuple[tuple[str, str], ...]]
) -> None:
    terms = make_terms()
    pod = make_pod_info(away=demands(term(selector)))
    terms.count(pod, 0, 1)
    assert {
        labels for labels in (WEB, DB, ()) if terms.match("default", labels).holders
    } == expected
    terms.count(pod, 0, -1)
    assert terms.match("default", WEB) is terms.no_terms
    assert list(terms.held()) == []


def test_what_is_remembered_follows_the_terms_that_come_and_go() -> None:
    terms = make_terms()
    terms.count(loner(of="db"), 0, 1)
    assert terms.match("default", WEB) is terms.no_terms
    of_db = terms.match("default", DB)
    terms.count(loner(), 0, 1)
    assert len(terms.match("default", WEB).holders) == 1
    assert terms.match("default", DB) is of_db
    terms.count(loner("other", space="elsewhere"), 0, 1)
    assert len(terms.match("default", WEB).holders) == 1
    terms.count(loner(), 0, -1)
    assert terms.match("default", WEB) is terms.no_terms
    terms.count(loner(of="db"), 2, 1)
    assert terms.match("default", DB) is of_db


@pytest.mark.parametrize("count", [_LOG_CAPACITY, _LOG_CAPACITY + 2])
def test_what_is_remembered_is_found_anew_after_many_changes(count: int) -> None:
    terms = make_terms()
    terms.count(loner(), 0, 1)
    terms.count(loner(of="db"), 0, 1)
    of_web = terms.match("default", WEB)
    version = terms.version
    for _ in range(count // 2):
        terms.count(loner(), 0, -1)
        terms.count(loner(), 0, 1)
    assert terms.version == version + count
    assert terms.match("default", WEB) is of_web
    assert set(of_web.holders) <= set(terms.changed_since(version))
    assert list(terms.changed_since(terms.version)) == []


def test_terms_that_have_changed_are_told_once() -> None:
    terms = make_terms()
    terms.count(loner(of="db"), 0, 1)
    version = terms.version
    terms.count(loner(), 0, 1)
    terms.count(loner("second"), 1, 1)
    [holders] = terms.changed_since(version)
    assert terms.speaks_of(holders, "default", WEB)
    assert not terms.speaks_of(holders, "default", DB)
    terms.count(loner(), 0, -1)
    assert terms.changed_since(version + 1) == {}
    terms.count(loner("second"), 1, -1)
    assert list(terms.changed_since(version)) == [holders]
    assert not terms.speaks_of(holders, "default", WEB)


def test_the_labels_of_a_namespace_may_change() -> None:
    store = namespaces(team_a={"team": "a"}, team_b={"team": "b"})
    terms = make_terms(store)
    terms.count(make_pod_info(away=demands(term("web", of=TEAM_A))), 0, 1)
    assert terms.match("team-a", WEB).holders
    assert not terms.match("team-b", WEB).holders
    assert not terms.match("new", WEB).holders
    store.upsert(namespace("team-a", team="b"))
    store.upsert(namespace("team-b", team="a"))
    store.upsert(namespace("new", team="a"))
    assert not terms.match("team-a", WEB).holders
    assert terms.match("team-b", WEB).holders
    assert terms.match("new", WEB).holders
    store.delete("team-b")
    assert not terms.match("team-b", WEB).holders
    match = terms.match("new", WEB)
    store.upsert(namespace("new", team="a"))
    assert terms.match("new", WEB) is match


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler_svc.core.affinity_terms._MAX_REMEMBERED", 2)
    terms = make_terms()
    terms.count(loner(), 0, 1)
    match = terms.match("default", WEB)
    for number in range(5):
        assert terms.match("default", (("pod", str(number)),)) is terms.no_terms
    assert terms.match("default", WEB) is match


def test_terms_that_nobody_holds_are_forgotten() -> None:
    terms = make_terms()
    pod = loner(of="nobody-knows")
    terms.count(pod, 0, 1)
    assert len(terms._known) == 1
    terms.count(pod, 0, -1)
    del pod
    # The last changes are kept for those who have yet to hear of them.
    terms._changes.clear()
    gc.collect()
    assert len(terms._known) == 0
    assert len(terms._by_label) == 0


def test_a_pod_without_terms_holds_none() -> None:
    terms = make_terms()
    terms.count(make_pod_info(), 0, 1)
    assert list(terms.held()) == []
