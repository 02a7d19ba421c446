"""Asks who knows more than the API server: the running scheduler, and the agents.

Both are reached through the API server's proxy, with a short-lived token of their own
ServiceAccount, as `kubeio.pod_proxy` says; who may not do so is told, and what
the API server shows is used. Few are asked, for a short time: this is a look, not a scan.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from berthmaster.cli.diagnosis.facts import (
    DaemonPod,
    Divergence,
    Installation,
    LiveAnswer,
    PendingPod,
    RefusedManifest,
    StoppedPod,
)
from berthmaster.cli.diagnosis.pending_checks import groups_of
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.errors import KubeError, NotFoundError
from kubeio.login import KubeConfigError
from kubeio.pod_proxy import proxied, proxied_client, serving_token
from kubeio.resources import ResourcePath
from node_agent.shell.defaults import DEFAULT_PORT
from node_agent.shell.kubelet.divergence_routes import DIVERGENCES, DivergencesView
from scheduler_svc.core.errors import InputError
from scheduler_svc.shell.explain.answer import Answer
from scheduler_svc.shell.explain.endpoint import Explanation
from scheduler_svc.shell.explain.question import Question
from scheduler_svc.shell.explain.remote import (
    Contact,
    SchedulerNotFoundError,
    contact,
)

PODS: Final = ResourcePath("", "v1", "pods")
QUESTIONS_AT_MOST: Final = 20
AGENTS_AT_MOST: Final = 20
_ANSWER_SECONDS: Final = 10.0
_ALL_SECONDS: Final = 20.0
_AGENTS_AT_ONCE: Final = 4


class SchedulerAnswers:
    """What running schedulers say of pending Pods: of one Pod for each group of them.

    Attributes
    ----------
    told
        By Pod's key.
    problem
        Why not more is told; "" where all is.
    """

    def __init__(self, *, user_agent: str) -> None:
        self._user_agent = user_agent
        self.told: dict[str, LiveAnswer] = {}
        self.problem = ""

    async def ask(
        self, pending: Iterable[PendingPod], installation: Installation, question: Question
    ) -> None:
        """Ask the scheduler that leads an installation; `question` says how it is reached."""
        pods = to_be_asked(pending, installation)
        if not pods:
            return
        if not installation.replicas and not question.server:
            self.problem = "it runs outside the cluster; say where it serves: --server URL."
            return
        try:
            async with (
                asyncio.timeout(_ALL_SECONDS),
                contact(question, self._user_agent) as scheduler,
            ):
                for pod in pods:
                    await self._ask_about(pod, scheduler)
        except TimeoutError:
            self.problem = f"it took more than {_ALL_SECONDS:g} s."
        except (KubeError, KubeConfigError, SchedulerNotFoundError, InputError) as error:
            self.problem = f"{error}."

    async def _ask_about(self, pod: PendingPod, scheduler: Contact) -> None:
        path = f"{scheduler.prefix}/explain/pods/{quote(pod.namespace)}/{quote(pod.name)}"
        try:
            explanation = await scheduler.client.get_json(
                path, Explanation, timeout_seconds=_ANSWER_SECONDS
            )
        except NotFoundError:
            return  # it is gone, or bound, by now
        if explanation.answer is not None:
            self.told[pod.key] = live_answer(explanation.answer)


def to_be_asked(pending: Iterable[PendingPod], installation: Installation) -> list[PendingPod]:
    """Choose the oldest Pod of each group that a scheduler may know more about."""
    mine = (
        pod
        for pod in pending
        if pod.scheduler_name in installation.names and not pod.gates and not pod.nominated_node
    )
    return [group[0] for group in groups_of(mine)][:QUESTIONS_AT_MOST]


def live_answer(answer: Answer) -> LiveAnswer:
    """Keep of an answer what does not grow with the number of Nodes."""
    gate = answer.pre_enqueue_plugin
    return LiveAnswer(
        fits_on=sum(node.total is not None for node in answer.nodes.values()),
        node_count=len(answer.nodes),
        fit_error=answer.fit_error,
        gate=f"{gate}: {answer.pre_enqueue_message}" if gate else "",
        error=answer.error,
    )


class AgentAnswers:
    """What agents say of the Pods on their Nodes.

    Attributes
    ----------
    asked
        How many have answered.
    problem
        Why not all that were to be asked have.
    causes
        By Pod's key: the Pod with the agent's word on what it waits for.
    """

    def __init__(self, client: KubeClient, credentials: Credentials, *, user_agent: str) -> None:
        self._client = client
        self._credentials = credentials
        self._user_agent = user_agent
        self._tokens: dict[tuple[str, str], str] = {}
        self._gate = asyncio.Semaphore(_AGENTS_AT_ONCE)
        self.asked = 0
        self.problem = ""
        self.divergences: list[Divergence] = []
        self.refused_manifests: list[RefusedManifest] = []
        self.causes: dict[str, tuple[str, str]] = {}

    async def ask(self, agents: Sequence[DaemonPod]) -> None:
        """Ask some agents; the first refusal ends it."""
        try:
            async with asyncio.timeout(_ALL_SECONDS), asyncio.TaskGroup() as tasks:
                for agent in agents[:AGENTS_AT_MOST]:
                    tasks.create_task(self._ask(agent))
        except TimeoutError:
            self.problem = f"it took more than {_ALL_SECONDS:g} s."

    async def _ask(self, agent: DaemonPod) -> None:
        async with self._gate:
            if self.problem:
                return
            try:
                token = await self._token(agent)
                path = proxied(agent.namespace, agent.name, agent.port or DEFAULT_PORT)
                async with proxied_client(
                    self._credentials, token, user_agent=self._user_agent
                ) as client:
                    view = await client.get_json(
                        path + DIVERGENCES, DivergencesView, timeout_seconds=_ANSWER_SECONDS
                    )
            except KubeError as error:
                self.problem = f"{error}."
                return
        self.asked += 1
        self._take(agent.node_name, view)

    async def _token(self, agent: DaemonPod) -> str:
        account = (agent.namespace, agent.service_account)
        if account not in self._tokens:
            self._tokens[account] = await serving_token(self._client, *account)
        return self._tokens[account]

    def _take(self, node_name: str, view: DivergencesView) -> None:
        self.divergences += [
            Divergence(
                node_name=node_name,
                kind=each.kind,
                pod=f"{each.namespace}/{each.name}",
                detail=each.detail,
                age_seconds=each.age_seconds,
            )
            for each in view.divergences
        ]
        self.refused_manifests += [
            RefusedManifest(node_name=node_name, place=each.place, message=each.message)
            for each in view.refused_manifests
        ]
        for waiting in view.not_running:
            key = f"{waiting.namespace}/{waiting.name}"
            self.causes[key] = (waiting.cause, waiting.detail)


def agents_to_ask(agents: Iterable[DaemonPod], stopped: Iterable[StoppedPod]) -> list[DaemonPod]:
    """Give the agents of Nodes with Pods that do not run first, then the others."""
    concerned = {pod.node_name for pod in stopped}
    ready = [agent for agent in agents if agent.is_ready and not agent.is_ending]
    return sorted(ready, key=lambda agent: (agent.node_name not in concerned, agent.key))


def with_causes(
    stopped: Iterable[StoppedPod], causes: dict[str, tuple[str, str]]
) -> tuple[StoppedPod, ...]:
    """Give the Pods that do not run with what their agents say of them, where they do."""
    return tuple(
        msgspec.structs.replace(
            pod, cause=causes[pod.key][0], detail=causes[pod.key][1], told_by="agent"
        )
        if pod.key in causes
        else pod
        for pod in stopped
    )
