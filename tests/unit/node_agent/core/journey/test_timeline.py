"""The JSON of a journey: what is there, and what is left out."""

from typing import Any

import msgspec

from node_agent.core.journey.clock_skew import SkewEstimate
from node_agent.core.journey.journey import Journey, identify
from node_agent.core.journey.timeline import Timeline, timeline_of
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.journey.stages import nanoseconds
from tests.unit.node_agent.core.journey.test_pulls import pulled


def as_json(timeline: Timeline) -> Any:
    return msgspec.json.decode(msgspec.json.encode(timeline))


def test_a_pod_that_was_just_bound() -> None:
    journey = Journey(identify(stages.bound(), "api"))
    journey.observe(stages.bound(), nanoseconds(1.5))
    assert as_json(timeline_of(journey, node_name="n")) == {
        "namespace": "default",
        "name": "a",
        "uid": "uid-a",
        "node": "n",
        "source": "api",
        "measured": True,
        "workloadKind": "none",
        "schedulingAttempt": 1,
        "steps": [
            {
                "step": "created",
                "at": "2026-06-01T12:00:00.000000000Z",
                "source": "api",
                "clock": "api_server",
                "resolutionSeconds": 1.0,
            },
            {
                "step": "queued",
                "at": "2026-06-01T12:00:01.000000000Z",
                "source": "scheduler",
                "clock": "scheduler",
                "resolutionSeconds": 1e-9,
            },
            {
                "step": "decided",
                "at": "2026-06-01T12:00:01.250000000Z",
                "source": "scheduler",
                "clock": "scheduler",
                "resolutionSeconds": 1e-9,
            },
            {
                "step": "bound",
                "at": "2026-06-01T12:00:01.000000000Z",
                "source": "api",
                "clock": "api_server",
                "resolutionSeconds": 1.0,
            },
            {
                "step": "agent_seen",
                "at": "2026-06-01T12:00:01.500000000Z",
                "source": "watch",
                "clock": "node",
                "resolutionSeconds": 1e-9,
            },
        ],
        "segments": [
            {"from": "created", "to": "queued", "seconds": 0.5, "errorSeconds": 0.5},
            {"from": "queued", "to": "decided", "seconds": 0.25, "errorSeconds": 1e-9},
            {"from": "decided", "to": "bound", "seconds": 0.25, "errorSeconds": 0.5},
        ],
    }


def whole_timeline() -> Timeline:
    journey = Journey(identify(stages.bound(), "api"))
    journey.observe(stages.ready(), nanoseconds(6.5))
    journey.observe_kubelet(stages.kubelet_copy())
    journey.observe_events([pulled("c", 4)])
    journey.clock_was_set = True
    journey.was_there_before = True
    return timeline_of(
        journey,
        node_name="n",
        skew=SkewEstimate(-200_000_000, 100_000_000),
        cause="crash_loop",
        cause_detail="c: back-off",
    )


def test_figures_and_the_skew() -> None:
    view = as_json(whole_timeline())
    assert view["startup"] == {
        "totalSeconds": 6.5,
        "sliSeconds": 4.0,
        "kubeletSeenSeconds": 4.375,
        "imagePullSeconds": 2.5,
        "initSeconds": 0.0,
    }
    assert view["clockSkew"] == {"nodeMinusApiServerSeconds": -0.05, "errorSeconds": 0.15}
    assert (view["cause"], view["causeDetail"]) == ("crash_loop", "c: back-off")
    assert not view["measured"]
    assert len(view["notes"]) == 2


def test_other_evidence_is_shown_beside_the_best() -> None:
    ready = next(step for step in whole_timeline().steps if step.step == "ready")
    assert (ready.source, ready.at) == ("watch", "2026-06-01T12:00:06.500000000Z")
    (other,) = ready.others
    assert (other.source, other.at) == ("kubelet", "2026-06-01T12:00:06.000000000Z")
    assert other.resolution_seconds == 1


def test_why_there_is_no_sli() -> None:
    journey = Journey(identify(stages.ready(), "api"))
    journey.observe(stages.ready(), nanoseconds(6.5))
    view = as_json(timeline_of(journey, node_name="n", skew=SkewEstimate(None, 5)))
    assert view["startup"] == {
        "totalSeconds": 6.5,
        "sliSkipped": "pulls_unknown",
        "initSeconds": 0.0,
    }
    assert "clockSkew" not in view


def test_that_it_may_have_been_ready_before_a_restart() -> None:
    """A condition tells of the last time it changed; who heard of the first time knows better."""
    again = {"containerStatuses": [stages.started("c", 500, before=5)]}
    pod = stages.pod_with({**again, "conditions": [stages.condition("Ready", 502)]})
    journey = Journey(identify(pod, "api"))
    journey.observe_kubelet(pod)
    (note,) = timeline_of(journey, node_name="n").notes
    assert note == "A container was started again: it may have been ready before that time, too."
    heard = Journey(identify(pod, "api"))
    heard.observe(stages.ready(), nanoseconds(6.5))
    heard.observe(pod, nanoseconds(502.5))
    assert timeline_of(heard, node_name="n").notes == ()


def test_a_negative_segment_says_why() -> None:
    journey = Journey(identify(stages.bound(), "api"))
    journey.observe(stages.bound(annotations=stages.decided(1.75)), nanoseconds(2))
    last = timeline_of(journey, node_name="n").segments[-1]
    assert (last.begin, last.end, last.seconds) == ("decided", "bound", -0.25)
    assert last.negative == "resolution"


def test_it_is_read_back_as_it_was_written() -> None:
    timeline = whole_timeline()
    assert msgspec.json.decode(msgspec.json.encode(timeline), type=Timeline) == timeline
