"""The startup figures, and each reason to be left out of the SLI."""

from typing import Any

import pytest

from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.journey import Journey, identify
from node_agent.core.journey.startup import SkipReason, startup_of
from node_agent.core.objects import Pod
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.journey.stages import nanoseconds
from tests.unit.node_agent.core.journey.test_pulls import PRESENT, pulled


def heard(pod: Pod, seconds: float) -> Journey:
    journey = Journey(identify(pod, "api"))
    journey.observe(pod, nanoseconds(seconds))
    return journey


def test_nothing_before_it_has_started() -> None:
    assert startup_of(heard(stages.with_sandbox(), 3.5)) is None


def test_nothing_where_the_start_was_not_seen() -> None:
    journey = Journey(identify(stages.running(), "api"))
    journey.observe_before(stages.running())
    assert startup_of(journey) is None


def test_nothing_of_a_static_pod_that_nobody_created() -> None:
    assert startup_of(heard(stages.running(creationTimestamp=None), 6)) is None


def test_all_three_figures() -> None:
    """Created at 0, seen by the kubelet at 2.125, pulled for 2.5, heard of as started at 5.75."""
    journey = heard(stages.running(), 5.75)
    journey.observe_kubelet(stages.kubelet_copy())
    journey.observe_events([pulled("c", 4)])
    startup = startup_of(journey)
    assert startup is not None
    assert startup.total_nanoseconds == nanoseconds(5.75) - nanoseconds(0)
    assert startup.seen_nanoseconds == nanoseconds(5.75) - nanoseconds(2.125)
    assert startup.sli_nanoseconds == 3_250_000_000
    assert startup.sli_skipped is None


def test_a_short_job_counts_as_started() -> None:
    done = stages.pod_with({"phase": "Succeeded", "containerStatuses": [stages.ended("c", 3, 4)]})
    startup = startup_of(heard(done, 4.5))
    assert startup is not None
    assert startup.total_nanoseconds == 4_500_000_000
    assert startup.seen_nanoseconds is None


def test_several_init_containers_are_left_out_together() -> None:
    spec = {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}, {"name": "j"}]}
    status = {
        "initContainerStatuses": [stages.ended("i", 3, 5), stages.ended("j", 6, 9)],
        "containerStatuses": [stages.started("c", 10)],
    }
    journey = heard(stages.pod_with(status, spec=spec), 10.5)
    journey.observe_events([pulled(name, 3, PRESENT) for name in "cij"])
    startup = startup_of(journey)
    assert startup is not None
    assert startup.sli_nanoseconds == 10 * NANOSECONDS + NANOSECONDS // 2 - 5 * NANOSECONDS


@pytest.mark.parametrize(
    ("fields", "events", "reason"),
    [
        (
            {"spec": {"containers": [{"name": "c"}], "volumes": [{"name": "v", "csi": {}}]}},
            ["c"],
            SkipReason.STATEFUL,
        ),
        ({"annotations": stages.decided(attempt="2")}, ["c"], SkipReason.SCHEDULED_LATE),
        ({}, [], SkipReason.PULLS_UNKNOWN),
        (
            {"spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]}},
            ["c", "i"],
            SkipReason.INIT_UNKNOWN,
        ),
    ],
)
def test_left_out_of_the_sli(fields: dict[str, Any], events: list[str], reason: SkipReason) -> None:
    journey = heard(stages.running(**fields), 5.5)
    journey.observe_events([pulled(name, 4) for name in events])
    startup = startup_of(journey)
    assert startup is not None
    assert (startup.sli_nanoseconds, startup.sli_skipped) == (None, reason)
    assert startup.total_nanoseconds == 5_500_000_000


def test_who_was_not_scheduled_by_us_counts() -> None:
    journey = heard(stages.running(annotations={}), 5.5)
    journey.observe_events([pulled("c", 4, PRESENT)])
    startup = startup_of(journey)
    assert startup is not None
    assert startup.sli_nanoseconds == 5_500_000_000
