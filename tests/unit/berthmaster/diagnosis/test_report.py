"""What people see: the verdict first, then the worst, with what to type next."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace
from rich.console import Console

from berthmaster.cli.diagnosis.facts import EventGroup, Scope
from berthmaster.cli.diagnosis.judgement import judge
from berthmaster.cli.diagnosis.report import render, report_of
from tests.unit.berthmaster.diagnosis.clusters import (
    HEALTHY,
    NOW,
    node,
    pending,
    rejected,
    stopped,
)


def lines(**changes: Any) -> list[str]:
    facts = replace(HEALTHY, **changes)
    console = Console(width=200, highlight=False)
    with console.capture() as capture:
        console.print(render(facts, judge(facts)))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_what_is_wrong_is_bold_and_the_rest_is_not() -> None:
    facts = replace(HEALTHY, pending=(rejected(since=NOW - 7200),))
    console = Console(width=200, highlight=False, force_terminal=True, color_system="standard")
    with console.capture() as capture:
        console.print(render(facts, judge(facts)))
    bold = re.findall(r"\x1b\[1m([^\x1b]+)", capture.get())
    assert [text.strip() for text in bold] == [
        "1 Pod of berthmaster fits on no Node: Insufficient cpu.",
        "→ berthmaster explain pod web -n shop --lease berthmaster/berthmaster",
    ]


def test_a_healthy_cluster_is_told_in_a_few_lines() -> None:
    verdict, cluster, empty, *rest = lines()
    assert verdict == "Nothing is wrong."
    assert cluster == "https://api:6443 (v1.36.3), all namespaces"
    assert empty == ""
    assert all(line.startswith("ok  ") for line in rest)


def test_notes_are_nothing_wrong() -> None:
    first, *_ = lines(pending=(pending(gates=("q/x",)),))
    assert first == "Nothing is wrong, 1 note."


def test_the_worst_comes_first_with_the_command_to_type() -> None:
    web = rejected(since=NOW - 7200)
    gated = pending("gated", gates=("q/x",))
    told = lines(pending=(gated, web), scope=Scope(namespace="shop", scheduler_name="berthmaster"))
    assert told[:3] == [
        "1 problem, 1 note.",
        "https://api:6443 (v1.36.3), namespace shop, schedulerName berthmaster",
        "",
    ]
    why = "They wait until a Node or a Pod changes so that it may help, and are tried again"
    command = "berthmaster explain pod web -n shop --lease berthmaster/berthmaster"
    assert told[3:8] == [
        "problem  1 Pod of berthmaster fits on no Node: Insufficient cpu. (2 h)",
        "         0/2 nodes are available: 2 Insufficient cpu.",
        f"         {why} every 5 minutes.",
        "         shop/web",
        f"         → {command}",
    ]
    assert [line for line in told if line.startswith("note")] == [
        "note     1 Pod is held back by gates: q/x. (10 m)"
    ]


def test_objects_are_named_once_and_not_by_the_hundred() -> None:
    told = "\n".join(lines(stopped=(stopped("volumes"),)))
    assert told.count("shop/web") == 1
    assert "shop/web on n1: It is so." in told
    many = tuple(rejected(f"p{n:03}") for n in range(100))
    assert "shop/p000, shop/p001, shop/p002, shop/p003 and 96 more" in "\n".join(
        lines(pending=many)
    ).replace("         ", "")


def test_what_objects_are_called_cannot_write_on_the_terminal() -> None:
    evil = EventGroup(
        reason="\x1b[2J", controller="berthmaster", count=1, last=None, message="a\rb\x07"
    )
    told = "\n".join(lines(events=(evil,), nodes=(node("n1"), node("n2"))))
    assert all(character.isprintable() or character == "\n" for character in told)


def test_json_says_null_for_what_is_not_known() -> None:
    report = report_of(HEALTHY, judge(HEALTHY))
    assert report.room is not None
    assert [each.resource for each in report.room] == ["cpu", "memory", "pods"]
    assert report.time == "2027-01-15T08:00:00Z"
    for unknown in (replace(HEALTHY, usage_is_known=False), replace(HEALTHY, nodes=None)):
        assert report_of(unknown, judge(unknown)).room is None
