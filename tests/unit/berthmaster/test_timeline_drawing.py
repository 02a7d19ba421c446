"""Bars that a person can read, on a terminal and in a pipe."""

import pytest
from msgspec.structs import replace
from rich.console import Console

from berthmaster.cli.timeline_drawing import (
    MOST_BAR_COLUMNS,
    Layout,
    bar,
    render,
)
from berthmaster.cli.timeline_words import format_seconds
from node_agent.core.journey.clock_skew import SkewEstimate
from node_agent.core.journey.journey import FileTimes, Journey, identify
from node_agent.core.journey.timeline import SegmentView, StepView, Timeline, timeline_of
from node_agent.core.objects import Pod
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.journey.stages import nanoseconds
from tests.unit.node_agent.core.journey.test_pulls import PRESENT, pulled
from tests.unit.node_agent.core.pods import make_pod

COLUMNS = MOST_BAR_COLUMNS
BLOCKS = Layout.of(200)
ASCII = Layout.of(200, is_ascii=True)


def drawn(timeline: Timeline, columns: int = 160) -> str:
    console = Console(width=columns, no_color=True)
    with console.capture() as capture:
        console.print(render(timeline, "the agent ns/agent-x", console))
    return "\n".join(line.rstrip() for line in capture.get().split("\n"))


def journey_of(pod: Pod) -> Journey:
    return Journey(identify(pod, "api"))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0"),
        (1e-9, "0"),
        (0.000025, "25 µs"),
        (0.0125, "12.5 ms"),
        (0.9996, "1 s"),
        (1.254, "1.25 s"),
        (40.04, "40 s"),
        (99.94, "99.9 s"),
        (100, "1 m 40 s"),
        (3725, "1 h 2 m"),
        (3 * 86400 + 7200, "3 d 2 h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_a_bar_stands_where_its_time_was() -> None:
    assert bar(0, 10, 10, BLOCKS) == "█" * COLUMNS
    assert bar(5, 5, 10, BLOCKS) == " " * (COLUMNS // 2) + "█" * (COLUMNS // 2)
    assert bar(0, 10, 20, ASCII) == "#" * (COLUMNS // 2)
    assert bar(0, 0.001, 10, BLOCKS) == "▏"
    assert bar(0, 0.001, 10, ASCII) == "#"


@pytest.mark.parametrize(("begin", "seconds", "total"), [(0, 0, 10), (0, -1, 10), (0, 1, 0)])
def test_what_took_no_time_has_no_bar(begin: float, seconds: float, total: float) -> None:
    assert bar(begin, seconds, total, BLOCKS) == ""


@pytest.mark.parametrize("begin", [0.0, 3.3, 9.99, 10.0])
def test_no_bar_is_longer_than_its_column(begin: float) -> None:
    assert len(bar(begin, 10 - begin + 0.01, 10, BLOCKS)) <= COLUMNS


def test_a_whole_way() -> None:
    journey = journey_of(stages.bound(spec={"containers": [{"name": "c"}], "schedulerName": "gpu"}))
    journey.observe(stages.bound(), nanoseconds(2.13))
    journey.observe(stages.with_sandbox(), nanoseconds(3.5))
    journey.observe(stages.ready(), nanoseconds(6.5))
    journey.observe_kubelet(stages.kubelet_copy())
    journey.observe_events([pulled("c", 4)])
    journey.observe_files(FileTimes(nanoseconds(2.25), nanoseconds(2.75), {"c": nanoseconds(4.5)}))
    journey.observe(stages.deleting(), nanoseconds(20.5))
    skew = SkewEstimate(-200_000_000, 100_000_000)
    text = drawn(timeline_of(journey, node_name="node-a", skew=skew))
    lines = [" ".join(line.replace("█", " ").split()) for line in text.split("\n")]
    assert lines[0] == "Pod default/a on node-a, gpu"
    created = "Created at 2026-06-01T12:00:00Z."
    assert lines[1] == f"{created} Told by the agent ns/agent-x."
    assert "+750 ms binding 250 ms 500 ms bound scheduler/api" in [
        " ".join(word for word in line.split() if word[0] not in "▏▎▍▌▋▊▉░") for line in lines
    ]
    assert "Startup: 6.5 s in all, 4 s by the SLI; images 2.5 s." in lines
    assert "Clocks: the node's is 50 ms behind the API server's (± 150 ms)." in lines
    # What came after ready has a scale of its own, from 0.
    assert sum(line.startswith("+0 ") for line in lines) == 2


def test_a_step_of_a_newer_agent_is_shown_as_it_is() -> None:
    timeline = timeline_of(journey_of(stages.ready()), node_name="n")
    segments = (SegmentView("created", "admitted", 3, 0), SegmentView("admitted", "ready", 1, 0))
    lines = drawn(replace(timeline, segments=segments)).splitlines()
    (first,) = [line for line in lines if " 3 s " in line]
    assert "admitted" in first
    (second,) = [line for line in lines if "becoming ready" in line]
    assert " 1 s " in second


def test_a_negative_duration_is_shown_with_its_reason() -> None:
    journey = journey_of(stages.bound())
    journey.observe(stages.bound(annotations=stages.decided(1.75)), nanoseconds(2))
    assert "-250 ms (rounded)" in drawn(timeline_of(journey, node_name="n"))


def test_a_pod_that_waits_says_for_what() -> None:
    journey = journey_of(stages.bound())
    journey.observe(stages.running(), nanoseconds(5.5))
    journey.observe_events([pulled("c", 4, PRESENT)])
    timeline = timeline_of(
        journey,
        node_name="n",
        cause="readiness_probe",
        cause_detail="c: its readiness probe fails.",
    )
    text = drawn(timeline)
    assert "Now: waiting for a readiness probe: c: its readiness probe fails." in text
    assert "readiness_probe" not in text
    assert "Startup: 5.5 s in all, 5.5 s by the SLI." in text


def test_why_there_is_no_sli() -> None:
    journey = journey_of(stages.bound())
    journey.observe(stages.running(), nanoseconds(5.5))
    journey.was_there_before = True
    text = drawn(timeline_of(journey, node_name="n", skew=SkewEstimate(0, 2_000_000)))
    assert "no SLI (not all of its image pulls are known)." in text
    assert "Clocks: the node's is 1 ms ahead of the API server's (± 1 ms)." in text
    assert "It was there before the agent" in text


def test_a_pod_of_which_nothing_is_known() -> None:
    journey = journey_of(make_pod("a"))
    text = drawn(timeline_of(journey, node_name="", cause="not_scheduled"))
    assert text.startswith("Pod default/a\nTold by the agent")
    assert "Nothing else is known of its way so far." in text
    assert "Now: waiting for a Node.\n" in text


def test_a_console_without_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Console, "encoding", "ascii")
    journey = journey_of(stages.bound())
    journey.observe(stages.ready(), nanoseconds(6.5))
    text = drawn(timeline_of(journey, node_name="n"))
    assert "#" in text
    assert not set(text) & set("▏▎▍▌▋▊▉█░")


@pytest.mark.parametrize("columns", [60, 80, 88, 95, 96, 100, 113, 114, 120, 146, 200])
def test_every_width_is_used_and_none_exceeded(columns: int) -> None:
    journey = journey_of(stages.bound())
    journey.observe(stages.ready(annotations=stages.decided(1.75)), nanoseconds(6.5))
    text = drawn(timeline_of(journey, node_name="n"), columns)
    assert max(len(line) for line in text.split("\n")) <= columns
    assert ("told by" in text) is (columns >= 114)
    assert ("±" in text.split("\n")[3]) is (columns >= 96)
    if columns >= 88:
        assert "-250 ms (rounded)" in text
        assert "the scheduler hears of it" in text
        assert "containers_started" in text
        assert "…" not in text


def test_nothing_that_a_terminal_acts_on_is_printed() -> None:
    waiting = {"reason": "ErrImagePull", "message": "a\x1b[31mb\nc\x9bd\x07 [bold]"}
    pod = make_pod(status={"containerStatuses": [{"name": "c", "state": {"waiting": waiting}}]})
    timeline = timeline_of(
        journey_of(pod), node_name="n\x1b", cause="image_pull", cause_detail=waiting["message"]
    )
    assert "Now: waiting for an image: a\\x1b[31mb c\\x9bd\\x07 [bold]\n" in drawn(timeline)
    assert "\x1b" not in drawn(timeline)


def segment(seconds: float, error_seconds: float, end: str = "bound") -> SegmentView:
    return SegmentView(begin="created", end=end, seconds=seconds, error_seconds=error_seconds)


@pytest.mark.parametrize(
    ("seconds", "error_seconds", "is_told"),
    [(0.309, 0.5, True), (0.5, 0.5, True), (0.6, 0.5, False), (1, 0, False), (0, 0.5, False)],
)
@pytest.mark.parametrize("is_ascii", [False, True])
def test_what_may_have_taken_no_time_is_hollow(
    seconds: float,
    error_seconds: float,
    is_told: bool,
    is_ascii: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if is_ascii:
        monkeypatch.setattr(Console, "encoding", "ascii")
    timeline = replace(
        timeline_of(journey_of(stages.bound()), node_name="n"),
        segments=(segment(seconds, error_seconds), segment(0.1, 0, "ready")),
    )
    hollow, full = ("-" * 3, "#") if is_ascii else ("░" * 3, "█")
    first, second = drawn(timeline).split("\n")[4:6]
    assert (hollow in first) is is_told
    assert (full in first) is (not is_told and seconds > 0)
    assert hollow not in second
    assert ("no longer than its times are rounded" in drawn(timeline)) is is_told


def test_the_longest_is_one_that_has_surely_taken_time() -> None:
    timeline = replace(
        timeline_of(journey_of(stages.bound()), node_name="n"),
        segments=(segment(0.4, 0.5), segment(0.1, 0, "ready")),
    )
    console = Console(width=160, force_terminal=True, color_system="standard")
    with console.capture() as capture:
        console.print(render(timeline, "x", console))
    assert "\x1b[1m100 ms" in capture.get()
    assert "\x1b[1m400 ms" not in capture.get()


def test_the_head_without_a_node_and_with_a_fraction() -> None:
    timeline = timeline_of(journey_of(make_pod("gated")), node_name="")
    step = StepView("created", "2026-06-01T12:00:10.250000000Z", "api", "api_server", 1)
    text = drawn(replace(timeline, qos_class="BestEffort", scheduler_name="gpu", steps=(step,)))
    assert text.startswith("Pod default/gated, BestEffort, gpu\n")
    assert "Created at 2026-06-01T12:00:10.25Z. " in text


def test_the_head_of_a_pod_that_nobody_created() -> None:
    timeline = timeline_of(journey_of(make_pod("static")), node_name="n")
    step = StepView("kubelet_seen", "2026-06-01T12:00:10Z", "kubelet", "node", 0)
    assert "Kubelet seen at 2026-06-01T12:00:10Z. " in drawn(replace(timeline, steps=(step,)))
