"""Nothing is judged before all is known, and profiles are judged together."""

import asyncio
from typing import Any

import msgspec
import pytest

from kubeio.changes import Listed, Upserted
from kubeio.errors import ConflictError, ConnectionLostError
from kubeio.response import Response
from scheduler_svc.controller import reconciliation as module
from scheduler_svc.controller.custom_resources import (
    POD_GROUPS,
    SCHEDULER_PROFILES,
    CustomResource,
    ObjectKey,
)
from scheduler_svc.controller.events import EventWriter
from scheduler_svc.controller.metrics import ObjectMetrics, WorkMetrics, member_state
from scheduler_svc.controller.pod_groups.members import Member
from scheduler_svc.controller.profiles.reconciler import Rules
from scheduler_svc.controller.reconciliation import PROFILES, Reconciliation
from scheduler_svc.controller.status_writer import StatusWriter
from scheduler_svc.shell.config import default_configuration
from scheduler_svc.shell.custom_plugins import NO_PLUGINS
from scheduler_svc.shell.scheduler_profiles.validation import plugin_registry
from tests.faultproxy import wait_until
from tests.unit.scheduler_svc.controller.members import GROUP
from tests.unit.scheduler_svc.controller.test_schemas import document
from tests.unit.scheduler_svc.shell.scripted_api import Answer, ScriptedApi, ScriptedClient, status


def body(name: str, resource: CustomResource, version: int = 5, **spec: Any) -> dict[str, Any]:
    namespace = {} if resource == SCHEDULER_PROFILES else {"namespace": "default"}
    metadata = {"name": name, "uid": name, "resourceVersion": str(version), "generation": 1}
    created = {"creationTimestamp": "2026-11-29T12:00:00Z"}
    return {"metadata": {**metadata, **namespace, **created}, "spec": spec}


class Bench:
    """All that is known, before a scripted API server."""

    def __init__(self, *answers: Answer) -> None:
        self.api = ScriptedApi(*answers, otherwise=status(404, "gone"))
        client = ScriptedClient(self.api)
        rules = Rules(default_configuration({}, ()), plugin_registry(NO_PLUGINS))
        self.writer = StatusWriter(client, may_write=lambda: True)
        self.events = EventWriter(client, hostname="host", seed=1)
        self.reconciliation = Reconciliation(self.writer, self.events, rules, seed=1)
        self.client = client

    def list_members(self, *members: Member) -> None:
        for member in members:
            self.reconciliation.members.deliver(Upserted(member))
        self.reconciliation.members.deliver(Listed("5"))


async def run_until(bench: Bench, what: str, count: int) -> None:
    task = asyncio.create_task(bench.reconciliation.queue.run())
    try:
        await wait_until(lambda: len(bench.api.requests) >= count, what=what)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_nothing_is_judged_before_pods_and_objects_are_known() -> None:
    bench = Bench()
    task = asyncio.create_task(bench.reconciliation.queue.run())
    bench.reconciliation.tell(POD_GROUPS, False, body("train", POD_GROUPS, minMember=1))
    await asyncio.sleep(0.4)
    bench.reconciliation.note_objects()
    await asyncio.sleep(0.05)
    assert bench.api.requests == []
    bench.list_members()
    await wait_until(lambda: bench.api.requests, what="the group is judged")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_what_is_told_as_gone_is_gone() -> None:
    bench = Bench()
    bench.reconciliation.tell(POD_GROUPS, False, body("train", POD_GROUPS))
    bench.reconciliation.tell(POD_GROUPS, True, body("train", POD_GROUPS, version=6))
    assert bench.reconciliation.holdings.get(GROUP) is None


async def test_profiles_are_one_piece_of_work() -> None:
    bench = Bench()
    for name in ("a", "b"):
        bench.reconciliation.tell(
            SCHEDULER_PROFILES, False, body(name, SCHEDULER_PROFILES, schedulerName="shared")
        )
    assert len(bench.reconciliation.queue) == 1
    bench.reconciliation.need_no_members()
    bench.reconciliation.note_objects()
    await run_until(bench, "both profiles are written", 2)
    valid = {
        request.path.split("/")[-2]: request.body["status"]["conditions"][0]["status"]
        for request in bench.api.requests
    }
    assert valid == {"a": "True", "b": "False"}


async def test_a_plugin_that_schedulers_alone_have_leaves_it_open_whether_a_profile_is_valid() -> (
    None
):
    bench = Bench()
    named = {"filter": {"enabled": [{"name": "Quota"}]}}
    content = body("a", SCHEDULER_PROFILES, schedulerName="a", plugins=named)
    content["status"] = {"observedBy": [{"scheduler": "s", "generation": 1}]}
    bench.reconciliation.tell(SCHEDULER_PROFILES, False, content)
    await bench.reconciliation._work(PROFILES, 0.0)
    [request] = bench.api.requests
    assert [
        (condition["type"], condition["status"], condition["reason"])
        for condition in request.body["status"]["conditions"]
    ] == [("Valid", "Unknown", "UnknownPlugin"), ("Active", "True", "Running")]
    assert "active" not in request.body["status"]
    assert list(bench.reconciliation.profiles.is_valid.values()) == [None]


async def test_schedulers_names_are_those_of_the_configuration_and_of_profiles() -> None:
    bench = Bench()
    serves = bench.reconciliation._serves
    assert serves("default-scheduler")
    assert not serves("gpu")
    bench.reconciliation.tell(
        SCHEDULER_PROFILES, False, body("x", SCHEDULER_PROFILES, schedulerName="gpu")
    )
    assert serves("gpu")


async def test_one_profile_that_fails_keeps_no_other_from_its_status() -> None:
    bench = Bench(status(409, "modified"))
    for name in ("a", "b"):
        bench.reconciliation.tell(
            SCHEDULER_PROFILES, False, body(name, SCHEDULER_PROFILES, schedulerName=name)
        )
    with pytest.raises(ConflictError):
        await bench.reconciliation._work(PROFILES, 0.0)
    assert len(bench.api.requests) == 2


async def test_errors_are_counted_by_their_reason() -> None:
    bench = Bench()
    note = bench.reconciliation._note_error
    note(GROUP, ConnectionLostError("gone"))
    note(GROUP, ConnectionLostError("gone"))
    note(PROFILES, ConflictError(409, message="modified"))
    assert bench.reconciliation.error_counts == {
        ("podgroups.scheduling.x-k8s.io", "lost"): 2,
        ("schedulerprofiles.berthmaster.dev", "conflict"): 1,
    }


async def test_a_definition_that_lacks_fields_is_noted_and_groups_are_judged_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SCHEMA_SECONDS", 0.01)
    schema = Response(200, [], msgspec.json.encode(document("phase")))
    bench = Bench(status(503, "not yet"), schema, schema)
    bench.reconciliation.tell(POD_GROUPS, False, body("train", POD_GROUPS))
    task = asyncio.create_task(bench.reconciliation.follow_schemas(bench.client, POD_GROUPS))
    await wait_until(lambda: bench.reconciliation._lacking, what="it is noted")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert "conditions" in bench.reconciliation._lacking[POD_GROUPS]
    assert "phase" not in bench.reconciliation._lacking[POD_GROUPS]


async def test_the_metrics_tell_of_groups_members_and_profiles() -> None:
    bench = Bench()
    known = bench.reconciliation
    known.groups.phases = {
        ObjectKey(POD_GROUPS, "a", str(n)): phase
        for n, phase in enumerate(["Running", "Running", "Pending"])
    }
    unknown = ObjectKey(SCHEDULER_PROFILES, "", "unknown")
    known.profiles.is_valid = {PROFILES: False, unknown: None}
    bench.list_members(Member("1", (GROUP,), has_node=True), Member("2", (GROUP,)))
    samples = {
        (family.name, *sample.labels.values()): sample.value
        for family in ObjectMetrics(known).collect()
        for sample in family.samples
    }
    assert samples["berthmaster_pod_groups", "Running"] == 2
    assert samples["berthmaster_pod_groups", "Pending"] == 1
    assert samples["berthmaster_pod_groups", "Failed"] == 0
    assert samples["berthmaster_pod_group_members", "scheduled"] == 1
    assert samples["berthmaster_pod_group_members", "pending"] == 1
    assert samples["berthmaster_scheduler_profiles", "false"] == 1
    assert samples["berthmaster_scheduler_profiles", "true"] == 0
    assert samples["berthmaster_scheduler_profiles", "unknown"] == 1


def work_samples(bench: Bench) -> dict[tuple[str, ...], float]:
    metrics = WorkMetrics(bench.reconciliation, bench.writer, bench.events)
    return {
        (family.name, *sample.labels.values()): sample.value
        for family in metrics.collect()
        for sample in family.samples
    }


async def test_writes_and_conflicts_are_shown_before_there_are_any() -> None:
    bench = Bench(status(409, "modified"))
    writes, errors = (
        "berthmaster_controller_status_writes",
        "berthmaster_controller_reconcile_errors",
    )
    resource = POD_GROUPS.name
    before = work_samples(bench)
    assert before[writes, resource, "failed"] == before[errors, resource, "conflict"] == 0
    assert (writes, resource, "standby") not in before
    bench.reconciliation.tell(POD_GROUPS, False, body("train", POD_GROUPS, minMember=1))
    bench.list_members()
    bench.reconciliation.note_objects()
    await run_until(bench, "the write is tried", 1)
    after = work_samples(bench)
    assert after[writes, resource, "conflict"] == after[errors, resource, "conflict"] == 1


@pytest.mark.parametrize(
    ("member", "state"),
    [
        (Member("a"), "pending"),
        (Member("a", obstacle="SchedulingGated"), "pending"),
        (Member("a", obstacle="Unschedulable"), "unschedulable"),
        (Member("a", has_node=True), "scheduled"),
        (Member("a", has_node=True, phase="Running"), "running"),
        (Member("a", has_node=True, phase="Failed"), "failed"),
        (Member("a", has_node=True, phase="Succeeded"), "succeeded"),
    ],
)
def test_a_member_has_one_state(member: Member, state: str) -> None:
    assert member_state(member) == state
