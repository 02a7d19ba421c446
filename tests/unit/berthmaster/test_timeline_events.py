"""What is read of attempts to schedule a Pod that failed, and what is said where it is not."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from berthmaster.cli.timeline_attempts import FailedAttempts, FailedEvent
from node_agent.core.journey.journey import Journey, identify
from node_agent.core.journey.timeline import Timeline, timeline_of
from tests.unit.berthmaster.test_timeline_source import (
    AGENT_POD,
    AGENTS,
    EVENTS,
    POD,
    PROXY,
    TOKENS,
    StubApi,
    pod_document,
    told_by,
)
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.journey.stages import decided, stamp
from tests.unit.node_agent.core.pods import make_pod

NO_ROOM = "0/3 nodes are available: 3 Insufficient cpu."
FIRST, LAST = "2026-06-01T12:00:00.250000Z", "2026-06-01T12:00:30.500000Z"
NEW_KIND = {
    "reason": "FailedScheduling",
    "message": NO_ROOM,
    "reportingComponent": "berthmaster",
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": FIRST,
    "series": {"count": 2, "lastObservedTime": LAST},
}
"""As the core group shows an Event of events.k8s.io."""
OLD_KIND = {
    "reason": "FailedScheduling",
    "message": NO_ROOM,
    "reportingComponent": "",
    "source": {"component": "my-scheduler"},
    "count": 7,
    "firstTimestamp": stamp(1),
    "lastTimestamp": stamp(30),
    "eventTime": None,
}
SCHEDULED = {"reason": "Scheduled", "eventTime": "2026-06-01T12:00:31.000000Z"}
TWICE = FailedEvent(NO_ROOM, 2, "berthmaster", FIRST, LAST)


def agents_timeline(attempt: str = "4") -> Timeline:
    pod = stages.ready(annotations=decided(attempt=attempt))
    journey = Journey(identify(pod, "api"))
    journey.observe_kubelet(pod)
    return timeline_of(journey, node_name="node-a")


def api_with_an_agent(events: Any, timeline: Timeline) -> StubApi:
    agents = {"items": [AGENT_POD]}
    answers = {POD: pod_document(), AGENTS: agents, PROXY: timeline, EVENTS: events}
    return StubApi({**answers, **TOKENS})


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (NEW_KIND, TWICE),
        ({**NEW_KIND, "series": None}, FailedEvent(NO_ROOM, 1, "berthmaster", FIRST, FIRST)),
        (OLD_KIND, FailedEvent(NO_ROOM, 7, "my-scheduler", stamp(1), stamp(30))),
        ({"reason": "FailedScheduling"}, FailedEvent("", 1)),
    ],
)
async def test_events_of_both_kinds_are_read(
    event: dict[str, Any], expected: FailedEvent, tmp_path: Path
) -> None:
    pod = pod_document(annotations={})
    api = StubApi({POD: pod, EVENTS: {"items": [event, SCHEDULED]}})
    told = await told_by(api, tmp_path, use_agent=False)
    assert told.scheduling.failed == FailedAttempts(expected.times, False, "events", (expected,))


async def test_all_pages_are_read(tmp_path: Path) -> None:
    class Paged(StubApi):
        async def answer(self, request: web.Request) -> web.Response:
            if request.path != EVENTS:
                return await super().answer(request)
            assert request.query["fieldSelector"] == "involvedObject.uid=uid-web"
            if "continue" not in request.query:
                page = {"metadata": {"continue": "more"}, "items": [NEW_KIND]}
            else:
                page = {"metadata": {}, "items": [OLD_KIND]}
            return web.json_response(page)

    api = Paged({POD: pod_document(annotations={}, uid="uid-web")})
    failed = (await told_by(api, tmp_path, use_agent=False)).scheduling.failed
    assert failed is not None
    assert failed.count == 9


async def test_an_agent_does_not_know_why_attempts_failed_events_do(tmp_path: Path) -> None:
    api = api_with_an_agent({"items": [NEW_KIND, SCHEDULED]}, agents_timeline())
    told = await told_by(api, tmp_path)
    assert told.teller == "the agent berthmaster/agent-x"
    assert told.scheduling.failed == FailedAttempts(3, True, "scheduler", (TWICE,))
    assert told.notes == []


async def test_who_may_not_read_events_is_told_that_they_would_say_why(tmp_path: Path) -> None:
    told = await told_by(api_with_an_agent(403, agents_timeline()), tmp_path)
    failed = told.scheduling.failed
    assert failed == FailedAttempts(3, True, "scheduler", unread="its Events cannot be read")
    (note,) = told.notes
    assert note.startswith("its Events cannot be read: ")
    assert "403" in note
    # Nobody misses the reasons of what has not happened.
    told = await told_by(api_with_an_agent(403, agents_timeline("1")), tmp_path)
    assert (told.scheduling.failed, told.notes) == (None, [])


async def test_of_a_pod_that_nobody_bound_no_events_are_asked_for(tmp_path: Path) -> None:
    journey = Journey(identify(make_pod("static"), "file"))
    api = api_with_an_agent({"items": []}, timeline_of(journey, node_name="node-a"))
    assert (await told_by(api, tmp_path)).scheduling.failed is None
    assert EVENTS not in api.paths()


async def test_an_agent_asked_directly_leaves_the_reasons_to_events(tmp_path: Path) -> None:
    api = StubApi({"/pods/shop/web/timeline": agents_timeline()})
    failed = (await told_by(api, tmp_path, direct=True)).scheduling.failed
    assert failed is not None
    assert (failed.count, failed.events) == (3, ())
    assert failed.unread is not None
    assert "kubectl -n shop events --for pod/web" in failed.unread


class Dated(StubApi):
    """Dates its answers."""

    date = "Mon, 01 Jun 2026 12:00:40 GMT"

    async def answer(self, request: web.Request) -> web.Response:
        response = await super().answer(request)
        response.headers["Date"] = self.date
        return response


async def test_a_pod_that_waits(tmp_path: Path) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pod = pod_document(
        spec={"containers": [{"name": "c"}]},
        status={"phase": "Pending", "conditions": [{**condition, "message": NO_ROOM}]},
        annotations={},
    )
    api = Dated({POD: pod, EVENTS: {"items": [NEW_KIND]}})
    scheduling = (await told_by(api, tmp_path)).scheduling
    assert scheduling.failed == FailedAttempts(2, False, "events", (TWICE,))
    assert scheduling.is_told_by_condition
    assert scheduling.waited_seconds == 40
    api.answers[EVENTS], api.date = 403, "today"
    scheduling = (await told_by(api, tmp_path)).scheduling
    assert scheduling.failed is not None
    assert scheduling.failed.told_by == "condition"
    assert scheduling.failed.unread == "its Events cannot be read"
    assert scheduling.waited_seconds is None
