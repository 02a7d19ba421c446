"""The comparison sees every kind of difference, and shrinking keeps what shows one."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.parity.comparison import Answer, Comparison
from tests.parity.fresh import RandomConfiguration
from tests.parity.generator.families import FAMILIES, snapshot
from tests.parity.recorded import Explainer, cases, read_configuration
from tests.parity.shrinking import shrink

NOTHING_MISSING = frozenset[str]()


def change_share(answer: Answer) -> None:
    node = next(node for node in answer["nodes"].values() if "scores" in node)
    node["scores"]["NodeResourcesFit"] += 1


def change_total(answer: Answer) -> None:
    next(node for node in answer["nodes"].values() if "scores" in node)["total"] += 1


def change_reason(answer: Answer) -> None:
    next(node for node in answer["nodes"].values() if "code" in node)["reasons"] = ["another"]


def change_code(answer: Answer) -> None:
    next(node for node in answer["nodes"].values() if "code" in node)["code"] = "Error"


def forget_node(answer: Answer) -> None:
    answer["nodes"].popitem()


def change_best(answer: Answer) -> None:
    answer["best"] = ["another"]


def add_error(answer: Answer) -> None:
    answer["error"] = "failed"


@pytest.mark.parametrize(
    "change",
    [
        change_share,
        change_total,
        change_reason,
        change_code,
        forget_node,
        change_best,
        add_error,
    ],
)
def test_differences_are_seen(change: Callable[[Answer], None]) -> None:
    case = next(iter(cases("resources")))
    comparison = Comparison(case.items, NOTHING_MISSING)
    theirs = next(
        answer
        for answer in case.answers
        if {len(node) for node in answer.get("nodes", {}).values()} == {2, 3}
    )
    comparison.compare(theirs, deepcopy(theirs))
    ours = deepcopy(theirs)
    change(ours)
    with pytest.raises(AssertionError):
        comparison.compare(theirs, ours)


@pytest.mark.parametrize("field", ["code", "message", "victims", "nominatedNodeName"])
def test_differences_in_what_would_make_room_are_seen(field: str) -> None:
    case, theirs = next(
        (case, answer)
        for case in cases("preemption")
        for answer in case.answers
        if answer.get("postFilter", {}).get("victims")
    )
    ours = deepcopy(theirs)
    ours["postFilter"][field] = [] if field == "victims" else "another"
    with pytest.raises(AssertionError):
        Comparison(case.items, NOTHING_MISSING).compare(theirs, ours)


def test_where_the_search_ends_early_any_victims_will_do() -> None:
    case, theirs = next(
        (case, answer)
        for case in cases("preemption")
        for answer in case.answers
        if answer.get("postFilter", {}).get("victims")
    )
    comparison = Comparison(case.items, NOTHING_MISSING, takes_any_candidate=True)
    ours = deepcopy(theirs)
    ours["postFilter"] |= {"nominatedNodeName": "another", "victims": ["default/another"]}
    comparison.compare(theirs, ours)
    ours["postFilter"]["victims"] = []
    with pytest.raises(AssertionError):
        comparison.compare(theirs, ours)


def test_a_share_of_0_is_none_of_a_plugin_that_only_scores() -> None:
    theirs = {"pod": "a/b", "nodes": {"n": {"scores": {"NodeAffinity": 0, "X": 0}, "total": 0}}}
    ours = {"pod": "a/b", "nodes": {"n": {"scores": {"X": 0}, "total": 0}}}
    Comparison([], NOTHING_MISSING, scoring_alone=frozenset({"NodeAffinity"})).compare(theirs, ours)
    with pytest.raises(AssertionError):
        Comparison([], NOTHING_MISSING).compare(theirs, ours)


@pytest.mark.parametrize("seed", range(40))
def test_random_configurations_are_taken_and_the_same_each_time(seed: int, tmp_path: Path) -> None:
    made = RandomConfiguration(seed, tmp_path)
    text = made.path.read_text()
    explainer = Explainer(read_configuration(made.path))
    [(family, items)] = made.snapshots(1)
    assert len(explainer.answers(items)) == len([i for i in items if is_waiting(i)])
    again = RandomConfiguration(seed, tmp_path)
    assert again.path.read_text() == text
    assert list(again.snapshots(1)) == [(family, items)]


def is_waiting(item: dict[str, Any]) -> bool:
    if item["kind"] != "Pod" or "nodeName" in item["spec"]:
        return False
    return item["status"].get("phase") not in ("Succeeded", "Failed")


def test_a_snapshot_is_shrunk_to_what_shows_it() -> None:
    items = snapshot("mixed", 3)

    def shows(candidates: list[dict[str, Any]]) -> bool:
        has_node = any(item["kind"] == "Node" for item in candidates)
        return has_node and any(
            item["kind"] == "Pod" and item["metadata"]["name"] == "new2" for item in candidates
        )

    assert shows(items)
    smallest = shrink(items, shows)
    assert [item["kind"] for item in smallest] == ["Node", "Pod"]
    assert smallest[1]["spec"] == {}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_gives_the_same_snapshot(family: str) -> None:
    assert snapshot(family, 7) == snapshot(family, 7)
    assert snapshot(family, 7) != snapshot(family, 8)
