"""All parts together, without a network: a dry run's Pods are bound in name."""

from collections.abc import AsyncIterator, Collection

import pytest

from kubeio.api_call_metrics import ApiCallMetrics
from kubeio.changes import Deleted, Upserted
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.login import Login
from kubeio.serving_options import ServingOptions
from kubeio.writes import WritePool
from scheduler_svc.core.events import NodeDeleted, NodeUpserted, PodUpserted
from scheduler_svc.shell.access import Access
from scheduler_svc.shell.assembly import Parts, assemble
from scheduler_svc.shell.hooks import Hooks, Identity
from scheduler_svc.shell.options import SchedulerOptions
from scheduler_svc.shell.startup import plan_start
from tests.builders import make_node_info, make_pod_info
from tests.unit.scheduler_svc.shell.scheduler_profiles.building import make_profile


class Process:
    """The parts, and what they told us."""

    def __init__(self, parts: Parts, access: Access) -> None:
        self.parts = parts
        self.access = access

    def work(self) -> None:
        while self.parts.loop.work():
            pass

    def sample(self, metric: str, /, **labels: str) -> float | None:
        return self.parts.registry.get_sample_value(metric, labels)


def ignore() -> None:
    """Take note of nothing."""


async def read_login() -> Login:
    return Login(server_url="http://127.0.0.1:1")


async def make_process(*, dry_run: bool) -> Process:
    options = SchedulerOptions(
        version="1.2.3",
        dry_run=dry_run,
        serving=ServingOptions(bind_address="127.0.0.1", port=0),
    )
    credentials = Credentials(await read_login(), read_login)
    pool = WritePool(credentials, user_agent="test")
    client = KubeClient(credentials, user_agent="test")
    access = Access(client=client, pool=pool, events=pool, calls=ApiCallMetrics("127.0.0.1:1"))
    identity = Identity(holder="host_1", instance="abc", seed=1)
    hooks = Hooks(may_attempt=lambda: True, on_listed=ignore, on_leading=ignore, on_lost=ignore)
    return Process(assemble(plan_start(options), identity, access, hooks), access)


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    made = await make_process(dry_run=True)
    writers = made.parts.writers
    async with writers.patcher, writers.recorder, writers.binder, writers.pre_bind:
        yield made


async def test_pods_go_from_the_inbox_to_a_node_and_into_the_metrics(process: Process) -> None:
    inbox = process.parts.inbox
    inbox.put(NodeUpserted(make_node_info("n1", cpu=2)))
    inbox.put(PodUpserted(make_pod_info("fits", requests={"cpu": 1})))
    inbox.put(PodUpserted(make_pod_info("too-large", requests={"cpu": 9})))
    inbox.put(PodUpserted(make_pod_info("gated", gates=["example.com/wait"])))
    process.work()
    process.parts.scheduler.validate()

    attempts = "scheduler_schedule_attempts_total"
    assert process.sample(attempts, result="scheduled", profile="berthmaster") == 1
    assert process.sample(attempts, result="unschedulable", profile="berthmaster") == 1
    pending = {
        queue: process.sample("scheduler_pending_pods", queue=queue)
        for queue in ("active", "backoff", "unschedulable", "gated")
    }
    assert pending == {"active": 0, "backoff": 0, "unschedulable": 1, "gated": 1}
    sizes = {
        kind: process.sample("scheduler_cache_size", type=kind)
        for kind in ("nodes", "pods", "assumed_pods")
    }
    assert sizes == {"nodes": 1, "pods": 1, "assumed_pods": 1}
    assert (
        process.sample(
            "scheduler_unschedulable_pods", plugin="NodeResourcesFit", profile="berthmaster"
        )
        == 1
    )
    incoming = "scheduler_queue_incoming_pods_total"
    assert process.sample(incoming, queue="active", event="UnschedulablePodAdd") == 2
    assert process.sample("berthmaster_pod_classes") == 2


async def test_counts_of_the_core_add_up_over_scrapes(process: Process) -> None:
    incoming = "scheduler_queue_incoming_pods_total"
    labels = {"queue": "active", "event": "UnschedulablePodAdd"}
    for number in range(2):
        process.parts.inbox.put(PodUpserted(make_pod_info(f"p{number}")))
        process.work()
        assert process.sample(incoming, **labels) == number + 1
    assert process.sample(incoming, **labels) == 2


async def test_hints_are_counted_by_answer(process: Process) -> None:
    inbox = process.parts.inbox
    inbox.put(NodeUpserted(make_node_info("n1", cpu=2)))
    inbox.put(PodUpserted(make_pod_info("too-large", requests={"cpu": 9})))
    process.work()
    inbox.put(NodeUpserted(make_node_info("n2", cpu=2)))
    process.work()
    labels = {"plugin": "NodeResourcesFit", "event": "NodeAdd", "hint": "QueueSkip"}
    assert process.sample("berthmaster_queueing_hints_total", **labels) == 1


async def test_watches_calls_and_the_process_are_shown(process: Process) -> None:
    pods = process.parts.reflectors.by_resource["pods"].statistics
    pods.object_count, pods.event_count, pods.decode_failure_count = 7, 9, 2
    pods.lists, pods.endings = {"start": 1, "expired": 3}, {"lost": 4}
    process.access.calls.observe("POST", "pods/binding", "201", 0.0015)
    process.access.calls.observe("POST", "pods/binding", "409", 0.0015)
    shown = {
        "objects": process.sample("berthmaster_watched_objects", resource="pods"),
        "events": process.sample("berthmaster_watch_events_total", resource="pods"),
        "bad": process.sample("berthmaster_undecodable_objects_total", resource="pods"),
        "relists": process.sample(
            "berthmaster_watch_lists_total", resource="pods", reason="expired"
        ),
        "lost": process.sample("berthmaster_watch_endings_total", resource="pods", reason="lost"),
        "refused": process.sample(
            "berthmaster_api_calls_total", verb="POST", resource="pods/binding", code="409"
        ),
        "calls": process.sample(
            "berthmaster_api_call_seconds_count", verb="POST", resource="pods/binding"
        ),
        "concurrency": process.sample("berthmaster_bind_concurrency"),
        "events queued": process.sample("berthmaster_events_queued"),
    }
    assert shown == {
        "objects": 7,
        "events": 9,
        "bad": 2,
        "relists": 3,
        "lost": 4,
        "refused": 1,
        "calls": 2,
        "concurrency": 32,
        "events queued": 0,
    }
    assert process.sample("berthmaster_watch_last_event_age_seconds", resource="pods") is None
    assert process.sample("leader_election_master_status", name="berthmaster") is None
    assert process.sample("process_resident_memory_bytes") is not None


async def test_standby_is_not_master_of_its_lease() -> None:
    process = await make_process(dry_run=False)
    assert process.parts.writers.election is not None
    assert process.sample("leader_election_master_status", name="berthmaster") == 0


async def test_node_that_is_gone_gets_no_binding() -> None:
    """The core has decided already when the Node goes; nothing may be sent for it."""
    process = await make_process(dry_run=False)
    parts = process.parts
    election = parts.writers.election
    assert election is not None
    election.may_bind = lambda: True  # type: ignore[method-assign]
    parts.inbox.put(NodeUpserted(make_node_info("n1")))
    parts.inbox.put(PodUpserted(make_pod_info("p1")))
    process.work()
    parts.inbox.put(NodeDeleted("n1"))
    process.work()
    writers = parts.writers
    async with writers.binder:
        await writers.binder.drain(5)
    assert len(parts.inbox) == 1
    event = parts.inbox.take()
    assert "uid-p1" in repr(event)
    assert process.sample("berthmaster_api_calls_total") is None


async def test_profiles_that_come_have_their_pods_decided_measured_and_shown(
    process: Process,
) -> None:
    profiles, inbox = process.parts.profiles, process.parts.inbox
    assert profiles is not None
    inbox.put(NodeUpserted(make_node_info("n1", cpu=2)))
    inbox.put(PodUpserted(make_pod_info("waits", scheduler="batch")))
    process.work()
    following = profiles._follower
    following._is_listed = True
    # What its plugins read has been listed.
    following._kinds = Listed()
    following.take(Upserted(make_profile("night", {"schedulerName": "batch"}, generation=4)))
    following.follow()
    process.work()
    attempts = "scheduler_schedule_attempts_total"
    assert process.sample(attempts, result="scheduled", profile="batch") == 1
    assert process.sample(attempts, result="error", profile="batch") == 0
    [shown] = profiles.documents()
    assert (shown["name"], shown["generation"]) == ("night", 4)
    assert shown["profile"]["schedulerName"] == "batch"
    assert process.sample("berthmaster_watched_objects", resource="schedulerprofiles") == 0
    following.take(Deleted("", "night", "uid-night"))
    following.follow()
    process.work()
    assert profiles.documents() == []
    assert set(process.parts.scheduler.profiles) == {"berthmaster"}


class Listed:
    """Everything has been listed."""

    def __init__(self) -> None:
        self.on_more_listed = ignore

    def require(self, plugins: Collection[str]) -> bool:
        return bool(plugins)
