"""What a scheduler says of itself in SchedulerProfiles' status."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from kubeio.client import Lane
from kubeio.errors import ConnectionLostError, KubeError, from_response
from scheduler_svc.shell.scheduler_profiles import reporting
from scheduler_svc.shell.scheduler_profiles.objects import Observation, SchedulerProfile
from scheduler_svc.shell.scheduler_profiles.planning import RunProfile
from scheduler_svc.shell.scheduler_profiles.reporting import (
    STALE_SECONDS,
    ObservationReporter,
    manager_of,
    observer_name,
)
from scheduler_svc.shell.scheduler_profiles.validation import compile_spec
from tests.unit.scheduler_svc.shell.scheduler_profiles.building import (
    IN_TREE_ONLY,
    configured,
    make_profile,
)

PATH = "/apis/berthmaster.dev/v1alpha1/schedulerprofiles/{}/status"
COMPILED = compile_spec(make_profile("a"), configured(), IN_TREE_ONLY)


class Server:
    """Notes what is applied, as (path, manager, generations)."""

    def __init__(self) -> None:
        self.applied: list[tuple[str, str, list[int]]] = []
        self.errors: list[KubeError] = []
        self.bodies: list[Any] = []
        self.is_silent = False
        self.has_applied = asyncio.Event()

    async def call(
        self,
        method: str,
        path: str,
        /,
        *,
        body: bytes | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str = "",
        lane: Lane = Lane.READS,
    ) -> object:
        assert (method, content_type, lane) == (
            "PATCH",
            "application/apply-patch+yaml",
            Lane.WRITES,
        )
        assert body is not None
        assert params is not None
        assert params["force"] == "true"
        if self.is_silent:
            await asyncio.Event().wait()
        if self.errors:
            raise self.errors.pop(0)
        document = msgspec.json.decode(body)
        self.bodies.append(document)
        entries = document["status"].get("observedBy", [])
        generations = [entry["generation"] for entry in entries]
        self.applied.append((path, params["fieldManager"], generations))
        self.has_applied.set()
        return None


def refusal(status: int) -> KubeError:
    return from_response(status, {}, b"{}", request="PATCH x")


class Rig:
    def __init__(self) -> None:
        self.server = Server()
        self.objects: dict[str, SchedulerProfile] = {}
        self.in_force: dict[str, RunProfile] = {}
        self.is_leading = False
        self.seconds = 0.0
        self.reporter = ObservationReporter(
            self.server,
            scheduler="me",
            objects=self.objects,
            in_force=self.in_force,
            is_leading=lambda: self.is_leading,
            clock=lambda: self.seconds,
        )

    def exists(self, name: str = "a", *, version: str = "", **observed: int) -> None:
        """Have an object with these entries, by scheduler."""
        entries = tuple(Observation(scheduler=who, generation=g) for who, g in observed.items())
        profile = make_profile(name)
        status = msgspec.structs.replace(profile.status, observed_by=entries)
        metadata = msgspec.structs.replace(profile.metadata, resource_version=version)
        self.objects[profile.metadata.uid] = msgspec.structs.replace(
            profile, metadata=metadata, status=status
        )

    def runs(self, name: str = "a", generation: int = 1) -> None:
        self.in_force[name] = RunProfile(name, f"uid-{name}", generation, COMPILED)

    async def write(self) -> list[tuple[str, str, list[int]]]:
        """Write what is due; give what was applied."""
        self.server.applied.clear()
        assert await self.reporter.write_due() is None
        return list(self.server.applied)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def applied(name: str, *generations: int, by: str = "me") -> tuple[str, str, list[int]]:
    return PATH.format(name), f"berthmaster-scheduler-{by}", list(generations)


async def test_what_is_run_is_said_once(rig: Rig) -> None:
    rig.exists("a")
    rig.exists("b", other=3)
    assert await rig.write() == []
    rig.runs("a", 2)
    assert await rig.write() == [applied("a", 2)]
    [body] = rig.server.bodies
    assert body["metadata"] == {"name": "a", "uid": "uid-a"}
    assert body["status"]["observedBy"][0]["scheduler"] == "me"
    assert body["status"]["observedBy"][0]["at"].endswith("Z")
    assert await rig.write() == []
    # The watch shows it, or the entry is lost: neither is a reason to write.
    rig.exists("a", me=2)
    assert await rig.write() == []
    rig.exists("a")
    assert await rig.write() == []
    rig.runs("a", 3)
    assert await rig.write() == [applied("a", 3)]


async def test_a_scheduler_that_starts_again_finds_its_entry(rig: Rig) -> None:
    rig.exists("a", me=2, other=1)
    rig.runs("a", 2)
    assert await rig.write() == []


async def test_what_is_run_no_more_is_taken_back(rig: Rig) -> None:
    rig.exists("a")
    rig.exists("left", me=4)
    rig.runs("a")
    assert await rig.write() == [applied("a", 1), applied("left")]
    del rig.in_force["a"]
    assert await rig.write() == [applied("a")]
    assert await rig.write() == []


async def test_at_the_end_every_entry_is_taken_away(rig: Rig) -> None:
    for name in ("a", "b"):
        rig.exists(name)
        rig.runs(name)
    await rig.write()
    rig.server.applied.clear()
    await rig.reporter.withdraw()
    assert rig.server.applied == [applied("a"), applied("b")]
    assert await rig.write() == []


async def test_the_end_waits_for_no_server(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "WITHDRAWAL_SECONDS", 0.01)
    rig.exists("a", me=1)
    rig.server.is_silent = True
    await rig.reporter.withdraw()


async def test_an_entry_that_somebody_takes_away_is_written_again_after_a_while(rig: Rig) -> None:
    rig.exists("a", version="1")
    rig.runs("a", 2)
    assert await rig.write() == [applied("a", 2)]
    rig.exists("a", version="3")
    assert await rig.write() == []
    assert rig.reporter._is_anything_missing()
    rig.seconds = STALE_SECONDS
    assert await rig.write() == [applied("a", 2)]
    rig.exists("a", version="4", me=2)
    rig.seconds += STALE_SECONDS
    assert await rig.write() == []
    assert not rig.reporter._is_anything_missing()


async def test_a_watch_that_stands_still_is_no_reason_to_write_again(rig: Rig) -> None:
    rig.exists("a", version="1")
    rig.runs("a", 2)
    assert await rig.write() == [applied("a", 2)]
    rig.seconds = 10 * STALE_SECONDS
    assert await rig.write() == []


async def test_a_conflict_is_tried_again(rig: Rig) -> None:
    """Where others write the status at the same moment the server may give up, too."""
    rig.exists("a")
    rig.runs("a")
    rig.server.errors = [refusal(409)]
    assert await rig.reporter.write_due() is not None
    assert await rig.write() == [applied("a", 1)]


async def test_an_object_that_is_gone_is_no_error(rig: Rig) -> None:
    rig.exists("a")
    rig.runs("a")
    rig.server.errors = [refusal(404)]
    assert await rig.write() == []
    rig.objects.clear()
    assert await rig.write() == []
    rig.exists("a")
    assert await rig.write() == [applied("a", 1)]


async def test_the_others_are_written_though_one_is_refused(rig: Rig) -> None:
    rig.exists("a")
    rig.exists("b")
    rig.runs("a")
    rig.runs("b")
    rig.server.errors = [refusal(403)]
    error = await rig.reporter.write_due()
    assert error is not None
    assert rig.server.applied == [applied("b", 1)]
    assert await rig.write() == [applied("a", 1)]


async def test_the_leader_takes_away_entries_that_have_stayed_behind(rig: Rig) -> None:
    rig.exists("a", dead=1, newer=3, same=2, me=2)
    rig.runs("a", 2)
    rig.is_leading = True
    assert await rig.write() == []
    rig.seconds = STALE_SECONDS
    rig.is_leading = False
    assert await rig.write() == []
    rig.is_leading = True
    assert await rig.write() == [applied("a", by="dead")]
    assert await rig.write() == []


async def test_it_is_tried_again_until_it_is_written(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reporting, "STALE_SECONDS", 0.01)
    rig.reporter._backoff._step = 0.01
    rig.exists("a", dead=0)
    rig.runs("a")
    rig.is_leading = True
    rig.server.errors = [ConnectionLostError("away")]
    running = asyncio.create_task(rig.reporter.run())
    rig.reporter.ring()
    async with asyncio.timeout(10):
        await rig.server.has_applied.wait()
        rig.server.has_applied.clear()
        rig.seconds = 1.0
        await rig.server.has_applied.wait()
    running.cancel()
    await asyncio.wait([running])
    assert rig.server.applied == [applied("a", 1), applied("a", by="dead")]
    assert "away" in caplog.text


def test_names_last_as_long_as_the_container_and_tell_schedulers_of_a_host_apart() -> None:
    assert observer_name("pod-1", 10259, "abc") == "pod-1:10259"
    assert observer_name("laptop", 0, "abc") == "laptop_abc"
    assert len(manager_of("h" * 253)) == 128
