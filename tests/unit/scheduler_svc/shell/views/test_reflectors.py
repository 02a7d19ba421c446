import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kubeio.errors import NotFoundError, UnavailableError
from kubeio.response import Response
from kubeio.source import Lines
from scheduler_svc.core.events import (
    Event,
    NodeUpserted,
    ObjectUpserted,
    PodDeleted,
    PodUpserted,
)
from scheduler_svc.shell.views.reflectors import Reflectors
from tests.unit.kubeio.log_lines import lines_of

Documents = Mapping[str, list[dict[str, Any]]]
FAILED = "failed-pods"


def view_of(path: str, params: Mapping[str, str]) -> str:
    """Name the view that asks for this."""
    is_of_failed = params.get("fieldSelector") == "status.phase=Failed"
    return FAILED if is_of_failed else path.rpartition("/")[2]


class FakeWatch:
    """Lines that a test writes."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[list[bytes]] = asyncio.Queue()

    async def read_lines(self) -> list[bytes]:
        return await self.lines.get()


class FakeServer:
    """Lists `documents`, and watches what a test says."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self.watches = defaultdict[str, FakeWatch](FakeWatch)
        self.is_away: set[str] = set()
        self.unserved: set[str] = set()

    async def call(
        self, method: str, path: str, /, *, params: Mapping[str, str], timeout_seconds: float
    ) -> Response:
        del method, timeout_seconds
        name = view_of(path, params)
        if name in self.is_away:
            raise UnavailableError(503, message="not now")
        if name in self.unserved:
            raise NotFoundError(404, message="404 page not found")
        page = {"metadata": {"resourceVersion": "5"}, "items": self._documents.get(name, [])}
        return Response(200, (), json.dumps(page).encode())

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        /,
        *,
        params: Mapping[str, str],
        headers_timeout_seconds: float,
        idle_timeout_seconds: float,
    ) -> AsyncIterator[Lines]:
        del headers_timeout_seconds, idle_timeout_seconds
        yield self.watches[view_of(path, params)]


def metadata(name: str, uid: str, version: str = "1") -> dict[str, str]:
    return {"name": name, "uid": uid, "resourceVersion": version}


class Rig:
    def __init__(self, server: FakeServer) -> None:
        self.events: list[Event] = []
        self.listed_count = 0
        self.reflectors = Reflectors(
            server, put=self.events.append, plugins=(), on_listed=self.note_listed, seed=1
        )

    def note_listed(self) -> None:
        self.listed_count += 1

    async def run_until_quiet(self) -> None:
        running = asyncio.create_task(self.reflectors.run())
        for _ in range(50):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])


async def test_lists_become_events_and_the_end_of_the_last_is_told_once() -> None:
    server = FakeServer(
        {
            "nodes": [{"metadata": metadata("n1", "u1")}],
            "pods": [{"metadata": metadata("p1", "u2"), "spec": {}}],
        }
    )
    rig = Rig(server)
    await rig.run_until_quiet()
    assert rig.reflectors.is_listed
    assert rig.listed_count == 1
    assert {type(event) for event in rig.events} == {NodeUpserted, PodUpserted}


async def test_first_lists_are_summed_up() -> None:
    pods = [{"metadata": metadata(f"p{n}", f"u{n}"), "spec": {}} for n in range(3)]
    server = FakeServer({"nodes": [{"metadata": metadata("n1", "u")}], "pods": pods})
    server.unserved = {"priorityclasses"}
    rig = Rig(server)
    await rig.run_until_quiet()
    summary = rig.reflectors.first_lists()
    seconds = summary.pop("seconds")
    # Nodes, Pods, failed Pods and Namespaces.
    assert summary == {"lists": 4, "objects": 4, "not_served": "priorityclasses"}
    assert isinstance(seconds, float)
    assert seconds >= 0
    everything = Rig(FakeServer({}))
    await everything.run_until_quiet()
    assert "not_served" not in everything.reflectors.first_lists()


async def test_cluster_is_unknown_while_one_list_is_missing() -> None:
    server = FakeServer({})
    server.is_away = {"namespaces"}
    rig = Rig(server)
    await rig.run_until_quiet()
    assert not rig.reflectors.is_listed
    assert rig.listed_count == 0
    problem = rig.reflectors.by_resource["namespaces"].problem()
    assert problem is not None
    assert "namespaces not listed yet" in problem
    assert rig.reflectors.by_resource["pods"].problem() is None


async def test_watch_events_follow_in_order() -> None:
    server = FakeServer({})
    rig = Rig(server)
    pod = {"metadata": metadata("p1", "u2", "6"), "spec": {}}
    changes = [{"type": kind, "object": pod} for kind in ("ADDED", "DELETED")]
    server.watches["pods"].lines.put_nowait([json.dumps(change).encode() for change in changes])
    await rig.run_until_quiet()
    assert [type(event) for event in rig.events] == [PodUpserted, PodDeleted]
    assert rig.events[1] == PodDeleted("u2")


async def test_bad_object_is_skipped_and_counted_and_the_others_come(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad = {"metadata": metadata("bad", "u3"), "status": {"allocatable": {"cpu": "lots"}}}
    server = FakeServer({"nodes": [bad, {"metadata": metadata("good", "u4")}]})
    rig = Rig(server)
    await rig.run_until_quiet()
    [event] = rig.events
    assert isinstance(event, NodeUpserted)
    assert event.node.name == "good"
    assert rig.reflectors.by_resource["nodes"].statistics.decode_failure_count == 1
    assert any("name=bad" in line for line in lines_of(caplog.records))


async def test_what_is_required_later_is_watched_and_told_when_it_is_listed() -> None:
    server = FakeServer({"persistentvolumes": [{"metadata": metadata("pv", "u1")}]})
    rig = Rig(server)
    told: list[bool] = []
    plugins = {"VolumeBinding"}
    rig.reflectors.on_more_listed = lambda: told.append(rig.reflectors.require(plugins))
    running = asyncio.create_task(rig.reflectors.run())
    for _ in range(50):
        await asyncio.sleep(0)
    # The first list has been told of, at which it was required; and all that this made.
    assert told[0] is False
    assert told[-1] is True
    assert rig.listed_count == 1
    assert rig.reflectors.is_listed
    assert "persistentvolumes" in rig.reflectors.by_resource
    assert [type(event) for event in rig.events] == [ObjectUpserted]
    assert rig.reflectors.require({"VolumeZone", "NodeName"})
    running.cancel()
    await asyncio.wait([running])


async def test_what_is_required_before_the_start_is_watched_from_then() -> None:
    rig = Rig(FakeServer({}))
    assert not rig.reflectors.require({"VolumeBinding"})
    await rig.run_until_quiet()
    assert rig.reflectors.require({"VolumeBinding"})


async def test_the_cluster_is_known_whatever_is_required_later() -> None:
    rig = Rig(FakeServer({}))
    await rig.run_until_quiet()
    assert not rig.reflectors.require({"VolumeBinding"})
    assert rig.reflectors.is_listed


def test_nodes_and_pods_are_asked_for_first_after_an_outage() -> None:
    by_resource = Rig(FakeServer({})).reflectors.by_resource
    later = by_resource["namespaces"].timing
    for name in ("nodes", "pods"):
        assert by_resource[name].timing.first_retry_seconds < later.first_retry_seconds
        assert by_resource[name].timing.longest_retry_seconds < later.longest_retry_seconds
