"""What the running scheduler answers over HTTPS; who may ask is tested with the server."""

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from berthmaster.plugin import NoArgs, Node, NodePlugin, Pod
from kubeio.serving import HttpsServer
from kubeio.serving_options import ServingOptions
from scheduler_svc.core.effects import BindPod
from scheduler_svc.core.events import NodeUpserted, PodDeleted, PodUpserted
from scheduler_svc.core.registry import IN_TREE
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.config import default_configuration
from scheduler_svc.shell.custom_plugins import NO_PLUGINS, CustomPlugins
from scheduler_svc.shell.explain.asking import Profiles
from scheduler_svc.shell.explain.endpoint import MAX_BODY_BYTES, ExplainEndpoint
from scheduler_svc.shell.explain.memory import DecisionMemory
from scheduler_svc.shell.profiles import make_profiles
from tests.builders import at, make_node_info, make_pod_info

SCHEDULER = "default-scheduler"


class Rig:
    """A scheduler with two Nodes, and a client of its server."""

    def __init__(self, custom: CustomPlugins = NO_PLUGINS) -> None:
        configuration = default_configuration(custom.known, custom.enabled)
        profiles = make_profiles(configuration, {**IN_TREE, **custom.factories()}).profiles
        self.memory = DecisionMemory()
        self.scheduler = Scheduler(profiles, witness=self.memory.witness)
        self.is_listed = True
        self.server = HttpsServer(
            ServingOptions(bind_address="127.0.0.1", port=0),
            registry=CollectorRegistry(),
            configz=dict,
        )
        ExplainEndpoint(
            self.scheduler,
            Profiles(profiles, judges_all=False, annotations=custom.annotations),
            self.memory,
            is_listed=lambda: self.is_listed,
        ).add_to(self.server)
        for name, cpu in (("small", "1"), ("large", "4")):
            self.scheduler.handle(NodeUpserted(make_node_info(name, cpu=cpu)), at(0))

    def add_pod(self, name: str, cpu: str) -> None:
        pod = make_pod_info(name, scheduler=SCHEDULER, requests={"cpu": cpu})
        self.scheduler.handle(PodUpserted(pod), at(0))

    def decide(self) -> BindPod:
        effects = self.scheduler.step(at(0))
        assert effects is not None
        [effect] = effects
        assert isinstance(effect, BindPod)
        self.memory.decided(effect)
        return effect

    async def call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, str]:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        url = f"https://127.0.0.1:{self.server.port}{path}"
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, data=io.BytesIO(body or b""), ssl=context) as answer,
        ):
            return answer.status, await answer.text()

    async def get(self, path: str) -> tuple[int, str]:
        return await self.call("GET", path)


@asynccontextmanager
async def serving(custom: CustomPlugins = NO_PLUGINS) -> AsyncIterator[Rig]:
    rig = Rig(custom)
    async with rig.server:
        yield rig


def manifest(**fields: Any) -> bytes:
    container = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new", "namespace": "shop"}}
    return json.dumps({**pod, "spec": {"containers": [container]}, **fields}).encode()


async def test_a_pending_pod_is_explained_and_nothing_is_changed() -> None:
    async with serving() as rig:
        rig.add_pod("web", "2")
        status, text = await rig.get("/explain/pods/default/web")
        assert status == 200
        explanation = json.loads(text)
        assert explanation["answer"]["best"] == ["large"]
        assert "decisions" not in explanation
        rig.scheduler.validate()
        assert rig.decide().node_name == "large"


async def test_a_pod_with_a_node_has_a_decision_that_is_remembered() -> None:
    async with serving() as rig:
        rig.add_pod("web", "2")
        effect = rig.decide()
        _, text = await rig.get("/explain/pods/default/web")
        explanation = json.loads(text)
        assert explanation.keys() == {"nodeName", "decisions"}
        assert explanation["nodeName"] == "large"
        _, by_id = await rig.get(f"/explain/decisions/{effect.decision_id}")
        assert [json.loads(by_id)] == explanation["decisions"]


class OnTheNodeItNames(NodePlugin[NoArgs]):
    """Follows an annotation."""

    pod_fields = frozenset({"annotations"})
    pod_annotations = frozenset({"example.com/node"})

    def filter(self, pod: Pod, node: Node) -> str | None:
        return None if pod.annotations.get("example.com/node") == node.name else "not named"


async def test_plugins_read_the_annotations_of_a_pod_that_does_not_exist_yet() -> None:
    custom = CustomPlugins({"OnTheNodeItNames": OnTheNodeItNames}, ("OnTheNodeItNames",))
    async with serving(custom) as rig:
        metadata = {"name": "new", "annotations": {"example.com/node": "large"}}
        status, text = await rig.call("POST", "/explain/pods", manifest(metadata=metadata))
        assert status == 200
        assert json.loads(text)["best"] == ["large"]
        status, text = await rig.call("POST", "/explain/pods", manifest())
        assert json.loads(text)["nodes"]["large"]["reasons"] == ["not named"]


async def test_all_pending_pods_one_a_line() -> None:
    async with serving() as rig:
        rig.add_pod("placed", "1")
        rig.decide()
        for name in ("web", "big"):
            rig.add_pod(name, "8")
        status, text = await rig.get("/explain/pending?preempt=true")
        assert status == 200
        answers = [json.loads(line) for line in text.splitlines()]
        assert [answer["pod"] for answer in answers] == ["default/web", "default/big"]
        assert all(answer["postFilter"]["code"] == "Unschedulable" for answer in answers)
        _, text = await rig.get("/explain/pending?namespace=default")
        assert len(text.splitlines()) == 2
        assert await rig.get("/explain/pending?namespace=shop") == (200, "")


async def test_a_pod_that_does_not_exist() -> None:
    async with serving() as rig:
        status, text = await rig.call("POST", "/explain/pods", manifest())
        assert status == 200
        assert json.loads(text)["pod"] == "shop/new"
        assert json.loads(text)["best"] == ["large"]
        assert not rig.scheduler.pending


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "the body is no manifest"),
        (b"[]", 400, "the body is no manifest"),
        (manifest(kind="Node"), 400, "the body is no Pod"),
        (manifest(spec={"containers": 3}), 400, "Expected `array`, got `int`"),
        (b" " * (MAX_BODY_BYTES + 1), 413, "at most"),
    ],
)
async def test_what_is_no_pod_is_refused(body: bytes, status: int, message: str) -> None:
    async with serving() as rig:
        answered, text = await rig.call("POST", "/explain/pods", body)
        assert answered == status
        assert message in text


async def test_what_is_not_known_is_said() -> None:
    async with serving() as rig:
        assert (await rig.get("/explain/pods/default/web"))[0] == 404
        assert (await rig.get("/explain/decisions/abc-1"))[0] == 404
        rig.is_listed = False
        status, text = await rig.get("/explain/pending")
        assert (status, text) == (503, "the cluster has not been listed yet\n")


async def test_another_profiles_pod_is_judged_by_its_own_or_not_at_all() -> None:
    async with serving() as rig:
        body = manifest(spec={"schedulerName": "nobody", "containers": []})
        _, text = await rig.call("POST", "/explain/pods", body)
        answer = json.loads(text)
        assert answer["error"] == "no profile for scheduler name nobody"
        assert answer["servedSchedulerNames"] == [SCHEDULER]


async def test_of_a_pod_that_is_not_known_any_more_it_is_told_who_is_served() -> None:
    async with serving() as rig:
        status, text = await rig.get("/explain/pods/default/web")
        assert status == 404
        assert text.endswith(f"; it serves the schedulerNames {SCHEDULER}\n")
        rig.add_pod("web", "2")
        rig.decide()
        rig.scheduler.handle(PodDeleted("uid-web"), at(1))
        _, text = await rig.get("/explain/pods/default/web")
        assert json.loads(text).keys() == {"decisions", "servedSchedulerNames"}
        assert json.loads(text)["servedSchedulerNames"] == [SCHEDULER]


async def test_what_keeps_a_pod_out_of_the_queue_is_told() -> None:
    async with serving() as rig:
        body = manifest(spec={"schedulingGates": [{"name": "a/quota"}], "containers": []})
        _, text = await rig.call("POST", "/explain/pods", body)
        answer = json.loads(text)
        assert answer["preEnqueuePlugin"] == "SchedulingGates"
        # schedulinggates/scheduling_gates.go, v1.36.3
        assert answer["preEnqueueMessage"] == "waiting for scheduling gates: [a/quota]"


async def test_questions_at_the_same_time_are_answered_one_by_one() -> None:
    async with serving() as rig:
        rig.add_pod("web", "2")
        answers = await asyncio.gather(*(rig.get("/explain/pods/default/web") for _ in range(8)))
        assert len(set(answers)) == 1
        assert answers[0][0] == 200
