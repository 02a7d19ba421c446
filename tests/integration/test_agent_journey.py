"""The whole way of a Pod: scheduled by our scheduler, run by kwok, timed by the agent.

kwok's Nodes have no kubelet, so what a kubelet would show is served by a stand-in: the API
server's own Pods, with the annotations that a kubelet adds.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from deploy.controlplane import ControlPlane
from kubeio.certificates import ServingCertificate
from node_agent.core.timestamps import format_nanoseconds, unix_nanoseconds
from tests.integration import forked
from tests.integration.agent_process import AgentProcess
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_faults.loop_thread import LoopThread
from tests.integration.scheduler_process import SchedulerProcess
from tests.unit.kubeio.fake_api import serving
from tests.unit.node_agent.shell.kubelet.stub import START_METRICS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

NAMESPACE = "journey"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
NODES = "/api/v1/nodes"
NODE = "journey-node"
BARE_NODE = "journey-bare-node"  # of which kwok runs no Pods
SCHEDULER = "journey"


@dataclass
class Kubelet:
    """Shows the Pods that it was told to see, as a kubelet would."""

    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked_with: set[str] = field(default_factory=set)

    def see(self, pod: dict[str, Any]) -> int:
        """Show a Pod from now on; give when it was seen, in Unix nanoseconds."""
        seen = time.time_ns()
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations["kubernetes.io/config.seen"] = format_nanoseconds(seen)
        annotations["kubernetes.io/config.source"] = "api"
        self.pods[pod["metadata"]["uid"]] = pod
        return seen

    async def answer(self, request: web.Request) -> web.Response:
        self.asked_with.add(request.headers.get("Authorization", ""))
        match request.path:
            case "/pods":
                return web.json_response({"items": list(self.pods.values())})
            case "/runningpods/":
                items = [{"metadata": {"uid": uid}} for uid in self.pods]
                return web.json_response({"items": items})
            case "/metrics":
                return web.Response(text=START_METRICS)
        return web.Response(status=403, text="Forbidden")


@contextmanager
def kubelet_served(kubelet: Kubelet) -> Iterator[str]:
    """Serve over TLS with a certificate that nobody knows, as kubelets do; give the URL."""
    context = ServingCertificate(None, None, names=("127.0.0.1",)).context
    with LoopThread() as loop:
        server = serving(kubelet.answer, context=context)
        url = loop.run(server.__aenter__())
        try:
            yield url
        finally:
            loop.run(server.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def plane(control_plane_with_kwok: ControlPlane) -> Iterator[ControlPlane]:
    """Give it with a Node and a namespace of our own, which are taken away afterwards."""
    plane = control_plane_with_kwok
    create(plane, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    annotations = {"kwok.x-k8s.io/node": "fake"}
    metadata = {"name": NODE, "annotations": annotations, "labels": {"journey": "yes"}}
    status = {"allocatable": allocatable, "capacity": allocatable}
    create(plane, NODES, {"metadata": metadata, "status": status})
    create(plane, NODES, {"metadata": {"name": BARE_NODE}, "status": status})
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    wait_for("the ServiceAccount is there", lambda: request(plane, "GET", account)[0] == 200)
    yield plane
    request(plane, "DELETE", f"/api/v1/namespaces/{NAMESPACE}")
    for node in (NODE, BARE_NODE):
        request(plane, "DELETE", f"{NODES}/{node}")


def agent(plane: ControlPlane, log_path: Path, *arguments: str, node: str = NODE) -> AgentProcess:
    return AgentProcess(
        log_path,
        *("--node-name", node, "--kubeconfig", str(plane.kubeconfig_path), "-v", "2"),
        *("--secure-port", "0", "--bind-address", "127.0.0.1", *arguments),
    )


def scheduler(plane: ControlPlane, log_path: Path) -> SchedulerProcess:
    return SchedulerProcess(
        log_path,
        *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0"),
        *("--scheduler-name", SCHEDULER, "--leader-elect=false", "--bind-address", "127.0.0.1"),
    )


def create_pod(plane: ControlPlane, name: str, **spec: Any) -> dict[str, Any]:
    body = {
        "schedulerName": SCHEDULER,
        "nodeSelector": {"journey": "yes"},
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "c", "image": "registry.example/i:1"}],
        **spec,
    }
    return create(plane, PODS, {"metadata": {"name": name}, "spec": body})


def is_ready(plane: ControlPlane, name: str) -> bool:
    conditions = read(plane, f"{PODS}/{name}")["status"].get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def write_event(plane: ControlPlane, pod: dict[str, Any], reason: str, message: str) -> None:
    """Write an Event as a kubelet does."""
    metadata = pod["metadata"]
    now = format_nanoseconds(time.time_ns())[:19] + "Z"
    create(
        plane,
        EVENTS,
        {
            "metadata": {"generateName": f"{metadata['name']}.", "namespace": NAMESPACE},
            "involvedObject": {
                "kind": "Pod",
                "apiVersion": "v1",
                "namespace": NAMESPACE,
                "name": metadata["name"],
                "uid": metadata["uid"],
                "fieldPath": "spec.containers{c}",
            },
            "reason": reason,
            "message": message,
            "type": "Normal",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": "kubelet", "host": NODE},
        },
    )


def get_json(process: AgentProcess, plane: ControlPlane, path: str) -> dict[str, Any]:
    status, text = process.get(path, token=plane.token)
    assert status == 200, text
    document: dict[str, Any] = json.loads(text)
    return document


def timeline_of(process: AgentProcess, plane: ControlPlane, name: str) -> dict[str, Any]:
    return get_json(process, plane, f"/pods/{NAMESPACE}/{name}/timeline")


def sources_of(timeline: dict[str, Any]) -> dict[str, str]:
    return {step["step"]: step["source"] for step in timeline["steps"]}


def sample(metrics: str, name: str) -> float | None:
    """Give a sample's value by its name and labels as they are written."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", metrics, re.MULTILINE)
    return float(found[1]) if found else None


def metrics_of(process: AgentProcess, plane: ControlPlane) -> str:
    return process.get("/metrics", token=plane.token)[1]


def run_timeline(plane: ControlPlane, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["timeline", *arguments, "-n", NAMESPACE]
    if "--agent" not in arguments:
        command += ["--kubeconfig", str(plane.kubeconfig_path)]
    return forked.run(*command)


PULLED = (
    'Successfully pulled image "registry.example/i:1" in 1ms (2ms including waiting). '
    "Image size: 1 bytes."
)
WHOLE_WAY = [
    *("created", "queued", "decided", "bound", "kubelet_seen", "agent_seen", "sync_started"),
    *("sandbox_ready", "images_pulled", "containers_started", "ready"),
]


def test_the_whole_way_of_a_pod(plane: ControlPlane, tmp_path: Path) -> None:
    kubelet = Kubelet()
    with ExitStack() as stack:
        url = stack.enter_context(kubelet_served(kubelet))
        arguments = ("--kubelet-url", url, "--kubelet-insecure-tls", "--read-events")
        process = stack.enter_context(agent(plane, tmp_path / "agent", *arguments))
        process.wait_line("All sources of Pods have been heard of")
        created = create_pod(plane, "web")
        write_event(plane, created, "Pulled", PULLED)
        stack.enter_context(scheduler(plane, tmp_path / "scheduler"))
        wait_for("the Pod is ready", lambda: is_ready(plane, "web"))
        pod = read(plane, f"{PODS}/web")
        seen = kubelet.see(pod)
        wait_for(
            "the agent has asked all there are to ask",
            lambda: list(sources_of(timeline_of(process, plane, "web"))) == WHOLE_WAY,
        )
        timeline = timeline_of(process, plane, "web")
        sources = sources_of(timeline)
        assert (sources["created"], sources["queued"], sources["decided"]) == (
            *("api", "scheduler", "scheduler"),
        )
        assert (sources["kubelet_seen"], sources["agent_seen"]) == ("kubelet", "watch")
        at = {step["step"]: unix_nanoseconds(step["at"]) for step in timeline["steps"]}
        assert at["created"] == unix_nanoseconds(created["metadata"]["creationTimestamp"])
        assert at["decided"] == int(pod["metadata"]["annotations"]["berthmaster.dev/decided-at"])
        assert at["kubelet_seen"] == seen
        assert timeline["schedulingAttempt"] == 1
        assert timeline["measured"]
        assert "cause" not in timeline
        assert f"Bearer {plane.token}" in kubelet.asked_with

        assert_figures(process, plane)
        request(plane, "DELETE", f"{PODS}/web")
        wait_for(
            "the agent has seen it go",
            lambda: "gone" in sources_of(timeline_of(process, plane, "web")),
        )
        summaries = get_json(process, plane, "/pods")["pods"]
        (summary,) = [one for one in summaries if one["uid"] == pod["metadata"]["uid"]]
        assert (summary["live"], summary["step"]) == (False, "gone")


def assert_figures(process: AgentProcess, plane: ControlPlane) -> None:
    """Wait until the only Pod's figures have settled, and look at them."""
    count = "berthmaster_pod_start_total_duration_seconds_count"
    wait_for("its figures", lambda: sample(metrics_of(process, plane), count) == 1.0)
    metrics = metrics_of(process, plane)
    names = re.findall(r"^# TYPE (\S+)", metrics, re.MULTILINE)
    assert len(names) == len(set(names))
    assert sample(metrics, "berthmaster_pod_start_sli_duration_seconds_count") == 1.0
    labels = 'phase="queue",source="scheduler",workload_kind="none"'
    assert sample(metrics, f"berthmaster_pod_phase_duration_seconds_count{{{labels}}}") == 1.0
    assert sample(metrics, "berthmaster_kubelet_pod_start_sli_duration_seconds_count") == 4.0
    assert sample(metrics, 'berthmaster_kubelet_endpoint_up{endpoint="configz"}') == 0.0
    skew = sample(metrics, "berthmaster_clock_skew_seconds")
    error = sample(metrics, "berthmaster_clock_skew_error_seconds")
    assert skew is not None
    assert error is not None
    assert abs(skew) <= error  # all run on this machine


def test_a_pod_that_was_there_before_the_agent_is_not_counted(
    plane: ControlPlane, tmp_path: Path
) -> None:
    create_pod(plane, "old", nodeName=NODE)
    wait_for("the Pod is ready", lambda: is_ready(plane, "old"))
    with agent(plane, tmp_path / "agent") as process:
        process.wait_line("All sources of Pods have been heard of")
        timeline = timeline_of(process, plane, "old")
        assert not timeline["measured"]
        sources = sources_of(timeline)
        assert "agent_seen" not in sources
        assert sources["ready"] == "kubelet"
        metrics = metrics_of(process, plane)
        skipped = 'berthmaster_pod_journeys_skipped_total{reason="agent_restart"}'
        assert (sample(metrics, skipped) or 0) >= 1.0
        assert sample(metrics, "berthmaster_pod_start_total_duration_seconds_count") == 0.0
    request(plane, "DELETE", f"{PODS}/old")


def test_bound_and_not_started(plane: ControlPlane, tmp_path: Path) -> None:
    """What nobody can answer today: the Pod is bound, and the kubelet knows nothing of it."""
    kubelet = Kubelet()
    with kubelet_served(kubelet) as url:
        arguments = ("--kubelet-url", url, "--kubelet-insecure-tls", "--kubelet-poll-interval=1s")
        with agent(plane, tmp_path / "agent", *arguments, node=BARE_NODE) as process:
            process.wait_line("All sources of Pods have been heard of")
            created = create_pod(plane, "stuck", nodeName=BARE_NODE)

            def differing() -> list[str]:
                answer = get_json(process, plane, "/divergences")
                uid = created["metadata"]["uid"]
                return [one["kind"] for one in answer["divergences"] if one["uid"] == uid]

            wait_for("the difference lasts", lambda: differing() == ["missing_in_kubelet"])
            assert timeline_of(process, plane, "stuck")["cause"] == "not_seen"
            metrics = metrics_of(process, plane)
            labels = 'kind="missing_in_kubelet",source="api"'
            assert sample(metrics, f"berthmaster_kubelet_divergence_pods{{{labels}}}") == 1.0
            assert sample(metrics, 'berthmaster_pods_not_running{cause="not_seen"}') == 1.0
            kubelet.see(read(plane, f"{PODS}/stuck"))
            wait_for("the difference is gone", lambda: differing() == [])
            assert timeline_of(process, plane, "stuck")["cause"] == "sync_not_started"
    delete_at_once(plane, "stuck")


def delete_at_once(plane: ControlPlane, name: str) -> None:
    """Delete a Pod whose Node nobody looks after."""
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    request(plane, "DELETE", f"{PODS}/{name}", options)


def test_the_command_draws_it_without_an_agent(plane: ControlPlane, tmp_path: Path) -> None:
    with scheduler(plane, tmp_path / "scheduler"):
        create_pod(plane, "drawn")
        wait_for("the Pod is ready", lambda: is_ready(plane, "drawn"))
        wait_for(
            "its Event is written",
            lambda: any(
                event["involvedObject"]["name"] == "drawn" and event["reason"] == "Scheduled"
                for event in read(plane, EVENTS)["items"]
            ),
        )
    done = run_timeline(plane, "drawn")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"Pod {NAMESPACE}/drawn on {NODE}, ")
    assert "API objects and Events alone" in lines[1]
    for step in ("queued", "decided", "bound", "containers_started", "ready"):
        assert any(re.search(rf"\b{step}\b", line) for line in lines), step
    assert "\x1b" not in done.stdout
    assert f"no agent runs on node {NODE}" in done.stderr

    view = json.loads(run_timeline(plane, "drawn", "-o", "json", "--no-agent").stdout)
    bound = next(step for step in view["steps"] if step["step"] == "bound")
    assert (bound["source"], bound["resolutionSeconds"]) == ("events", 1e-06)
    request(plane, "DELETE", f"{PODS}/drawn")


def test_the_command_asks_an_agent(plane: ControlPlane, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(plane.token)
    with agent(plane, tmp_path / "agent") as process:
        process.wait_line("All sources of Pods have been heard of")
        create_pod(plane, "asked", nodeName=NODE)
        wait_for("the Pod is ready", lambda: is_ready(plane, "asked"))
        port = process.wait_line("Serving securely").rpartition("port=")[2]
        where = ("--agent", f"https://127.0.0.1:{port}", "--agent-insecure")
        done = run_timeline(plane, "asked", *where, "--agent-token-file", str(token))
        assert done.returncode == 0, done.stderr
        assert f"Told by the agent at https://127.0.0.1:{port}." in done.stdout
        refused = run_timeline(plane, "asked", *where)
        assert refused.returncode == 1
        assert "401" in refused.stderr
        missing = run_timeline(
            plane, "nobody", *where, "--agent-token-file", str(token), "-o", "json"
        )
        assert missing.returncode == 1
        assert "no Pod 'nobody' in namespace 'journey' was seen on node" in missing.stderr
    request(plane, "DELETE", f"{PODS}/asked")


def test_the_command_says_that_there_is_no_such_pod(plane: ControlPlane) -> None:
    done = run_timeline(plane, "nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no Pod 'nobody' in namespace 'journey'" in done.stderr


def test_a_lasting_difference_becomes_an_event(plane: ControlPlane, tmp_path: Path) -> None:
    """The API server accepts what is written."""
    kubelet = Kubelet()
    with kubelet_served(kubelet) as url:
        access = ("--kubelet-url", url, "--kubelet-insecure-tls", "--kubelet-poll-interval=1s")
        events_too = ("--write-events", "--write-events-after=1s")
        with agent(plane, tmp_path / "agent", *access, *events_too, node=BARE_NODE) as process:
            process.wait_line("All sources of Pods have been heard of")
            create_pod(plane, "told", nodeName=BARE_NODE)

            def events() -> list[dict[str, Any]]:
                return [
                    event
                    for event in read(plane, EVENTS)["items"]
                    if event["reason"] == "MissingInKubelet"
                    and event["involvedObject"]["name"] == "told"
                ]

            wait_for("the Event is written", events)
            (event,) = events()
            assert event["type"] == "Warning"
            assert event["reportingComponent"] == "berthmaster-agent"
            assert event["reportingInstance"] == f"berthmaster-agent-{BARE_NODE}"
            assert event["message"].startswith("The kubelet has not seen it. So for ")
            written = 'berthmaster_divergence_events_total{result="written"}'
            assert (sample(metrics_of(process, plane), written) or 0) >= 1.0
    delete_at_once(plane, "told")
