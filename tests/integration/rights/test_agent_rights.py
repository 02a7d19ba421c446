"""Each right of the agent's role is needed, and together they are enough."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from deploy.controlplane import ControlPlane
from tests.integration.agent_process import AgentProcess
from tests.integration.rest import create, read, request, wait_for
from tests.integration.rights.audit import calls_of, right_of
from tests.integration.rights.case import EVENTS, PODS
from tests.integration.rights.kubelet import AskingKubelet, kubelet_served
from tests.integration.rights.roles import MANIFEST, Account, Right, create_account, rights_of
from tests.integration.scheduler_faults.loop_thread import LoopThread
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

RIGHTS: Final = rights_of("ClusterRole", "berthmaster-agent")


class Agent:
    """An agent on a Node of its own, whose kubelet knows nothing of its Pods."""

    def __init__(
        self, plane: ControlPlane, process: SchedulerProcess, account: Account, reader: str
    ) -> None:
        self.plane = plane
        self.process = process
        self.name = account.name
        self.own_token = account.token
        self.reader = reader

    def look(self) -> None:
        """Do nothing: what is asked of API server and kubelet from the start is enough."""

    def answer(self) -> None:
        """Ask for its metrics."""
        self.process.get("/metrics", token=self.reader)

    def create_pod(self) -> None:
        """Create a Pod of its Node, which the kubelet never sees."""
        spec = {
            "nodeName": self.name,
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "x"}],
        }
        create(self.plane, PODS, {"metadata": {"name": self.name}, "spec": spec})

    def start_pod(self) -> None:
        """Create a Pod, and say that its container runs."""
        self.process.wait_line("All sources of Pods have been heard of")
        self.create_pod()
        pod = read(self.plane, f"{PODS}/{self.name}")
        running = {"running": {"startedAt": pod["metadata"]["creationTimestamp"]}}
        status = {"name": "c", "image": "x", "imageID": "", "ready": True, "restartCount": 0}
        status |= {"started": True, "state": running}
        pod["status"] |= {"phase": "Running", "containerStatuses": [status]}
        code, stored = request(self.plane, "PUT", f"{PODS}/{self.name}/status", pod)
        assert code == 200, stored

    def readiness(self) -> str:
        """Give why it is ready or not."""
        return self.process.get("/readyz?verbose")[1]

    def divergences(self) -> str:
        """Give what `berthmaster diagnose` is told, which brings a token of the agent's account."""
        return self.process.get("/divergences", token=self.own_token)[1]

    def timeline(self) -> str:
        """Give what `berthmaster timeline` is told, which brings such a token, too."""
        path = f"/pods/default/{self.name}/timeline"
        return self.process.get(path, token=self.own_token)[1]

    def metrics(self) -> str:
        """Give its metrics."""
        return self.process.get("/metrics", token=self.reader)[1]


def _log(agent: Agent) -> str:
    return agent.process.log()


ACTS: Final[Mapping[str, tuple[Callable[[Agent], None], Callable[[Agent], str]]]] = {
    "list pods": (Agent.look, Agent.readiness),
    "watch pods": (Agent.look, Agent.readiness),
    "get nodes/pods": (Agent.look, _log),
    "get nodes/metrics": (Agent.look, _log),
    "get nodes/configz": (Agent.look, _log),
    "list events": (Agent.start_pod, _log),
    "create events": (Agent.create_pod, _log),
    "get /divergences": (Agent.look, Agent.divergences),
    "get /pods/*": (Agent.look, Agent.timeline),
    "create tokenreviews": (Agent.answer, _log),
    "create subjectaccessreviews": (Agent.answer, _log),
}
"""By the right: what is done, and where it is told that the right is missing."""


@contextmanager
def running(
    plane: ControlPlane, loop: LoopThread, account: Account, reader: str, folder: Path
) -> Iterator[Agent]:
    """Run an agent with the manifest's arguments."""
    documents = yaml.safe_load_all(MANIFEST.read_text())
    [daemon_set] = [d for d in documents if d["kind"] == "DaemonSet"]
    [container] = daemon_set["spec"]["template"]["spec"]["containers"]
    subcommand, *arguments = container["args"]
    assert subcommand == AgentProcess.subcommand
    name = account.name
    with (
        kubelet_served(loop, AskingKubelet(plane, name)) as url,
        AgentProcess(
            folder / "log",
            *("--node-name", name, "--kubeconfig", str(account.kubeconfig_path)),
            *("--secure-port", "0", "--bind-address", "127.0.0.1", "--kubelet-url", url),
            *("--kubelet-poll-interval=1s", "--write-events-after=1s", *arguments),
        ) as process,
    ):
        yield Agent(plane, process, account, reader)
        at_once = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        request(plane, "DELETE", f"{PODS}/{name}", at_once)


def refusal_of(right: Right) -> str:
    """Give what says that a right is missing: the API server, or the kubelet."""
    if right.resource.startswith("nodes/"):
        return f"resource=nodes, subresource(s)=[{right.resource.removeprefix('nodes/')}"
    return right.refusal


@pytest.mark.parametrize("missing", RIGHTS, ids=str)
def test_what_the_agent_may_not_do_is_told_of(
    plane: ControlPlane, loop: LoopThread, reader: str, tmp_path: Path, missing: Right
) -> None:
    name = re.sub(r"\W+", "-", f"agent no {missing}").strip("-")
    rights = [right for right in RIGHTS if right != missing]
    account = create_account(plane, tmp_path, name, rights)
    act, tell = ACTS[str(missing)]
    with running(plane, loop, account, reader, tmp_path) as agent:
        act(agent)
        wait_for("it is told", lambda: refusal_of(missing) in tell(agent).replace("\\", ""))


def test_every_right_of_the_agent_is_tried() -> None:
    assert ACTS.keys() == {str(right) for right in RIGHTS}


def test_nothing_is_refused_to_an_agent_with_all_rights_and_all_are_used(
    plane: ControlPlane, loop: LoopThread, reader: str, audit_log: Path, tmp_path: Path
) -> None:
    account = create_account(plane, tmp_path, "agent-all", RIGHTS)
    with running(plane, loop, account, reader, tmp_path) as agent:
        agent.start_pod()
        wait_for("the Event is written", lambda: has_event(plane, account.name))
        wait_for(
            "Events are read",
            lambda: re.search(
                r'berthmaster_pod_event_reads_total\{result="read"\} [1-9]', agent.metrics()
            ),
        )
        up = 'berthmaster_kubelet_endpoint_up{endpoint="%s"} 1.0'
        for endpoint in ("pods", "runningpods", "metrics", "configz"):
            assert up % endpoint in agent.metrics()
        assert '"divergences":' in agent.divergences()
        assert '"steps":' in agent.timeline()
        assert re.findall(r'code="403",resource="(\S+)",verb', agent.metrics()) == ["nodes"]
        assert "orbidden" not in agent.process.log()
    calls = calls_of(audit_log, account)
    refused = [call for call in calls if call["responseStatus"]["code"] in (401, 403)]
    # With a kubeconfig, as no Pod has it, an agent looks once whether its Node is there.
    assert [str(right_of(call)) for call in refused] == ["get nodes"]
    seen = {right_of(call) for call in calls if call not in refused}
    # Kubelet and agent ask the API server about the others, which it is not asked for itself.
    asked = {r for r in RIGHTS if not (r.resource.startswith("nodes/") or r.path)}
    assert asked <= seen


def has_event(plane: ControlPlane, pod_name: str) -> bool:
    """Tell whether an Event about a Pod says that the kubelet lacks it."""
    events: list[dict[str, Any]] = read(plane, EVENTS)["items"]
    return any(
        (e["regarding"]["name"], e["reason"]) == (pod_name, "MissingInKubelet") for e in events
    )
