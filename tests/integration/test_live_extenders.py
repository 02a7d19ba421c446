"""Extenders over HTTP and HTTPS in the real process on a real API server."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from berthmaster.cli.root import cli
from deploy.controlplane import ControlPlane, Reporter
from tests.extender_server import (
    ExtenderServer,
    RawAnswer,
    serve_extender,
    write_certificate,
)
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
GPU = "example.com/gpu"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}

Json = dict[str, Any]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    state_dir = tmp_path_factory.mktemp("live-extenders") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        for name in ("a", "b", "c"):
            allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
            metadata = {"name": name, "labels": {"rack": name}}
            create(running, NODES, {"metadata": metadata, "status": {"allocatable": allocatable}})
        create(running, CLASSES, {"metadata": {"name": "high"}, "value": 10})
        yield running


@pytest.fixture(autouse=True)
def no_pods(plane: ControlPlane) -> Iterator[None]:
    yield
    for path in (PODS, EVENTS):
        request(plane, "DELETE", path, AT_ONCE)
    wait_for("no Pod is left", lambda: read(plane, PODS)["items"] == [])


def create_pod(
    plane: ControlPlane, name: str, *, cpu: str = "0", gpu: int = 0, priority: str = ""
) -> None:
    amounts: Json = {"cpu": cpu, **({GPU: str(gpu)} if gpu else {})}
    limits = {GPU: str(gpu)} if gpu else {}
    container = {"name": "c", "image": "x", "resources": {"requests": amounts, "limits": limits}}
    spec: Json = {
        "schedulerName": "berthmaster",
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
    }
    if priority:
        spec["priorityClassName"] = priority
    create(plane, PODS, {"metadata": {"name": name}, "spec": spec})


def node_of(plane: ControlPlane, name: str) -> str:
    node: str = read(plane, f"{PODS}/{name}")["spec"].get("nodeName", "")
    return node


def placed(plane: ControlPlane, name: str) -> str:
    wait_for(f"{name} is bound", lambda: node_of(plane, name))
    return node_of(plane, name)


def condition(plane: ControlPlane, name: str) -> str:
    conditions = read(plane, f"{PODS}/{name}")["status"].get("conditions", [])
    return next((c.get("message", "") for c in conditions if c["type"] == "PodScheduled"), "")


def says(plane: ControlPlane, name: str, text: str) -> bool:
    return text in condition(plane, name)


def scheduler(plane: ControlPlane, folder: Path, *extenders: Json) -> SchedulerProcess:
    """Give a scheduler with those extenders; JSON is YAML."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": list(extenders),
    }
    path = folder / "config.yaml"
    path.write_text(json.dumps(document))
    return SchedulerProcess(
        folder / "log",
        *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0", "-v", "2"),
        *("--bind-address", "127.0.0.1", "--authorization", "none", "--leader-elect=false"),
        *("--config", str(path)),
    )


def metric(process: SchedulerProcess, name: str, verb: str) -> float:
    _, text = process.get("/metrics")
    values = re.findall(rf'^{name}{{.*verb="{verb}".*}} (\S+)$', text, re.MULTILINE)
    return sum(map(float, values))


def pass_all(question: Json) -> Json:
    return {"NodeNames": question["NodeNames"], "Nodes": question["Nodes"]}


def pass_only(*names: str) -> Any:
    def answer(question: Json) -> Json:
        failed = {name: "no licence" for name in question["NodeNames"] if name not in names}
        return {"NodeNames": list(names), "FailedNodes": failed}

    return answer


def by_names(server: ExtenderServer, **fields: Any) -> Json:
    return {"urlPrefix": server.url, "nodeCacheCapable": True, **fields}


def test_filter_and_prioritize_by_names(plane: ControlPlane, tmp_path: Path) -> None:
    def score(question: Json) -> list[Json]:
        return [{"Host": n, "Score": 10 if n == "c" else 1} for n in question["NodeNames"]]

    verbs = {"filter": pass_only("b", "c"), "prioritize": score}
    with serve_extender(verbs) as server:
        config = by_names(server, filterVerb="filter", prioritizeVerb="prioritize", weight=5)
        with scheduler(plane, tmp_path, config) as process:
            create_pod(plane, "p")
            assert placed(plane, "p") == "c"
            assert metric(process, "berthmaster_extender_duration_seconds_count", "filter") == 1
            assert metric(process, "berthmaster_extender_errors_total", "filter") == 0
        [asked] = server.questions("filter")
        assert sorted(asked["NodeNames"]) == ["a", "b", "c"]
        assert asked["Nodes"] is None
        assert asked["Pod"]["metadata"]["name"] == "p"
        assert asked["Pod"]["spec"]["containers"][0]["image"] == "x"
        assert server.questions("prioritize")[0]["NodeNames"] == ["b", "c"]


def test_an_extender_without_a_view_of_its_own_gets_whole_nodes(
    plane: ControlPlane, tmp_path: Path
) -> None:
    def rack_b(question: Json) -> Json:
        items = question["Nodes"]["items"]
        kept = [node for node in items if node["metadata"]["labels"]["rack"] == "b"]
        return {"Nodes": {"items": kept}, "NodeNames": None, "FailedNodes": None, "Error": ""}

    with serve_extender({"filter": rack_b}) as server:
        config = {"urlPrefix": f"{server.url}/", "filterVerb": "filter"}
        with scheduler(plane, tmp_path, config):
            create_pod(plane, "p")
            assert placed(plane, "p") == "b"
        [asked] = server.questions("filter")
        assert asked["NodeNames"] is None
        assert {n["status"]["allocatable"]["cpu"] for n in asked["Nodes"]["items"]} == {"4"}


def test_rejections_are_told_by_reason_and_any_event_brings_the_pod_back(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with serve_extender({"filter": pass_only()}) as server:
        config = by_names(server, filterVerb="filter")
        with scheduler(plane, tmp_path, config):
            create_pod(plane, "p")
            text = "0/3 nodes are available: 3 no licence."
            wait_for("told", partial(says, plane, "p", text))
            server.verbs["filter"] = pass_only("a")
            create_pod(plane, "other")
            assert placed(plane, "p") == "a"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (RawAnswer(b"oops", 500), "failed filter with extender at URL {url}/filter, code 500"),
        (RawAnswer(b"", 302), "failed filter with extender at URL {url}/filter, code 302"),
        (RawAnswer(b"<html>"), "cannot be read"),
        (RawAnswer(b'{"NodeNames": ["a"', length=1000), 'Post "{url}/filter"'),
        ({"Error": "out of order"}, "out of order"),
        ({"NodeNames": ["elsewhere"]}, 'claims a filtered node "elsewhere" which is not found'),
    ],
)
def test_what_is_no_answer_is_an_error_and_the_pod_is_tried_again(
    plane: ControlPlane, tmp_path: Path, answer: Any, text: str
) -> None:
    with (
        serve_extender({"filter": lambda _: answer}) as server,
        scheduler(plane, tmp_path, by_names(server, filterVerb="filter")) as process,
    ):
        create_pod(plane, "p")
        wait_for("told", partial(says, plane, "p", text.format(url=server.url)))
        assert metric(process, "berthmaster_extender_errors_total", "filter") >= 1
        server.verbs["filter"] = pass_all
        placed(plane, "p")


def test_explain_asks_no_extender_and_says_so(plane: ControlPlane, tmp_path: Path) -> None:
    with (
        serve_extender({"filter": pass_only()}) as server,
        scheduler(plane, tmp_path, by_names(server, filterVerb="filter")) as process,
    ):
        create_pod(plane, "p")
        wait_for("told", partial(says, plane, "p", "no licence"))
        port = process.wait_line("Serving securely").rpartition("port=")[2]
        arguments = ["explain", "pod", "p", "--server", f"https://127.0.0.1:{port}"]
        result = CliRunner().invoke(cli, arguments, prog_name="berthmaster")
        assert "default/p: fits on 3 of 3 Nodes" in result.stdout
        assert "Note: extenders are not asked" in result.stderr


def test_an_extender_that_is_down_may_be_ignored_or_not(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        down = {"urlPrefix": f"http://127.0.0.1:{nobody.getsockname()[1]}", "filterVerb": "f"}
        managed = {"managedResources": [{"name": GPU, "ignoredByScheduler": True}]}
        ignorable = {**down, "ignorable": True}
        with scheduler(plane, tmp_path, {**down, **managed}, ignorable):
            create_pod(plane, "plain")
            placed(plane, "plain")
            create_pod(plane, "gpu", gpu=1)
            wait_for("told", partial(says, plane, "gpu", "cannot connect to"))


def test_resources_that_the_scheduler_ignores_are_the_extenders_alone(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with serve_extender({"filter": pass_only("b")}) as server:
        managed = [{"name": GPU, "ignoredByScheduler": True}]
        config = by_names(server, filterVerb="filter", managedResources=managed)
        with scheduler(plane, tmp_path, config):
            create_pod(plane, "gpu", gpu=1)
            assert placed(plane, "gpu") == "b"
            create_pod(plane, "plain")
            placed(plane, "plain")
        assert [q["Pod"]["metadata"]["name"] for q in server.questions("filter")] == ["gpu"]


def test_a_slow_extender_holds_up_only_the_pods_that_need_it(
    plane: ControlPlane, tmp_path: Path
) -> None:
    release = threading.Event()

    def hang(question: Json) -> Json:
        assert release.wait(60)
        return pass_all(question)

    with serve_extender({"filter": hang}) as server:
        managed = [{"name": GPU, "ignoredByScheduler": True}]
        config = by_names(server, filterVerb="filter", managedResources=managed, httpTimeout="60s")
        try:
            with scheduler(plane, tmp_path, config):
                for number in range(40):
                    create_pod(plane, f"gpu-{number}", gpu=1)
                wait_for("the extender hangs", lambda: server.questions("filter"))
                for number in range(20):
                    create_pod(plane, f"plain-{number}")
                for number in range(20):
                    placed(plane, f"plain-{number}")
                assert not any(node_of(plane, f"gpu-{number}") for number in range(40))
                release.set()
                for number in range(40):
                    placed(plane, f"gpu-{number}")
        finally:
            release.set()


def test_an_extender_that_takes_too_long_is_an_error(plane: ControlPlane, tmp_path: Path) -> None:
    release = threading.Event()

    def hang(question: Json) -> Json:
        release.wait(60)
        return pass_all(question)

    with serve_extender({"filter": hang}) as server:
        config = by_names(server, filterVerb="filter", httpTimeout="200ms")
        try:
            with scheduler(plane, tmp_path, config):
                create_pod(plane, "p")
                wait_for("told", partial(says, plane, "p", "no answer within 0.2 s"))
                release.set()
                placed(plane, "p")
        finally:
            release.set()


def bind_as_told(plane: ControlPlane, question: Json) -> Json:
    path = f"{PODS}/{question['PodName']}/binding"
    target = {"kind": "Node", "apiVersion": "v1", "name": question["Node"]}
    create(plane, path, {"metadata": {"name": question["PodName"]}, "target": target})
    return {"Error": ""}


def test_an_extender_binds(plane: ControlPlane, tmp_path: Path) -> None:
    with serve_extender({"bind": partial(bind_as_told, plane)}) as server:
        with scheduler(plane, tmp_path, by_names(server, bindVerb="bind")) as process:
            create_pod(plane, "p")
            node = placed(plane, "p")
            process.wait_line("Successfully bound pod to node")
        [asked] = server.questions("bind")
        uid = read(plane, f"{PODS}/p")["metadata"]["uid"]
        assert asked == {"PodName": "p", "PodNamespace": "default", "PodUID": uid, "Node": node}


def test_a_binding_that_an_extender_refuses_is_tried_again(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with (
        serve_extender({"bind": lambda _: {"Error": "not today"}}) as server,
        scheduler(plane, tmp_path, by_names(server, bindVerb="bind")),
    ):
        create_pod(plane, "p")
        wait_for("told", partial(says, plane, "p", "not today"))
        server.verbs["bind"] = partial(bind_as_told, plane)
        placed(plane, "p")


def test_a_binding_that_an_extender_only_claims_to_have_made_is_none(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with (
        serve_extender({"bind": lambda _: {}}) as server,
        scheduler(plane, tmp_path, by_names(server, bindVerb="bind")),
    ):
        create_pod(plane, "p")
        wait_for("told", partial(says, plane, "p", "says that it has bound the Pod"))


def test_we_bind_where_an_extender_that_may_be_ignored_fails(
    plane: ControlPlane, tmp_path: Path
) -> None:
    with serve_extender({"bind": lambda _: RawAnswer(status=503)}) as server:
        config = by_names(server, bindVerb="bind", ignorable=True)
        with scheduler(plane, tmp_path, config):
            create_pod(plane, "p")
            placed(plane, "p")


@pytest.mark.parametrize("is_by_names", [True, False])
def test_an_extender_says_whom_to_evict(
    plane: ControlPlane, tmp_path: Path, is_by_names: bool
) -> None:
    def only_b(question: Json) -> Json:
        key = "NodeNameToMetaVictims" if is_by_names else "NodeNameToVictims"
        pods = question[key]["b"]["Pods"]
        uids = [pod["UID"] if is_by_names else pod["metadata"]["uid"] for pod in pods]
        meta = {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 0}
        return {"NodeNameToMetaVictims": {"b": meta}}

    with serve_extender({"preempt": only_b}) as server:
        config = by_names(server, preemptVerb="preempt")
        config["nodeCacheCapable"] = is_by_names
        with scheduler(plane, tmp_path, config):
            for name in ("v1", "v2", "v3"):
                create_pod(plane, name, cpu="3")
            on_b = {placed(plane, name): name for name in ("v1", "v2", "v3")}["b"]
            create_pod(plane, "high", cpu="3", priority="high")
            assert placed(plane, "high") == "b"
        left = {pod["metadata"]["name"] for pod in read(plane, PODS)["items"]}
        assert left == {"v1", "v2", "v3", "high"} - {on_b}
        [asked] = server.questions("preempt")
        assert asked["Pod"]["metadata"]["name"] == "high"
        victims = asked["NodeNameToMetaVictims" if is_by_names else "NodeNameToVictims"]
        assert sorted(victims) == ["a", "b", "c"]
        assert {node["NumPDBViolations"] for node in victims.values()} == {0}


@contextmanager
def over_tls(folder: Path, name: str = "127.0.0.1") -> Iterator[tuple[ExtenderServer, Path]]:
    certificate = write_certificate(folder, name)
    with serve_extender({"filter": pass_all}, certificate) as server:
        yield server, certificate


@pytest.mark.parametrize("way", ["its CA", "no CA", "insecure", "another name"])
def test_https(plane: ControlPlane, tmp_path: Path, way: str) -> None:
    name = "extender.example" if way == "another name" else "127.0.0.1"
    with over_tls(tmp_path, name) as (server, certificate):
        ways: dict[str, Json] = {
            "its CA": {"enableHTTPS": True, "tlsConfig": {"caFile": str(certificate)}},
            "no CA": {"enableHTTPS": True},
            "insecure": {"tlsConfig": {"insecure": True}},
            "another name": {
                "enableHTTPS": True,
                "tlsConfig": {"caFile": str(certificate), "serverName": name},
            },
        }
        with scheduler(plane, tmp_path, by_names(server, filterVerb="filter", **ways[way])):
            create_pod(plane, "p")
            placed(plane, "p")
        assert len(server.questions("filter")) == 1


def test_https_of_somebody_else_is_not_trusted(plane: ControlPlane, tmp_path: Path) -> None:
    other = write_certificate(tmp_path, "127.0.0.2")
    with over_tls(tmp_path) as (server, _):
        tls = {"enableHTTPS": True, "tlsConfig": {"caFile": str(other)}}
        with scheduler(plane, tmp_path, by_names(server, filterVerb="filter", **tls)):
            create_pod(plane, "p")
            wait_for("told", partial(says, plane, "p", "certificate verify failed"))
        assert server.asked == []
