"""Every code that people might be shown has words."""

from enum import StrEnum

import pytest

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
    assert waited_for(queued, 3) == "earlier attempts: 2"


@pytest.mark.parametrize(
    ("words", "codes"),
    [(NOW, [*Cause, NOT_SCHEDULED]), (WHY_NO_SLI, list(SkipReason))],
)
def test_each_code_has_words_and_no_other(words: dict[str, str], codes: list[StrEnum]) -> None:
    assert set(words) == set(codes)
    assert not [text for text in words.values() if "_" in text]


def test_a_code_of_a_newer_agent_is_made_readable() -> None:
    assert in_words("disk_pressure", NOW) == "disk pressure"
