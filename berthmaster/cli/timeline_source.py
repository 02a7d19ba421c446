"""Where a timeline comes from: the agent on the Pod's node, or API objects and Events alone."""

import asyncio
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from berthmaster import __version__
from berthmaster.cli.diagnosis.daemons import AGENT_LABELS, daemon_pod
from berthmaster.cli.diagnosis.facts import DaemonPod
from berthmaster.cli.diagnosis.wire import Daemon
from berthmaster.cli.timeline_attempts import NOTHING_KNOWN, Scheduling, failed_attempts
from berthmaster.cli.timeline_events import EventsOfPod, read_events
from berthmaster.cli.timeline_pod import cause_of, journey_of, kubelet_uid, refusal
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.errors import (
    ForbiddenError,
    KubeError,
    MalformedResponseError,
    NotFoundError,
    TransportError,
    UnauthorizedError,
)
from kubeio.login import KubeConfigError, Login
from kubeio.pod_proxy import proxied, proxied_client, serving_token
from kubeio.resources import ResourcePath
from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.journey import Journey
from node_agent.core.journey.marks import Step
from node_agent.core.journey.timeline import Timeline, timeline_of
from node_agent.core.objects import Pod, WirePod, read_pod
from node_agent.core.timestamps import unix_nanoseconds
from node_agent.shell.defaults import DEFAULT_PORT
from node_agent.shell.kubelet.client import decode_pods
from scheduler_svc.shell.explain.reaching import api_server_away

PODS: Final = ResourcePath("", "v1", "pods")
NODES: Final = ResourcePath("", "v1", "nodes")
USER_AGENT: Final = f"berthmaster/{__version__}"
TIMEOUT_SECONDS: Final = 10.0
MAX_TIMELINE_BYTES: Final = 2**22
_UNREAD: Final = "its Events cannot be read"
_DIRECTLY: Final = "to ask one that you know of: --agent URL"


class TimelineError(Exception):
    """No timeline can be given; the text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRequest:
    """Which Pod's, and from whom.

    Attributes
    ----------
    agent_url
        Of an agent that is asked and nobody else; None for looking for it.
    agent_token_file, agent_ca_file, agent_insecure
        How to talk to `agent_url`.
    use_agent
        False for API objects and Events alone.
    ask_kubelet
        Whether the kubelet is asked, through the API server, when it saw the Pod.
    """

    namespace: str
    name: str
    kubeconfig: str | None = None
    context: str | None = None
    agent_url: str | None = None
    agent_token_file: str | None = None
    agent_ca_file: str | None = None
    agent_insecure: bool = False
    use_agent: bool = True
    ask_kubelet: bool = False

    @property
    def agent_path(self) -> str:
        """Path of the timeline in an agent."""
        return f"/pods/{quote(self.namespace, safe='')}/{quote(self.name, safe='')}/timeline"


@dataclass(slots=True)
class Told:
    """A timeline, who told it, and what else is to be said."""

    timeline: Timeline
    teller: str
    notes: list[str] = field(default_factory=list)
    scheduling: Scheduling = NOTHING_KNOWN


async def read_timeline(request: TimelineRequest) -> Told:
    """Find somebody who can tell a Pod's timeline.

    Raises
    ------
    TimelineError
        Nobody can.
    KubeConfigError
        There is no way to the API server, or to the agent.
    """
    if request.agent_url is not None:
        timeline = await _ask_agent(request, request.agent_url)
        failed = failed_attempts(timeline.scheduling_attempt, unread=_not_asked(request))
        teller = f"the agent at {request.agent_url}"
        return Told(timeline, teller, scheduling=Scheduling(failed))
    credentials = await Credentials.load(request.kubeconfig, context=request.context)
    async with KubeClient(credentials, user_agent=USER_AGENT) as client:
        try:
            return await _through_the_api(request, client, credentials)
        except NotFoundError as error:
            where = f"in namespace {request.namespace!r}"
            raise TimelineError(
                f"there is no Pod {request.name!r} {where}; the agent on its node keeps the last "
                "1,000 that are gone: ask it with --agent URL"
            ) from error
        except (TransportError, UnauthorizedError) as error:
            raise TimelineError(str(api_server_away(credentials.server_url, error))) from error
        except KubeError as error:
            raise TimelineError(str(error)) from error


async def _through_the_api(
    request: TimelineRequest, client: KubeClient, credentials: Credentials
) -> Told:
    path = PODS.in_namespace(request.namespace).object(request.name)
    response = await client.call("GET", path, timeout_seconds=TIMEOUT_SECONDS)
    try:
        pod = read_pod(msgspec.json.decode(response.body, type=WirePod))
    except msgspec.DecodeError as error:
        raise MalformedResponseError(f"GET {path}: {error}") from error
    notes: list[str] = []
    if request.use_agent and pod.spec.node_name:
        agent = await _find_agent(client, pod.spec.node_name, notes)
        if agent is not None:
            told = await _ask_through_the_api(request, client, credentials, agent, notes)
            if told is not None:
                told.scheduling = await _scheduling(client, pod, told.timeline, notes)
                if request.ask_kubelet:
                    notes.append("the kubelet was not asked, since the agent has told")
                return told
    told = await _from_objects(request, client, pod, notes)
    if not pod.spec.node_name:
        waited = _seconds_since(pod.metadata.creation_timestamp, response.headers.get("date"))
        told.scheduling = replace(told.scheduling, waited_seconds=waited)
    return told


async def _find_agent(client: KubeClient, node_name: str, notes: list[str]) -> DaemonPod | None:
    """Find the agent of a Node; None, with a note, where there is none or it cannot be known."""
    try:
        response = await client.call(
            "GET",
            PODS.collection,
            params={"labelSelector": AGENT_LABELS, "fieldSelector": f"spec.nodeName={node_name}"},
            timeout_seconds=TIMEOUT_SECONDS,
        )
        found = msgspec.json.decode(response.body, type=_Pods).items or []
    except (KubeError, msgspec.DecodeError) as error:
        notes.append(f"no agent could be looked for: {error}; {_DIRECTLY}")
        return None
    agents = [agent for pod in found if (agent := daemon_pod(pod)) is not None]
    if not agents:
        notes.append(
            f"no agent runs on node {node_name}, or none that has the labels {AGENT_LABELS}; "
            f"{_DIRECTLY}"
        )
        return None
    return min(agents, key=lambda agent: (not agent.is_ready, agent.is_ending))


async def _ask_through_the_api(
    request: TimelineRequest,
    client: KubeClient,
    credentials: Credentials,
    agent: DaemonPod,
    notes: list[str],
) -> Told | None:
    """Ask an agent, with a token of its own account; None, with a note, if that gives nothing."""
    port = agent.port or DEFAULT_PORT
    path = proxied(agent.namespace, agent.name, port) + request.agent_path
    try:
        token = await serving_token(client, agent.namespace, agent.service_account)
        async with proxied_client(credentials, token, user_agent=USER_AGENT) as asking:
            timeline = await asking.get_json(path, Timeline, timeout_seconds=TIMEOUT_SECONDS)
    except KubeError as error:
        notes.append(
            f"the agent {agent.namespace}/{agent.name} did not answer through the API server "
            f"({error}); to ask it directly: kubectl -n {agent.namespace} port-forward "
            f"{agent.name} {port}, then --agent https://localhost:{port}"
        )
        return None
    return Told(timeline, f"the agent {agent.namespace}/{agent.name}", notes)


async def _from_objects(
    request: TimelineRequest, client: KubeClient, pod: Pod, notes: list[str]
) -> Told:
    tellers, events, unread = ["API objects"], EventsOfPod(), None
    try:
        events = await read_events(client, request.namespace, kubelet_uid(pod))
        tellers.append("Events")
    except KubeError as error:
        unread = _UNREAD
        notes.append(f"{_UNREAD}: {error}")
    journey = journey_of(pod)
    journey.observe_events(events.way)
    if request.ask_kubelet and await _ask_kubelet(client, pod, journey, notes):
        tellers.append("its kubelet")
    cause, detail = cause_of(pod, events.way)
    timeline = timeline_of(journey, node_name=pod.spec.node_name, cause=cause, cause_detail=detail)
    condition = refusal(pod)
    scheduling = Scheduling(
        failed_attempts(
            timeline.scheduling_attempt,
            events.failed,
            condition_reason="" if condition is None else condition.reason,
            unread=unread,
        ),
        is_told_by_condition=condition is not None,
    )
    return Told(timeline, _teller(tellers), notes, scheduling)


async def _scheduling(
    client: KubeClient, pod: Pod, timeline: Timeline, notes: list[str]
) -> Scheduling:
    """Read what an agent does not tell: why attempts to schedule the Pod failed."""
    if not any(step.step == Step.BOUND for step in timeline.steps):
        return NOTHING_KNOWN  # a static Pod, or one whose specification names its Node
    attempt = timeline.scheduling_attempt
    try:
        events = await read_events(client, pod.metadata.namespace, pod.metadata.uid)
    except KubeError as error:
        if attempt != 1:
            notes.append(f"{_UNREAD}: {error}")
        return Scheduling(failed_attempts(attempt, unread=_UNREAD))
    return Scheduling(failed_attempts(attempt, events.failed))


def _not_asked(request: TimelineRequest) -> str:
    command = f"kubectl -n {request.namespace} events --for pod/{request.name}"
    return f"with --agent the API server is not asked for its Events: {command}"


def _seconds_since(created: str | None, date: str | None) -> float | None:
    """Give how long a Pod has been there by the API server's clock; None if it does not say."""
    nanoseconds = unix_nanoseconds(created)
    try:
        now = parsedate_to_datetime(date or "").timestamp()
    except ValueError:
        return None
    return None if nanoseconds is None else max(now - nanoseconds / NANOSECONDS, 0.0)


def _teller(tellers: list[str]) -> str:
    """Name those who told, as they were heard; whoever was asked in vain is not among them."""
    *others, last = tellers
    named = f"{', '.join(others)} and {last}" if others else last
    if tellers[-1] == "its kubelet":
        return named
    return f"{named} alone: most times are whole seconds"


async def _ask_kubelet(client: KubeClient, pod: Pod, journey: Journey, notes: list[str]) -> bool:
    """Take in the kubelet's own copy, read through the API server; tell whether it gave one."""
    node_name = pod.spec.node_name
    if not node_name:
        notes.append("no kubelet was asked: the Pod has no Node")
        return False
    asked = f"the kubelet of {node_name} was asked through the API server"
    try:
        response = await client.call(
            "GET", NODES.object(node_name, "proxy/pods"), timeout_seconds=TIMEOUT_SECONDS
        )
        copies = decode_pods(response.body)
    except KubeError as error:
        right = "; it takes get on nodes/proxy" if isinstance(error, ForbiddenError) else ""
        notes.append(f"{asked}, in vain: {error}{right}")
        return False
    for copy in copies:
        if copy.metadata.uid == kubelet_uid(pod):
            journey.observe_kubelet(copy)
            return True
    notes.append(f"{asked}, and does not show the Pod")
    return False


async def _ask_agent(request: TimelineRequest, url: str) -> Timeline:
    token = None
    if request.agent_token_file is not None:
        try:
            read = await asyncio.to_thread(Path(request.agent_token_file).read_text)
        except (OSError, UnicodeDecodeError) as error:
            raise KubeConfigError(
                f"--agent-token-file {request.agent_token_file}: {error}"
            ) from error
        token = f"Bearer {read.strip()}"
    login = Login(
        server_url=url.rstrip("/"),
        authorization=token,
        ca_file=request.agent_ca_file,
        verify=not request.agent_insecure,
    )

    async def unchanged() -> Login:
        return login

    credentials = Credentials(login, unchanged)
    client = KubeClient(credentials, user_agent=USER_AGENT, max_body_bytes=MAX_TIMELINE_BYTES)
    async with client:
        try:
            return await client.get_json(
                request.agent_path, Timeline, timeout_seconds=TIMEOUT_SECONDS
            )
        except KubeError as error:
            raise TimelineError(f"{error}{_next_step(error)}") from error


def _next_step(error: KubeError) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "; name what signed it with --agent-ca-file, or take any with --agent-insecure"
    if isinstance(error, UnauthorizedError):
        return "; show a token with --agent-token-file"
    if isinstance(error, ForbiddenError):
        return "; the token's account needs get on /pods/*, a nonResourceURL"
    return ""


class _Pods(msgspec.Struct):
    items: list[Daemon] | None = None
