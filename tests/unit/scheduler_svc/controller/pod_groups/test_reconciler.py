"""A group's status is brought about: written once, told once, and not fought over."""

import time
from typing import Any

import msgspec
import pytest

from kubeio.changes import Upserted
from kubeio.errors import ConflictError
from kubeio.response import Response
from scheduler_svc.controller.custom_resources import (
    BUILT_IN_POD_GROUPS,
    POD_GROUPS,
    CustomResource,
    ObjectKey,
)
from scheduler_svc.controller.holdings import HeldObject, Holdings
from scheduler_svc.controller.pod_groups.members import Member, MemberIndex
from scheduler_svc.controller.pod_groups.reconciler import PodGroupReconciler
from scheduler_svc.controller.status_writer import StatusWriter
from tests.unit.scheduler_svc.controller.members import GROUP, held, placed, running, stuck
from tests.unit.scheduler_svc.shell.scripted_api import ScriptedApi, ScriptedClient, status


class Server(ScriptedApi):
    """Keeps the group as the API server does, and drops what its definition lacks."""

    def __init__(self, *, keeps: set[str] | None = None) -> None:
        super().__init__()
        self.keeps = keeps
        self.stored: HeldObject | None = None
        self.refusal: Response | None = None

    async def answer(self, method: str, path: str, body: bytes | None) -> Response:
        await super().answer(method, path, body)
        if self.refusal is not None:
            return self.refusal
        assert self.stored is not None
        assert body is not None
        self.change(msgspec.json.decode(body)["status"])
        return self.document()

    def change(self, fields: dict[str, Any]) -> HeldObject:
        """Change fields of the status, as anybody may."""
        assert self.stored is not None
        kept = {k: v for k, v in fields.items() if self.keeps is None or k in self.keeps}
        version = int(self.stored.resource_version) + 1
        self.stored = msgspec.structs.replace(
            self.stored, resource_version=str(version), status={**self.stored.status, **kept}
        )
        return self.stored

    def annotate(self, name: str, value: str) -> None:
        """Set an annotation of ours, as a user does."""
        assert self.stored is not None
        version = int(self.stored.resource_version) + 1
        self.stored = msgspec.structs.replace(
            self.stored,
            resource_version=str(version),
            annotations={**self.stored.annotations, f"berthmaster.dev/{name}": value},
        )

    def document(self) -> Response:
        assert self.stored is not None
        metadata = {
            "namespace": self.stored.key.namespace,
            "name": self.stored.key.name,
            "uid": self.stored.uid,
            "resourceVersion": self.stored.resource_version,
            "generation": self.stored.generation,
            "creationTimestamp": self.stored.created_at,
            "annotations": self.stored.annotations,
        }
        body = {"metadata": metadata, "spec": self.stored.spec, "status": self.stored.status}
        return Response(200, [], msgspec.json.encode(body))


class Bench:
    """A reconciler of one group before a server."""

    def __init__(
        self, stored: HeldObject | None = None, *, keeps: set[str] | None = None, leads: bool = True
    ) -> None:
        self.server = Server(keeps=keeps)
        self.stored = stored or held(spec={"minMember": 2})
        self.server.stored = self.stored
        self.leads = leads
        self.events: list[str] = []
        self.seconds: list[float] = []
        self.lacking: dict[CustomResource, frozenset[str]] = {}
        self.begin()

    def begin(self) -> None:
        """Begin with what the server has, as after a restart."""
        members = getattr(self, "members", None)
        self.holdings = Holdings(lambda _: None)
        self.members: MemberIndex = members or MemberIndex(lambda _: None, lambda: None)
        self.reconciler = PodGroupReconciler(
            self.holdings,
            self.members,
            StatusWriter(ScriptedClient(self.server), may_write=lambda: self.leads),
            lacking=self.lacking,
            serves=lambda name: name == "berthmaster",
            submit_event=lambda _key, _uid, text: self.events.append(text.reason),
            note_seconds=lambda _, seconds: self.seconds.append(seconds),
        )
        self.tell()

    def tell(self) -> None:
        """Have the watch tell of the group as it is stored."""
        assert self.server.stored is not None
        self.holdings.tell(self.server.stored)

    def put(self, *members: Member) -> None:
        self.members.clear()
        for member in members:
            self.members.deliver(Upserted(member))

    async def look(self, key: ObjectKey = GROUP) -> float | None:
        return await self.reconciler.reconcile(key, 0.0)

    @property
    def write_count(self) -> int:
        return len(self.server.requests)

    @property
    def status(self) -> dict[str, Any]:
        assert self.server.stored is not None
        return dict(self.server.stored.status)


async def test_what_is_said_is_written_once_and_told_once() -> None:
    bench = Bench()
    bench.put(*stuck(2, "pod group: needs 2, 1 fits"))
    await bench.look()
    await bench.look()
    bench.tell()
    await bench.look()
    assert bench.write_count == 1
    assert bench.status["phase"] == "Pending"
    assert bench.status["conditions"][0]["message"] == "needs 2, 1 fits"
    bench.put(*placed(2))
    await bench.look()
    assert bench.events == ["Unschedulable", "Scheduled"]
    assert bench.reconciler.phases == {GROUP: "Scheduled"}
    assert len(bench.seconds) == 2


async def test_a_mode_that_there_is_not_is_told_until_it_is_put_right() -> None:
    bench = Bench()
    bench.put(*stuck(2))
    bench.server.annotate("pack-by", "topology.kubernetes.io/zone")
    for mode in ("preferred", "preferred", "Preferred"):
        bench.server.annotate("pack-by-mode", mode)
        bench.tell()
        await bench.look()
        await bench.look()
        valid = {each["type"]: each for each in bench.status["conditions"]}["Valid"]
        is_valid = mode == "Preferred"
        assert (valid["status"], valid["reason"]) == (
            ("True", "Valid") if is_valid else ("False", "Invalid")
        )
        assert ('Unsupported value: "preferred"' in valid["message"]) is not is_valid
        bench.begin()
    assert bench.write_count == 2
    assert bench.events == ["Unschedulable", "Invalid"]
    assert bench.status["phase"] == "Pending"


async def test_where_there_are_no_conditions_an_event_names_the_mode() -> None:
    bench = Bench(keeps={"phase"})
    bench.put(*stuck(2))
    bench.server.annotate("pack-by", "topology.kubernetes.io/zone")
    for mode in ("Required", "x", "x", "Preferred", "x"):
        bench.server.annotate("pack-by-mode", mode)
        bench.tell()
        await bench.look()
    assert bench.events == ["Unschedulable", "Invalid", "Invalid"]


async def test_after_a_restart_nothing_is_written_or_told() -> None:
    bench = Bench()
    bench.put(*running(2))
    await bench.look()
    bench.begin()
    await bench.look()
    assert bench.write_count == 1
    assert bench.events == ["Scheduled"]
    assert bench.reconciler.phases == {GROUP: "Running"}


async def test_a_definition_that_drops_fields_is_learnt() -> None:
    bench = Bench(keeps={"phase", "running", "scheduleStartTime"})
    bench.put(*stuck(2))
    await bench.look()
    await bench.look()
    assert bench.lacking == {POD_GROUPS: frozenset({"conditions"})}
    bench.put(*running(2))
    await bench.look()
    await bench.look()
    assert bench.lacking == {POD_GROUPS: frozenset({"conditions", "scheduled"})}
    assert bench.write_count == 2
    assert bench.events == ["Unschedulable", "Scheduled"]
    # What nothing is written for is told all the same, once; and a restart tells nothing.
    bench.put(*stuck(2))
    await bench.look()
    await bench.look()
    assert bench.events == ["Unschedulable", "Scheduled", "Unschedulable"]
    written = bench.write_count
    bench.begin()
    await bench.look()
    assert (bench.write_count, len(bench.events)) == (written, 3)


async def test_a_standby_judges_and_writes_nothing() -> None:
    bench = Bench(leads=False)
    bench.put(*placed(2))
    await bench.look()
    assert bench.reconciler.phases == {GROUP: "Scheduled"}
    assert (bench.write_count, bench.events) == (0, [])
    bench.leads = True
    await bench.look()
    assert (bench.write_count, bench.events) == (1, ["Scheduled"])


async def test_a_group_that_cannot_be_written_is_kept_until_the_watch_says_it_is_gone() -> None:
    """Else the census finds that kopf does not tell of it, and `/livez` fails."""
    bench = Bench()
    bench.server.refusal = status(404, "not found")
    bench.put(*placed(2))
    await bench.look()
    held = bench.holdings.get(GROUP)
    assert held is not None
    assert bench.events == []
    bench.holdings.remove(GROUP, held.uid)
    await bench.look()
    assert bench.reconciler.phases == {}


async def test_a_conflict_is_the_callers_and_nothing_is_told() -> None:
    bench = Bench()
    bench.server.refusal = status(409, "modified")
    bench.put(*placed(2))
    with pytest.raises(ConflictError):
        await bench.look()
    assert bench.events == []


async def test_who_overwrites_again_and_again_is_left_alone_for_ever_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    bench = Bench()
    bench.put(*placed(2))
    delays = []
    for _ in range(12):
        bench.server.change({"phase": "Scheduling"})
        bench.tell()
        delay_seconds = await bench.look()
        delays.append(delay_seconds)
        now[0] += delay_seconds or 0.0
    waited = [delay for delay in delays if delay is not None]
    assert delays[:4] == [None] * 4
    assert waited == [2, 4, 8, 16]
    assert bench.write_count == 8
    # Once it is over, it is over.
    now[0] += 2000
    assert await bench.look() is None


async def test_a_built_in_group_of_another_scheduler_is_left_to_it() -> None:
    key = ObjectKey(BUILT_IN_POD_GROUPS, "default", "gang")
    spec = {"schedulingPolicy": {"gang": {"minCount": 1}}}
    bench = Bench(held("gang", resource=BUILT_IN_POD_GROUPS, spec=spec))
    member = Member("a", (key,), has_node=True, scheduler_name="default-scheduler")
    bench.put(member)
    await bench.look(key)
    assert bench.write_count == 0
    bench.put(msgspec.structs.replace(member, scheduler_name="berthmaster"))
    await bench.look(key)
    assert bench.write_count == 1
    assert bench.status.keys() == {"conditions"}
