"""What a list shows, beside what kopf has told."""

from typing import Any

import msgspec
import pytest

from kubeio.errors import ConnectionFailedError
from kubeio.response import Response
from scheduler_svc.controller.census import Census
from scheduler_svc.controller.custom_resources import (
    POD_GROUPS,
    SCHEDULER_PROFILES,
    CustomResource,
)
from scheduler_svc.controller.holdings import Holdings
from tests.unit.scheduler_svc.controller.members import GROUP, held
from tests.unit.scheduler_svc.shell.scripted_api import Answer, ScriptedApi, ScriptedClient, status

NOT_SERVED = status(404, "the server could not find the requested resource")
FORBIDDEN = status(403, "podgroups.scheduling.x-k8s.io is forbidden")


def listed(*versions: int, uid: str = "uid-1", continue_token: str = "") -> Response:
    """Give a page with a group for each version: train, train-1, …"""
    items: list[dict[str, Any]] = []
    for number, version in enumerate(versions):
        name = f"train-{number}" if number else "train"
        metadata = {"namespace": "default", "name": name, "uid": uid}
        items.append({"metadata": {**metadata, "resourceVersion": str(version)}})
    metadata = {"resourceVersion": "100", "continue": continue_token}
    return Response(200, [], msgspec.json.encode({"metadata": metadata, "items": items or None}))


class Bench:
    """A census of groups and profiles; profiles are never there."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.served: list[frozenset[CustomResource]] = []
        self.complete_count = 0
        self.stalled_count = 0
        self.api = ScriptedApi()
        self.holdings = Holdings(lambda _: None)
        self.census = Census(
            ScriptedClient(self.api),
            self.holdings,
            self.served.append,
            self._note_complete,
            self._note_stalled,
            resources=(POD_GROUPS, SCHEDULER_PROFILES),
            clock=lambda: self.now,
        )

    def _note_stalled(self) -> None:
        self.stalled_count += 1

    def _note_complete(self) -> None:
        self.complete_count += 1

    async def take(self, *answers: Answer, profiles: Answer = NOT_SERVED) -> None:
        self.api.answers = [*answers, profiles]
        await self.census.take()
        self.now += 30


async def test_what_is_served_is_told_when_it_changes() -> None:
    bench = Bench()
    await bench.take(NOT_SERVED)
    await bench.take(NOT_SERVED)
    await bench.take(listed(), profiles=listed())
    await bench.take(listed(), profiles=listed())
    await bench.take(NOT_SERVED)
    groups = frozenset({POD_GROUPS, SCHEDULER_PROFILES})
    assert bench.served == [frozenset(), groups, frozenset()]


async def test_it_is_complete_when_all_that_is_listed_was_told_of() -> None:
    bench = Bench()
    await bench.take(listed(5))
    assert not bench.census.is_complete
    assert bench.census.problem() == "1 objects have not been told of yet"
    bench.holdings.tell(held(version=5))
    await bench.take(listed(5))
    assert bench.census.problem() is None
    assert bench.complete_count == 1


async def test_other_resources_have_to_be_told_of_again() -> None:
    bench = Bench()
    await bench.take(listed())
    await bench.take(listed(), profiles=listed())
    assert bench.complete_count == 2


async def test_all_pages_are_read() -> None:
    bench = Bench()
    for name, version in (("train", 3), ("train-1", 4)):
        bench.holdings.tell(held(name, version=version))
    await bench.take(listed(3, continue_token="more"), listed(3, 4))
    assert len(bench.holdings) == 2


async def test_who_is_gone_is_forgotten_and_who_came_meanwhile_is_not() -> None:
    bench = Bench()
    bench.holdings.tell(held("gone", version=3))
    bench.holdings.tell(held("train", uid="old", version=3))

    async def answer() -> Response:
        bench.holdings.tell(held("new", version=9))
        return listed(5)

    await bench.take(answer)
    assert [each.key.name for each in bench.holdings.all()] == ["new"]


async def test_a_watch_that_has_stalled_is_found_by_the_second_list() -> None:
    bench = Bench()
    bench.holdings.tell(held(version=5))
    await bench.take(listed(5))
    await bench.take(listed(7))
    assert bench.census.stalled_seconds() is None
    await bench.take(listed(7))
    assert bench.census.stalled_seconds() == 30
    await bench.take(listed(8))
    assert bench.census.stalled_seconds() == 60
    assert bench.stalled_count == 1
    bench.holdings.tell(held(version=8))
    await bench.take(listed(8))
    assert bench.census.stalled_seconds() is None


async def test_an_object_that_changes_all_the_time_is_no_stall() -> None:
    bench = Bench()
    for version in range(5, 50, 5):
        bench.holdings.tell(held(version=version))
        await bench.take(listed(version + 1))
        assert bench.census.stalled_seconds() is None


async def test_what_a_write_of_ours_has_answered_is_not_what_kopf_has_told() -> None:
    bench = Bench()
    bench.holdings.tell(held(version=5))
    bench.holdings.wrote(held(version=7))
    await bench.take(listed(7))
    await bench.take(listed(7))
    assert list(bench.census.lagging) == [GROUP]
    assert bench.census.stalled_seconds() == 30


async def test_an_api_server_that_is_away_says_nothing_about_kopf() -> None:
    bench = Bench()
    bench.holdings.tell(held(version=5))
    await bench.take(listed(5))
    for _ in range(5):
        with pytest.raises(ConnectionFailedError):
            await bench.take(ConnectionFailedError("no route"))
        bench.now += 30
    assert bench.census.stalled_seconds() is None
    assert [each.key for each in bench.holdings.all()] == [GROUP]


async def test_a_right_that_is_missing_is_told() -> None:
    bench = Bench()
    await bench.take(FORBIDDEN)
    problem = bench.census.problem()
    assert problem is not None
    assert "podgroups.scheduling.x-k8s.io is forbidden" in problem
    await bench.take(listed())
    assert bench.census.problem() is None
