"""What is asked when, and what becomes of the answers."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from node_agent.core.clock import Now
from node_agent.core.divergence.causes import Cause
from node_agent.core.journey.marks import MarkKind
from node_agent.core.objects import Pod
from node_agent.core.operations import Operation, Source
from node_agent.core.static_pods import Refusal, RefusalReason
from node_agent.shell.journey.file_times import birth_nanoseconds
from node_agent.shell.kubelet.observation import Observation
from node_agent.shell.observation_options import ObservationOptions
from node_agent.shell.pod_source import RefusedManifests
from tests.faultproxy import wait_until
from tests.unit.kubeio.fake_api import client_of
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.journey.stages import nanoseconds, stamp
from tests.unit.node_agent.core.pods import at, make_pod
from tests.unit.node_agent.shell.journey.test_metrics import value
from tests.unit.node_agent.shell.kubelet.stub import StubKubelet, shown


@dataclass
class StubApi:
    """Answers with Events, and keeps those that are written."""

    events: list[Any] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    written: list[Any] = field(default_factory=list)
    status: int = 200

    async def answer(self, request: web.Request) -> web.Response:
        if request.method == "POST":
            self.written.append(await request.json())
            return web.json_response({}, status=self.status)
        self.lists.append(request.query.get("fieldSelector", ""))
        return web.json_response({"items": self.events}, status=self.status)


@dataclass
class Clock:
    second: float = 2.0

    def now(self) -> Now:
        return at(self.second)


@dataclass
class Bench:
    observation: Observation
    stub: StubKubelet
    api: StubApi
    clock: Clock
    refused: RefusedManifests

    async def tick(self, second: float) -> None:
        self.clock.second = second
        await self.observation.poller.tick()

    def add(self, pod: Pod, second: float, source: Source = Source.API) -> None:
        for observer in self.observation.observers:
            observer.pod_operation(Operation.ADD, source, pod, at(second))

    def update(self, pod: Pod, second: float) -> None:
        for observer in self.observation.observers:
            observer.pod_operation(Operation.RECONCILE, Source.API, pod, at(second))

    def asked(self, path: str) -> int:
        return self.stub.asked.count(path)

    def shown(self, name: str, **labels: str) -> float | None:
        return value(self.observation.collect(), name, **labels)

    def cause(self, uid: str = "uid-a") -> Cause | None:
        cause = self.observation.divergences.cause_of(uid)
        return None if cause is None else cause.diagnosis.cause


@asynccontextmanager
async def bench(*, asks: bool = True, **options: Any) -> AsyncIterator[Bench]:
    stub, api, clock = StubKubelet(), StubApi(), Clock()
    refused = RefusedManifests(Source.FILE)

    async with client_of(stub.answer) as kubelet, client_of(api.answer) as api_client:
        observation = Observation(
            ObservationOptions(**options),
            node_name="n",
            api=api_client,
            kubelet=kubelet if asks else None,
            sources=[Source.API],
            refused={"file": refused},
            read_now=clock.now,
        )
        for observer in observation.observers:
            observer.source_listed(Source.API, at(0))
        yield Bench(observation, stub, api, clock, refused)


async def test_at_rest_the_kubelet_is_asked_seldom() -> None:
    async with bench() as made:
        for second in range(2, 62):
            await made.tick(second)
        assert made.asked("/pods") == 6
        assert made.asked("/metrics") == 1
        assert made.asked("/configz") == 1
        assert made.observation.divergences.limits.manifest == 60


async def test_a_new_pod_is_asked_for_until_the_kubelet_shows_it() -> None:
    async with bench() as made:
        await made.tick(2)
        made.add(stages.bound(), 2.5)
        for second in (3, 4):
            await made.tick(second)
        assert made.asked("/pods") == 3
        assert made.cause() is Cause.NOT_SEEN
        made.stub.pods = [shown("a")]
        for second in (5, 6, 7):
            await made.tick(second)
        assert made.asked("/pods") == 4
        journey = made.observation.journeys.journey("uid-a")
        assert journey is not None
        assert journey.marks[MarkKind.KUBELET_SEEN] == nanoseconds(2.125)
        assert made.cause() is Cause.SYNC_NOT_STARTED
        assert made.shown("berthmaster_kubelet_pods", source="api") == 1
        assert made.shown("berthmaster_pods_not_running", cause="sync_not_started") == 1
        assert made.shown("berthmaster_pods_not_running_age_seconds", cause="sync_not_started") == 2


async def test_a_pod_that_the_kubelet_never_sees_is_asked_for_a_minute_only() -> None:
    async with bench() as made:
        made.add(stages.bound(), 2)
        for second in range(2, 162):
            await made.tick(second)
        # Each second up to 62, then at 72, 82, … 152.
        assert made.asked("/pods") == 61 + 9
        labels = {"kind": "missing_in_kubelet", "source": "api"}
        assert made.shown("berthmaster_kubelet_divergence_pods", **labels) == 1
        age = made.shown("berthmaster_kubelet_divergence_age_seconds", **labels)
        assert age == 161 - 7


async def test_a_kubelet_that_does_not_answer() -> None:
    async with bench() as made:
        made.add(stages.bound(), 1)
        made.stub.broken = True
        await made.tick(2)
        assert made.cause() is Cause.KUBELET_UNREACHABLE
        up = "berthmaster_kubelet_endpoint_up"
        assert made.shown(up, endpoint="pods") == 0
        made.stub.broken = False
        await made.tick(12)
        assert made.cause() is Cause.NOT_SEEN
        assert made.shown(up, endpoint="pods") == 1
        made.clock.second = 15
        assert made.shown("berthmaster_kubelet_endpoint_age_seconds", endpoint="pods") == 3


async def test_a_kubelet_that_does_not_let_us() -> None:
    async with bench() as made:
        made.add(stages.bound(), 1)
        made.stub.refused = {"/pods", "/metrics", "/configz"}
        await made.tick(2)
        assert made.cause() is Cause.KUBELET_SILENT
        states = made.observation.poller.endpoints.states
        assert {name for name, state in states.items() if state.is_refused} == {
            "pods",
            "metrics",
            "configz",
        }


async def test_without_a_kubelet() -> None:
    async with bench(asks=False) as made:
        made.add(stages.running(), 1)
        await made.tick(2)
        assert made.cause() is Cause.READINESS_PROBE
        assert made.stub.asked == []


async def test_running_pods_may_be_refused_alone() -> None:
    async with bench() as made:
        made.stub.refused = {"/runningpods/"}
        made.stub.pods = [shown("a")]
        await made.tick(2)
        assert made.shown("berthmaster_kubelet_endpoint_up", endpoint="runningpods") == 0
        assert made.shown("berthmaster_kubelet_endpoint_up", endpoint="pods") == 1


async def test_a_restart_of_the_kubelet_is_counted() -> None:
    async with bench() as made:
        for number, start in enumerate(("1e9", "1e9", "2e9")):
            made.stub.metrics = f"process_start_time_seconds {start}\n"
            await made.tick(2 + 60 * number)
        assert made.shown("berthmaster_kubelet_restarts_total") == 1


async def test_the_kubelets_own_figures_are_shown_beside_ours() -> None:
    async with bench() as made:
        await made.tick(2)
        name = "berthmaster_kubelet_pod_start_sli_duration_seconds"
        assert made.shown(f"{name}_bucket", le="1.0") == 3 or made.shown(f"{name}_bucket", le="1")
        assert made.shown(f"{name}_count") == 4
        assert made.shown(f"{name}_sum") == 7.25
        made.stub.metrics = 'kubelet_pod_start_sli_duration_seconds_bucket{le="1"} 3\n'
        await made.tick(62)
        assert made.shown(f"{name}_count") is None


async def test_directories(tmp_path: Path) -> None:
    pods = tmp_path / "pods"
    (pods / "uid-a").mkdir(parents=True)
    (tmp_path / "logs").mkdir()
    paths: dict[str, Any] = {
        "kubelet_pods_path": str(pods),
        "pod_logs_path": str(tmp_path / "logs"),
    }
    async with bench(**paths) as made:
        made.add(stages.with_sandbox(), 3)
        made.add(make_pod("etcd-n", annotations={"kubernetes.io/config.source": "file"}), 3)
        await made.tick(4)
        journey = made.observation.journeys.journey("uid-a")
        assert journey is not None
        born = birth_nanoseconds(pods / "uid-a")
        assert journey.marks.get(MarkKind.SYNC_STARTED_FILES) == born
        assert not journey.are_files_read
        await made.tick(12)
        assert made.cause() is Cause.IMAGE_PULL
        made.update(stages.running(), 5)
        await made.tick(13)
        assert journey.are_files_read


async def test_log_directories_that_are_not_mounted_tell_nothing_apart(tmp_path: Path) -> None:
    async with bench(kubelet_pods_path=str(tmp_path)) as made:
        made.add(stages.with_sandbox(), 3)
        await made.tick(4)
        await made.tick(14)
        assert made.cause() is Cause.IMAGE_PULL_OR_CREATION


async def test_events_are_listed_once_a_pod_has_started() -> None:
    async with bench(read_events=True) as made:
        made.api.events = [
            {
                "reason": "Pulled",
                "message": 'Successfully pulled image "i" in 1s (1.5s including waiting)',
                "involvedObject": {"fieldPath": "spec.containers{c}"},
                "lastTimestamp": stamp(4),
            }
        ]
        made.add(stages.bound(), 2)
        await made.tick(3)
        assert made.api.lists == []
        made.update(stages.running(), 5.75)
        await made.tick(6)
        await made.tick(7)
        assert made.api.lists == ["involvedObject.uid=uid-a"]
        await made.tick(20)
        name = "berthmaster_pod_start_sli_duration_seconds"
        assert made.shown(f"{name}_sum") == 4.25
        assert made.shown("berthmaster_pod_event_reads_total", result="read") == 1


async def test_events_that_come_late_are_listed_again_a_few_times() -> None:
    async with bench(read_events=True) as made:
        made.add(stages.bound(), 2)
        made.update(stages.running(), 5.5)
        for second in range(6, 30):
            await made.tick(second)
        assert len(made.api.lists) == 3
        # At 6, 9 and 12 seconds: before its figures settle, ten seconds after it has started.
        skipped = "berthmaster_pod_journeys_skipped_total"
        assert made.shown(skipped, reason="pulls_unknown") == 1


async def test_events_of_a_stuck_pod_tell_its_cause() -> None:
    async with bench(read_events=True) as made:
        made.api.events = [{"reason": "FailedMount", "message": "m"}]
        spec = {"containers": [{"name": "c"}], "volumes": [{"name": "v", "secret": {}}]}
        pod = stages.pod_with({"startTime": stamp(2)}, spec=spec)
        made.stub.pods = [shown("a")]
        made.add(pod, 2)
        await made.tick(2)
        assert made.cause() is Cause.VOLUMES_OR_SANDBOX
        await made.tick(3)
        await made.tick(12)
        assert made.cause() is Cause.VOLUMES
        assert len(made.api.lists) == 1
        for observer in made.observation.observers:
            observer.pod_operation(Operation.REMOVE, Source.API, pod, at(13))
        await made.tick(14)
        assert made.observation.poller._event_lists == {}


async def test_events_that_may_not_be_read_are_not_asked_for_again_at_once() -> None:
    async with bench(read_events=True) as made:
        made.api.status = 403
        made.add(stages.running(), 2)
        for second in range(3, 63):
            await made.tick(second)
        assert len(made.api.lists) == 1
        await made.tick(63)
        assert len(made.api.lists) == 2


async def test_a_lasting_difference_is_written_once_and_only_where_asked_for() -> None:
    for writes in (False, True):
        async with bench(write_events=writes) as made:
            made.add(stages.bound(), 2)
            for second in itertools.chain(range(2, 12), range(60, 90, 10)):
                await made.tick(second)
            assert len(made.api.written) == writes
            if not writes:
                continue
            (event,) = made.api.written
            assert event["reason"] == "MissingInKubelet"
            assert event["regarding"]["uid"] == "uid-a"
            assert event["eventTime"] == "2026-06-01T12:01:10.000000Z"
            assert event["note"] == "The kubelet has not seen it. So for 63 s."
            assert made.shown("berthmaster_divergence_events_total", result="written") == 1


async def test_how_long_it_lasts_before_that_is_said_by_a_flag() -> None:
    async with bench(write_events=True, write_events_after_seconds=3.0) as made:
        made.add(stages.bound(), 2)
        for second in range(2, 12):
            await made.tick(second)
        (event,) = made.api.written
        assert event["note"] == "The kubelet has not seen it. So for 3 s."


async def test_a_write_that_fails_is_counted() -> None:
    async with bench(write_events=True) as made:
        made.api.status = 500
        made.add(stages.bound(), 2)
        for second in (10, 20, 80):
            await made.tick(second)
        assert made.shown("berthmaster_divergence_events_total", result="failed") == 1


async def test_two_differences_of_one_pod_are_two_events() -> None:
    async with bench(write_events=True, write_events_after_seconds=1.0) as made:
        annotations = {"kubernetes.io/config.source": "api"}
        deleted: dict[str, Any] = {
            "deletionTimestamp": stages.stamp(1),
            "deletionGracePeriodSeconds": 30,
        }
        made.stub.pods = [shown(labels={"x": "1"}, annotations=annotations, **deleted)]
        made.add(make_pod(), 2)
        for second in (10, 20, 30):
            await made.tick(second)
        reasons = {event["reason"] for event in made.api.written}
        assert reasons == {"SpecDiffers", "DeletionDiffers"}
        assert len({event["metadata"]["name"] for event in made.api.written}) == 2


async def test_what_only_the_runtime_has_gets_no_event() -> None:
    async with bench(write_events=True) as made:
        made.stub.running = ["stranger"]
        for second in (2, 12, 80):
            await made.tick(second)
        assert made.api.written == []
        labels = {"kind": "unknown_to_kubelet", "source": "runtime"}
        assert made.shown("berthmaster_kubelet_divergence_pods", **labels) == 1


async def test_it_runs_until_it_is_cancelled() -> None:
    async with bench() as made:
        running = asyncio.create_task(made.observation.run())
        await wait_until(lambda: made.asked("/metrics") and made.api.lists, what="both were asked")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert made.asked("/pods") == 1


async def test_divergences_as_json() -> None:
    async with bench() as made:
        made.refused.note("/m/x.yaml", Refusal(RefusalReason.UNPARSABLE, "line 3: not YAML"))
        made.refused.note("/m/\udcff", Refusal(RefusalReason.DIRECTORY, "a folder"))
        made.add(stages.bound(), 2)
        for second in (7, 8):
            await made.tick(second)
        _, _, handler = next(r for r in made.observation.routes() if r[1] == "/divergences")
        response = await handler(web.Request.__new__(web.Request))
        assert isinstance(response, web.Response)
        assert isinstance(response.body, bytes)
        answer = msgspec.json.decode(response.body)
    assert answer["divergences"] == [
        {
            "kind": "missing_in_kubelet",
            "source": "api",
            "namespace": "default",
            "name": "a",
            "uid": "uid-a",
            "detail": "The kubelet has not seen it.",
            "ageSeconds": 1.0,
        }
    ]
    (waiting,) = answer["notRunning"]
    assert (waiting["cause"], waiting["ageSeconds"]) == ("not_seen", 1.0)
    assert answer["kubelet"]["pods"] == {"up": True, "ageSeconds": 0.0}
    assert answer["refusedManifests"] == [
        {
            "source": "file",
            "place": "/m/x.yaml",
            "reason": "unparsable",
            "message": "line 3: not YAML",
        },
        {
            "source": "file",
            "place": "/m/\\xff",
            "reason": "directory",
            "message": "a folder",
        },
    ]
    assert answer["staticPodPath"] == "/etc/kubernetes/manifests"
