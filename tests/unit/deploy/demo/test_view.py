"""What is shown while Pods are placed: a table where it can be redrawn, else lines."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from deploy.demo.plan import make_plan
from deploy.demo.records import PodRecord, PodState
from deploy.demo.shapes import POD_SHAPES
from deploy.demo.view import PlacementView, make_table, summarize

PLAN = make_plan(100, 500)


def record(name: str, shape: str, state: PodState, bound_seconds: float | None = None) -> PodRecord:
    nodes = [] if bound_seconds is None else ["node-0000"]
    return PodRecord(
        name=name,
        shape=shape,
        created_seconds=0.0,
        nodes=nodes,
        bound_seconds=bound_seconds,
        state=state,
    )


RECORDS = [
    record("a", "plain", PodState.RUNNING, 8.0),
    record("b", "plain", PodState.BOUND, 9.5),
    record("c", "gated", PodState.GATED),
    record("d", "nowhere", PodState.UNSCHEDULABLE),
]


@pytest.mark.parametrize(
    ("since_seconds", "rate"), [(9.9, "1"), (9.0, "1"), (6.0, "12"), (0.0, "5"), (10.0, "1")]
)
def test_the_summary_counts_bindings_by_the_time_that_has_passed(
    since_seconds: float, rate: str
) -> None:
    more = [record(f"m{n}", "plain", PodState.BOUND, 6.5) for n in range(48)]
    records = RECORDS if since_seconds > 6.0 else [*RECORDS[2:], *more]
    told = summarize(records, 10.0, since_seconds=since_seconds)
    assert told.startswith(f"{len(records)} Pods, ")
    assert told.endswith(f"1 gated, 1 unschedulable; {rate} bound a second")


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 129, 130, 200])
def test_a_shape_takes_one_line_of_the_table(width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    console.print(make_table(PLAN, RECORDS, width=width))
    lines = written(console).splitlines()

    assert len(lines) == 1 + len(POD_SHAPES)
    assert lines[1].split()[0] == "plain"
    assert "2/120" in lines[1]
    assert ("nodeSelector disktype=ssd" in lines[2]) == (width >= 130)
    assert lines[-1].rstrip().endswith("1 unschedulable")


def test_a_pipe_gets_lines_without_escapes() -> None:
    console = Console(file=io.StringIO(), soft_wrap=True)
    with PlacementView(console, PLAN) as view:
        view.show([])
        view.show(RECORDS, is_last=True)
    lines = written(console).splitlines()

    assert len(lines) == 2
    assert lines[1].endswith("bound a second")
    assert "\x1b" not in written(console)


def test_a_pipe_gets_a_line_a_second_at_most() -> None:
    console = Console(file=io.StringIO(), soft_wrap=True)
    with PlacementView(console, PLAN) as view:
        for _ in range(100):
            view.show(RECORDS)

    assert len(written(console).splitlines()) <= 2


def test_a_terminal_gets_a_table() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=140, no_color=False)
    with PlacementView(console, PLAN) as view:
        view.show(RECORDS)

    assert "what it asks for" in written(console)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colours_gets_lines(variables: dict[str, str]) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, _environ=variables)
    with PlacementView(console, PLAN) as view:
        view.show(RECORDS)

    assert "what it asks for" not in written(console)
    assert "4 Pods, 2 bound" in written(console)
