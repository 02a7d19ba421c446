"""Every code that people might be shown has words."""

from enum import StrEnum

import pytest

from berthmaster.cli.timeline_attempts import FailedEvent, failed_attempts
from berthmaster.cli.timeline_words import (
    NOT_SCHEDULED,
    NOW,
    WAITED_FOR,
    WHY_NO_SLI,
    in_words,
    waited_for,
)
from node_agent.core.divergence.causes import Cause
from node_agent.core.journey.marks import Step
from node_agent.core.journey.startup import SkipReason
from node_agent.core.journey.timeline import SegmentView


def test_each_segment_says_what_was_waited_for() -> None:
    steps = [step for step in Step if step is not Step.AGENT_SEEN]
    assert set(WAITED_FOR) == set(steps[1:])
    wide = SegmentView(begin="sandbox_ready", end="containers_started", seconds=1, error_seconds=0)
    assert waited_for(wide) == "images, containers start"
    narrow = SegmentView(
        begin="images_pulled", end="containers_started", seconds=1, error_seconds=0
    )
    assert waited_for(narrow) == "containers start"
    queued = SegmentView(begin="created", end="queued", seconds=1, error_seconds=0)
    assert waited_for(queued, 1) == "the scheduler hears of it"


def segment(begin: str, end: str) -> SegmentView:
    return SegmentView(begin=begin, end=end, seconds=1, error_seconds=0)


def test_failed_attempts_end_with_queued_and_the_wait_for_the_next_begins_there() -> None:
    """`queued` is when the last of them had failed: a Pod waits for room after it."""
    failed = failed_attempts(3)
    assert waited_for(segment("created", "queued"), 3, failed) == "failed attempts: 2"
    assert waited_for(segment("queued", "decided"), 3, failed) == "waiting to be tried again"
    assert waited_for(segment("decided", "bound"), 3, failed) == "binding"
    assert waited_for(segment("queued", "decided"), 1) == "waiting for a Node"


def test_attempts_that_only_events_tell_of() -> None:
    failed = failed_attempts(None, [FailedEvent("no room", times=2)])
    # kube-scheduler writes nothing of its attempts, a new process of ours counts from 1 again.
    assert waited_for(segment("created", "bound"), None, failed) == "scheduling, tried again"
    assert waited_for(segment("created", "queued"), 1, failed) == "failed attempts: 2 or more"
    assert waited_for(segment("queued", "decided"), 1, failed) == "waiting for a Node"


@pytest.mark.parametrize(
    ("words", "codes"),
    [(NOW, [*Cause, NOT_SCHEDULED]), (WHY_NO_SLI, list(SkipReason))],
)
def test_each_code_has_words_and_no_other(words: dict[str, str], codes: list[StrEnum]) -> None:
    assert set(words) == set(codes)
    assert not [text for text in words.values() if "_" in text]


def test_a_code_of_a_newer_agent_is_made_readable() -> None:
    assert in_words("disk_pressure", NOW) == "disk pressure"
