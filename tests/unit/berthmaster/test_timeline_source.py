"""Who is asked for a timeline, in which order, and what is said when nobody answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from berthmaster.cli.diagnosis.daemons import AGENT_LABELS
from berthmaster.cli.timeline_source import (
    TimelineError,
    TimelineRequest,
    Told,
    read_timeline,
)
from kubeio.certificates import ServingCertificate
from kubeio.login import KubeConfigError
from node_agent.core.journey.journey import Journey, identify
from node_agent.core.journey.timeline import Timeline, timeline_of
from tests.unit.kubeio.fake_api import serving
from tests.unit.node_agent.core.journey import stages
from tests.unit.node_agent.core.journey.stages import condition, decided, nanoseconds, stamp
from tests.unit.node_agent.core.journey.test_pulls import WAITED
from tests.unit.node_agent.core.pods import document

POD = "/api/v1/namespaces/shop/pods/web"
EVENTS = "/api/v1/namespaces/shop/events"
AGENTS = "/api/v1/pods"
PROXY = "/api/v1/namespaces/berthmaster/pods/https:agent-x:10260/proxy/pods/shop/web/timeline"
KUBELET = "/api/v1/nodes/node-a/proxy/pods"
TOKEN = "/api/v1/namespaces/berthmaster/serviceaccounts/agents/token"
TOKENS: dict[str, Any] = {TOKEN: {"status": {"token": "of-the-agent"}}}


def agent_pod(name: str = "agent-x", *, is_ready: bool = True, port: str = "") -> dict[str, Any]:
    arguments = ["agent", *([f"--secure-port={port}"] if port else [])]
    container = {"name": "agent", "image": "registry.example/berthmaster:1", "args": arguments}
    return {
        "metadata": {
            "name": name,
            "namespace": "berthmaster",
            "creationTimestamp": stamp(0),
            "labels": {"app.kubernetes.io/name": "berthmaster"},
        },
        "spec": {
            "nodeName": "node-a",
            "serviceAccountName": "agents",
            "containers": [container],
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True" if is_ready else "False"}],
        },
    }


AGENT_POD = agent_pod()


def pod_document(**fields: Any) -> dict[str, Any]:
    status = {
        "phase": "Running",
        "startTime": stamp(2),
        "conditions": [condition("PodScheduled", 1), condition("PodReadyToStartContainers", 3)],
        "containerStatuses": [stages.started("c", 5)],
    }
    spec = {"nodeName": "node-a", "containers": [{"name": "c", "image": "i"}]}
    made = {"status": status, "spec": spec, "annotations": decided(), **fields}
    return document("web", namespace="shop", creationTimestamp=stamp(0), **made)


def agents_timeline() -> Timeline:
    journey = Journey(identify(stages.bound(), "api"))
    journey.observe(stages.ready(), nanoseconds(6.5))
    return timeline_of(journey, node_name="node-a")


@dataclass
class StubApi:
    """Answers by path; 404 for all others."""

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[web.Request] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        found = self.answers.get(request.raw_path.partition("?")[0])
        if found is None:
            return web.json_response({"kind": "Status", "message": "not there"}, status=404)
        if isinstance(found, int):
            return web.json_response({"kind": "Status", "message": "no"}, status=found)
        return web.Response(body=msgspec.json.encode(found), content_type="application/json")

    def paths(self) -> list[str]:
        return [request.raw_path.partition("?")[0] for request in self.asked]


@asynccontextmanager
async def asking(api: StubApi, tmp_path: Path, **flags: Any) -> AsyncIterator[TimelineRequest]:
    async with serving(api.answer) as url:
        path = tmp_path / "kubeconfig"
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "c",
                    "clusters": [{"name": "k", "cluster": {"server": url}}],
                    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                    "users": [{"name": "u", "user": {"token": "secret"}}],
                }
            )
        )
        made: dict[str, Any] = {"namespace": "shop", "name": "web", "kubeconfig": str(path)}
        if flags.pop("direct", False):
            made = {"namespace": "shop", "name": "web", "agent_url": url}
        yield TimelineRequest(**{**made, **flags})


async def told_by(api: StubApi, tmp_path: Path, **flags: Any) -> Told:
    async with asking(api, tmp_path, **flags) as request:
        return await read_timeline(request)


def steps(told: Told) -> dict[str, str]:
    return {step.step: step.source for step in told.timeline.steps}


async def test_the_agent_on_the_pods_node(tmp_path: Path) -> None:
    agents = {"items": [agent_pod("starting", is_ready=False), AGENT_POD]}
    api = StubApi({POD: pod_document(), AGENTS: agents, PROXY: agents_timeline(), **TOKENS})
    told = await told_by(api, tmp_path)
    assert told.timeline == agents_timeline()
    assert told.teller == "the agent berthmaster/agent-x"
    assert told.notes == []
    looked = next(request for request in api.asked if request.path == AGENTS)
    assert looked.query["labelSelector"] == AGENT_LABELS
    assert looked.query["fieldSelector"] == "spec.nodeName=node-a"
    asked = next(request for request in api.asked if request.raw_path == PROXY)
    # The user's own credentials are for the API server, the token is for the agent.
    assert asked.headers["Authorization"] == "Bearer secret"
    assert asked.headers["X-Berthmaster-Authorization"] == "Bearer of-the-agent"


async def test_an_agent_may_serve_at_another_port(tmp_path: Path) -> None:
    path = PROXY.replace("10260", "12000")
    agents = {"items": [agent_pod(port="12000")]}
    api = StubApi({POD: pod_document(), AGENTS: agents, path: agents_timeline(), **TOKENS})
    assert (await told_by(api, tmp_path)).timeline == agents_timeline()


async def test_what_is_no_agent_of_ours_is_not_asked(tmp_path: Path) -> None:
    stranger = agent_pod()
    stranger["metadata"]["labels"] = {}
    stranger["spec"]["containers"][0]["image"] = "other:1"
    api = StubApi({POD: pod_document(), AGENTS: {"items": [stranger]}, EVENTS: {"items": []}})
    (note,) = (await told_by(api, tmp_path)).notes
    assert note.startswith("no agent runs on node node-a")


async def test_who_may_have_no_token_of_the_agent_is_told(tmp_path: Path) -> None:
    answers = {POD: pod_document(), AGENTS: {"items": [AGENT_POD]}, EVENTS: {"items": []}}
    api = StubApi({**answers, TOKEN: 403})
    (note,) = (await told_by(api, tmp_path)).notes
    assert TOKEN in note
    assert "403" in note
    assert "port-forward agent-x 10260" in note


async def test_without_an_agent_objects_and_events_tell(tmp_path: Path) -> None:
    events = [
        {"reason": "Scheduled", "eventTime": "2026-06-01T12:00:01.375000Z"},
        {
            "reason": "Pulled",
            "message": WAITED,
            "involvedObject": {"fieldPath": "spec.containers{c}"},
            "lastTimestamp": stamp(4),
        },
    ]
    api = StubApi({POD: pod_document(), AGENTS: {"items": []}, EVENTS: {"items": events}})
    told = await told_by(api, tmp_path)
    (note,) = told.notes
    assert note.startswith("no agent runs on node node-a")
    # What an agent is known by, and the way to one that is not.
    assert AGENT_LABELS in note
    assert "--agent URL" in note
    assert told.teller == "API objects and Events alone: most times are whole seconds"
    assert steps(told) == {
        "created": "api",
        "queued": "scheduler",
        "decided": "scheduler",
        "bound": "events",
        "sync_started": "kubelet",
        "sandbox_ready": "kubelet",
        "images_pulled": "events",
        "containers_started": "kubelet",
    }
    assert not told.timeline.measured
    assert told.timeline.cause == "readiness_probe"


async def test_an_agent_that_refuses_is_told_of_with_a_way_out(tmp_path: Path) -> None:
    answers = {POD: pod_document(), AGENTS: {"items": [AGENT_POD]}, EVENTS: {"items": []}}
    api = StubApi({**answers, PROXY: 401, **TOKENS})
    told = await told_by(api, tmp_path)
    (note,) = told.notes
    assert "kubectl -n berthmaster port-forward agent-x 10260" in note
    assert "401" in note
    assert "API objects" in told.teller


async def test_agents_and_events_that_may_not_be_listed(tmp_path: Path) -> None:
    api = StubApi({POD: pod_document(), AGENTS: 403, EVENTS: 403})
    told = await told_by(api, tmp_path)
    assert [note.partition(":")[0] for note in told.notes] == [
        "no agent could be looked for",
        "its Events cannot be read",
    ]
    assert "--agent URL" in told.notes[0]
    assert told.teller == "API objects alone: most times are whole seconds"
    assert steps(told)["bound"] == "api"


def seen_by_the_kubelet() -> dict[str, Any]:
    annotations = {"kubernetes.io/config.seen": "2026-06-01T12:00:02.125000000Z"}
    return pod_document(annotations=annotations)


async def test_the_kubelet_says_when_it_saw_the_pod(tmp_path: Path) -> None:
    copies = {"items": [document("other", uid="other"), seen_by_the_kubelet()]}
    api = StubApi({POD: pod_document(), EVENTS: {"items": []}, KUBELET: copies})
    told = await told_by(api, tmp_path, use_agent=False, ask_kubelet=True)
    assert steps(told)["kubelet_seen"] == "kubelet"
    assert (told.teller, told.notes) == ("API objects, Events and its kubelet", [])
    assert AGENTS not in api.paths()
    api.answers[EVENTS] = 403
    told = await told_by(api, tmp_path, use_agent=False, ask_kubelet=True)
    assert told.teller == "API objects and its kubelet"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"items": [document("other", uid="other")]}, ["and does not show the Pod"]),
        (403, ["in vain", "403", KUBELET, "get on nodes/proxy"]),
        (503, ["in vain", "503", KUBELET]),
        ({"items": 3}, ["in vain"]),
    ],
)
async def test_a_kubelet_that_was_asked_in_vain_told_nothing(
    answer: Any, words: list[str], tmp_path: Path
) -> None:
    api = StubApi({POD: pod_document(), EVENTS: {"items": []}, KUBELET: answer})
    told = await told_by(api, tmp_path, use_agent=False, ask_kubelet=True)
    (note,) = told.notes
    assert note.startswith("the kubelet of node-a was asked through the API server, ")
    assert [word for word in words if word not in note] == []
    assert ("nodes/proxy" in note) is (answer == 403)
    assert told.teller == "API objects and Events alone: most times are whole seconds"


async def test_where_an_agent_tells_the_kubelet_is_not_asked(tmp_path: Path) -> None:
    agents = {"items": [AGENT_POD]}
    api = StubApi({POD: pod_document(), AGENTS: agents, PROXY: agents_timeline(), **TOKENS})
    told = await told_by(api, tmp_path, ask_kubelet=True)
    assert told.notes == ["the kubelet was not asked, since the agent has told"]
    assert KUBELET not in api.paths()


async def test_a_mirror_tells_of_its_static_pod(tmp_path: Path) -> None:
    """Created after that has begun; the kubelet's copy and Events have the static Pod's uid."""
    annotations = {
        "kubernetes.io/config.mirror": "static",
        "kubernetes.io/config.source": "http",
        "kubernetes.io/config.seen": "2026-06-01T12:00:01.125000000Z",
    }
    mirror = pod_document(annotations=annotations)
    copy = pod_document(uid="static", annotations=annotations)
    answers = {EVENTS: {"items": []}, KUBELET: {"items": [copy]}}
    api = StubApi({POD: mirror, **answers})
    told = await told_by(api, tmp_path, use_agent=False, ask_kubelet=True)
    assert told.notes == []
    assert told.timeline.source == "http"
    assert list(steps(told)) == [
        "kubelet_seen",
        "sync_started",
        "sandbox_ready",
        "containers_started",
    ]
    asked = next(request for request in api.asked if request.path == EVENTS)
    assert asked.query["fieldSelector"] == "involvedObject.uid=static"


async def test_when_the_kubelet_saw_another_pod_is_not_told_by_a_copied_annotation(
    tmp_path: Path,
) -> None:
    annotations = {"kubernetes.io/config.seen": "2025-06-01T12:00:01.125000000Z"}
    api = StubApi({POD: pod_document(annotations=annotations), EVENTS: {"items": []}})
    told = await told_by(api, tmp_path, use_agent=False)
    assert "kubelet_seen" not in steps(told)


@pytest.mark.parametrize(
    ("conditions", "detail"),
    [
        ([], "No scheduler has said anything about it."),
        (
            [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/3",
                }
            ],
            "0/3",
        ),
        (
            [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
            "SchedulingGated",
        ),
    ],
)
async def test_a_pod_without_a_node(
    tmp_path: Path, conditions: list[dict[str, str]], detail: str
) -> None:
    pod = pod_document(
        spec={"containers": [{"name": "c"}]},
        status={"phase": "Pending", "conditions": conditions},
        annotations={},
    )
    api = StubApi({POD: pod, EVENTS: {"items": []}})
    told = await told_by(api, tmp_path, ask_kubelet=True)
    assert (told.timeline.cause, told.timeline.cause_detail) == ("not_scheduled", detail)
    assert told.notes == ["no kubelet was asked: the Pod has no Node"]
    assert api.paths() == [POD, EVENTS]


async def test_no_such_pod(tmp_path: Path) -> None:
    with pytest.raises(TimelineError, match=r"there is no Pod 'web' in namespace 'shop'.*--agent"):
        await told_by(StubApi(), tmp_path)


@pytest.mark.parametrize("answer", [500, {"items": 3}, "text"])
async def test_an_api_server_that_gives_no_pod(tmp_path: Path, answer: Any) -> None:
    with pytest.raises(TimelineError):
        await told_by(StubApi({POD: answer}), tmp_path)


async def test_an_agent_asked_directly(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("abc\n")
    api = StubApi({"/pods/shop/web/timeline": agents_timeline()})
    told = await told_by(api, tmp_path, direct=True, agent_token_file=str(token))
    assert told.timeline == agents_timeline()
    assert api.asked[0].headers["Authorization"] == "Bearer abc"
    told = await told_by(api, tmp_path, direct=True)
    assert "Authorization" not in api.asked[1].headers


async def test_an_agent_that_does_not_know_the_pod(tmp_path: Path) -> None:
    with pytest.raises(TimelineError, match="404"):
        await told_by(StubApi(), tmp_path, direct=True)


@pytest.mark.parametrize(
    ("status", "next_step"), [(401, "--agent-token-file"), (403, "get on /pods/")]
)
async def test_an_agent_that_refuses_says_what_to_do(
    status: int, next_step: str, tmp_path: Path
) -> None:
    api = StubApi({"/pods/shop/web/timeline": status})
    with pytest.raises(TimelineError, match=next_step):
        await told_by(api, tmp_path, direct=True)


async def test_an_agent_whose_certificate_is_not_known_says_what_to_do() -> None:
    context = ServingCertificate(None, None, names=("127.0.0.1",)).context
    server = await asyncio.start_server(
        lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context
    )
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(TimelineError, match=r"--agent-ca-file, .*--agent-insecure"):
            await read_timeline(TimelineRequest(namespace="shop", name="web", agent_url=url))


async def test_a_token_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(KubeConfigError, match="--agent-token-file /nowhere"):
        await told_by(StubApi(), tmp_path, direct=True, agent_token_file="/nowhere")


def test_names_are_escaped() -> None:
    assert TimelineRequest(namespace="a/b", name="c?").agent_path == "/pods/a%2Fb/c%3F/timeline"
