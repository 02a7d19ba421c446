"""From what the watch tells to the profile in force."""

import asyncio
import logging
from collections.abc import Callable, Collection

import pytest

from kubeio.changes import Deleted, Listed, Upserted
from scheduler_svc.core.events import Event, ProfileRemoved, ProfileSet
from scheduler_svc.shell.scheduler_profiles.following import ProfileFollower
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile
from scheduler_svc.shell.scheduler_profiles.planning import Planner
from tests.unit.scheduler_svc.shell.scheduler_profiles.building import (
    IN_TREE_ONLY,
    configured,
    make_profile,
)

INVALID = {"schedulerName": "x", "plugins": {"score": {"enabled": [{"name": "Nobody"}]}}}


class Kinds:
    """Says whether all that plugins read has been listed."""

    def __init__(self) -> None:
        self.is_listed = True
        self.required: set[str] = set()
        self.on_more_listed: Callable[[], None] = lambda: None

    def require(self, plugins: Collection[str]) -> bool:
        self.required.update(plugins)
        return self.is_listed


class Rig:
    """A follower, what it asks of the core, and a core that does it."""

    def __init__(self) -> None:
        self.kinds = Kinds()
        self.events: list[Event] = []
        self.was_asked = asyncio.Event()
        planner = Planner(configured(), IN_TREE_ONLY, serves_default=False)
        self.follower = ProfileFollower(planner, self.kinds, put=self.put)

    def put(self, event: Event) -> None:
        self.events.append(event)
        self.was_asked.set()

    def tell(self, *profiles: SchedulerProfile) -> list[Event]:
        """Tell of objects, and give what the core is asked to do."""
        for profile in profiles:
            self.follower.take(Upserted(profile))
        return self.follow()

    def forget(self, name: str) -> list[Event]:
        self.follower.take(Deleted("", name, f"uid-{name}"))
        return self.follow()

    def follow(self) -> list[Event]:
        self.follower.follow()
        asked = list(self.events)
        self.events.clear()
        for event in asked:
            assert isinstance(event, ProfileSet | ProfileRemoved)
            self.follower.note(event)
        return asked

    @property
    def in_force(self) -> dict[str, tuple[str, int]]:
        runs = self.follower.in_force.items()
        return {name: (run.object_name, run.generation) for name, run in runs}


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_profile_that_comes_is_set_once(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    [event] = rig.tell(make_profile("a", {"schedulerName": "x"}))
    assert isinstance(event, ProfileSet)
    assert event.profile.scheduler_name == "x"
    assert rig.in_force == {"x": ("a", 1)}
    assert "Profile is in force" in caplog.text
    assert rig.tell(make_profile("a", {"schedulerName": "x"})) == []
    assert "NodeResourcesFit" in rig.kinds.required


def test_a_profile_is_in_force_only_when_the_core_has_taken_it(rig: Rig) -> None:
    rig.follower.take(Upserted(make_profile("a")))
    rig.follower.follow()
    assert rig.in_force == {}
    [event] = rig.events
    # The next generation is asked for before the core has come to this one.
    rig.follower.take(Upserted(make_profile("a", generation=2)))
    rig.follower.follow()
    assert isinstance(event, ProfileSet)
    rig.follower.note(event)
    assert rig.in_force == {}
    newest = rig.events[1]
    assert isinstance(newest, ProfileSet)
    rig.follower.note(newest)
    assert rig.in_force == {"a": ("a", 2)}


def test_a_profile_that_goes_is_removed_and_says_why(rig: Rig) -> None:
    rig.tell(make_profile("a", {"schedulerName": "x"}))
    assert rig.forget("a") == [ProfileRemoved("x", "SchedulerProfile a was deleted")]
    assert rig.in_force == {}
    assert rig.forget("a") == []


def test_a_profile_that_changes_its_name_says_so(rig: Rig) -> None:
    rig.tell(make_profile("a", {"schedulerName": "x"}))
    removed, added = rig.tell(make_profile("a", {"schedulerName": "y"}, generation=2))
    cause = "SchedulerProfile a serves another schedulerName now, or none"
    assert removed == ProfileRemoved("x", cause)
    assert isinstance(added, ProfileSet)
    assert rig.in_force == {"y": ("a", 2)}


def test_a_name_that_goes_to_another_object_is_set_and_not_removed(rig: Rig) -> None:
    rig.tell(
        make_profile("a", {"schedulerName": "x"}, created="2026-01-01T00:00:00Z"),
        make_profile("b", {"schedulerName": "x"}, created="2026-02-01T00:00:00Z"),
    )
    [event] = rig.forget("a")
    assert isinstance(event, ProfileSet)
    assert rig.in_force == {"x": ("b", 1)}


def test_what_cannot_be_run_is_told_once_for_a_generation(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    def told() -> list[str]:
        lines = [str(record.__dict__) for record in caplog.records]
        caplog.clear()
        return lines

    rig.tell(make_profile("a", {"schedulerName": "x"}))
    assert told() == []
    assert rig.tell(make_profile("a", INVALID, generation=2)) == []
    [line] = told()
    assert "spec.plugins.score.enabled[0].name" in line
    assert "generation 1" in line
    rig.tell(make_profile("a", INVALID, generation=2))
    assert told() == []
    rig.tell(make_profile("a", {"schedulerName": "x"}, generation=3))
    rig.tell(make_profile("a", INVALID, generation=4))
    assert len(told()) == 1


def test_a_profile_waits_until_what_its_plugins_read_is_listed(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    rig.tell(make_profile("a"))
    rig.kinds.is_listed = False
    assert rig.tell(make_profile("a", generation=2)) == []
    assert rig.follow() == []
    assert rig.in_force == {"a": ("a", 1)}
    assert caplog.text.count("waits until all that its plugins read") == 1
    rig.kinds.is_listed = True
    assert len(rig.follow()) == 1
    assert rig.in_force == {"a": ("a", 2)}


def test_a_plugin_that_there_is_none_of_is_told(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    enabled = [{"name": "TopologyPlacementGenerator"}]
    rig.tell(
        make_profile("a", {"schedulerName": "x", "plugins": {"multiPoint": {"enabled": enabled}}})
    )
    # Others are there if an earlier test has let more through.
    [record] = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert "TopologyPlacementGenerator" in str(record.__dict__)
    assert "not implemented" in record.getMessage()


async def test_nothing_is_done_before_all_that_there_is_has_been_told(rig: Rig) -> None:
    running = asyncio.create_task(rig.follower.run())
    rig.follower.take(Upserted(make_profile("a", {"schedulerName": "x"})))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert rig.events == []
    older = make_profile("b", {"schedulerName": "x"}, created="2025-01-01T00:00:00Z")
    rig.follower.take(Upserted(older))
    rig.follower.take(Listed("7"))
    async with asyncio.timeout(10):
        await rig.was_asked.wait()
    [event] = rig.events
    assert isinstance(event, ProfileSet)
    rig.follower.note(event)
    assert rig.in_force == {"x": ("b", 1)}
    rig.follower.ring()
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert len(rig.events) == 1


async def test_of_changes_one_upon_the_other_the_last_is_run(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses, is_over = 0, asyncio.Event()

    async def pause() -> None:
        nonlocal pauses
        pauses += 1
        await is_over.wait()

    monkeypatch.setattr(rig.follower, "_pause", pause)
    running = asyncio.create_task(rig.follower.run())
    rig.follower.take(Listed("7"))
    async with asyncio.timeout(10):
        for generation in range(1, 20):
            rig.follower.take(Upserted(make_profile("a", generation=generation)))
            if generation == 1:
                await rig.was_asked.wait()
            await asyncio.sleep(0)
        rig.was_asked.clear()
        is_over.set()
        await rig.was_asked.wait()
    running.cancel()
    await asyncio.wait([running])
    sets = [event.profile for event in rig.events if isinstance(event, ProfileSet)]
    assert [run.generation for run in rig.follower._asked.values()] == [19]
    assert (len(sets), pauses) == (2, 2)
