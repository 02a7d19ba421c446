"""Reads a cluster into `Facts`, with what its API server lets this user see."""

import asyncio
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

from berthmaster.cli.diagnosis import wire
from berthmaster.cli.diagnosis.asking import (
    AgentAnswers,
    SchedulerAnswers,
    agents_to_ask,
    with_causes,
)
from berthmaster.cli.diagnosis.daemons import AGENT_LABELS
from berthmaster.cli.diagnosis.declared import LEASE_NAMESPACE, Declared, declared
from berthmaster.cli.diagnosis.events import SELECTOR, event_groups, given_up_names
from berthmaster.cli.diagnosis.facts import (
    DaemonPod,
    EventGroup,
    Facts,
    Installation,
    NodeState,
    Scope,
)
from berthmaster.cli.diagnosis.installations import (
    KUBE_SCHEDULER_LEASE,
    expected_lease,
    installations_of,
    port_of,
)
from berthmaster.cli.diagnosis.kubelet_leases import KubeletLeases
from berthmaster.cli.diagnosis.leases import Leases
from berthmaster.cli.diagnosis.nodes import node_state
from berthmaster.cli.diagnosis.pods import Pods
from berthmaster.cli.diagnosis.profiles import JudgedProfile, observed_names, profile_state
from berthmaster.cli.diagnosis.reading import GET_TIMEOUT_SECONDS, Reader
from berthmaster.cli.diagnosis.scheduler_checks import leads
from kubeio.client import KubeClient, decode_body
from kubeio.credentials import Credentials
from kubeio.errors import ForbiddenError, KubeError, NotFoundError
from kubeio.resources import ResourcePath
from scheduler_svc.shell.explain.question import DEFAULT_PORT, Question, Source
from scheduler_svc.shell.explain.reaching import api_server_away
from scheduler_svc.shell.scheduler_profiles.objects import RESOURCE
from scheduler_svc.shell.views.decode import UNFINISHED_PODS

PODS: Final = ResourcePath("", "v1", "pods")
NODES: Final = ResourcePath("", "v1", "nodes")
NAMESPACES: Final = ResourcePath("", "v1", "namespaces")
EVENTS: Final = ResourcePath("", "v1", "events")
CONFIG_MAPS: Final = ResourcePath("", "v1", "configmaps")
DAEMON_SETS: Final = ResourcePath("apps", "v1", "daemonsets")
_VERSION: Final = "/version"
_FAILED_PODS: Final = "status.phase=Failed"
_FIRST_ANSWER_SECONDS: Final = 10.0


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be diagnosed, and how schedulers and agents are reached.

    Attributes
    ----------
    server, server_ca, token_file
        Of a scheduler that is asked at its URL, as for ``berthmaster explain``.
    ask
        False to ask neither schedulers nor agents.
    """

    scope: Scope = Scope()
    kubeconfig: str | None = None
    context: str | None = None
    server: str = ""
    server_ca: str = ""
    token_file: str = ""
    ask: bool = True


async def gather(request: Request, *, version: str) -> Facts:
    """Read everything that is judged.

    Memory: a page of Pods at a time, and 600 bytes for each Pod that waits or does not run.

    Raises
    ------
    KubeConfigError
        There is no way to the API server.
    KubeError
        The API server does not answer, or knows us not; says which server, and what to look at.
    """
    user_agent = f"berthmaster/{version} diagnose"
    credentials = await Credentials.load(request.kubeconfig, context=request.context)
    async with KubeClient(credentials, user_agent=user_agent) as client:
        gathering = _Gathering(request, client, credentials, user_agent)
        return await gathering.gather(version)


class _Gathering:
    """One look at a cluster."""

    def __init__(
        self, request: Request, client: KubeClient, credentials: Credentials, user_agent: str
    ) -> None:
        self._request = request
        self._scope = request.scope
        self._client = client
        self._credentials = credentials
        self._user_agent = user_agent
        self._reader = Reader(client)
        self._pods = Pods(request.scope)
        self._usage_is_known = True
        self._pods_are_known = True

    async def gather(self, own_version: str) -> Facts:
        now, kubernetes_version = await self._begin()
        kubelets = KubeletLeases(self._reader)
        nodes, events, wanted, profiles, _ = await asyncio.gather(
            self._reader.objects(NODES, wire.Node),
            self._reader.objects(self._namespaced(EVENTS), wire.Event, field_selector=SELECTOR),
            self._reader.objects(DAEMON_SETS, wire.DaemonSet, label_selector=AGENT_LABELS),
            self._reader.objects(RESOURCE, JudgedProfile),
            self._read_pods(),
        )
        if nodes:
            await kubelets.read()
        installations, leases = await self._installations(now)
        names = {name for each in installations for name in each.names}
        run_names = observed_names(profiles or ())
        gone = given_up_names(events or (), self._pods.judged_names)
        given_up = {name: gone[name] for name in gone if name not in run_names | names}
        facts = Facts(
            now=now,
            server=self._credentials.server_url,
            kubernetes_version=kubernetes_version,
            own_version=own_version,
            scope=self._scope,
            scheduler_url=self._request.server,
            installations=installations,
            kube_scheduler=leases.known.get(KUBE_SCHEDULER_LEASE),
            kube_scheduler_is_known=KUBE_SCHEDULER_LEASE not in leases.unknown,
            pending=tuple(self._pods.pending) if self._pods_are_known else None,
            stopped=tuple(self._pods.stopped),
            bound_count=self._pods.bound_count,
            nodes=self._node_states(nodes),
            evicting_nodes=frozenset(self._pods.evicting_nodes),
            usage_is_known=self._usage_is_known,
            agents=tuple(self._pods.agents),
            wanted_agents=_wanted(wanted),
            judged_names=frozenset(self._pods.judged_names) - given_up.keys() | run_names,
            given_up_names=given_up,
            profiles=tuple(map(profile_state, profiles or ())),
            namespace_is_missing=await self._namespace_is_missing(),
            events=self._events(events, names),
        )
        facts = await self._ask(facts)
        told_nodes = await kubelets.with_silent(facts.nodes, now)
        return msgspec.structs.replace(facts, nodes=told_nodes, unread=tuple(self._reader.unread))

    async def _begin(self) -> tuple[float, str]:
        """Give the API server's clock and version. Whoever knows us not says so here."""
        try:
            response = await self._client.call(
                "GET", _VERSION, timeout_seconds=_FIRST_ANSWER_SECONDS
            )
            version = decode_body(response, wire.Version, request=f"GET {_VERSION}")
        except KubeError as error:
            raise api_server_away(self._credentials.server_url, error) from error
        return parsedate_to_datetime(response.headers["date"]).timestamp(), version.git_version

    def _namespaced(self, resource: ResourcePath) -> ResourcePath:
        namespace = self._scope.namespace
        return resource if namespace is None else resource.in_namespace(namespace)

    async def _read_pods(self) -> None:
        """Read all Pods; where that is refused, those of the namespace that is judged."""
        try:
            await self._read_unfinished(PODS)
        except ForbiddenError as error:
            self._usage_is_known = False
            self._reader.note(PODS, "list", error)
            if self._scope.namespace is None:
                self._pods_are_known = False
                return
            try:
                await self._read_unfinished(self._namespaced(PODS))
            except KubeError as second:
                self._reader.note(self._namespaced(PODS), "list", second)
                self._pods_are_known = False
                return
        except KubeError as error:
            self._usage_is_known = self._pods_are_known = False
            self._reader.note(PODS, "list", error)
            return
        try:
            pages = self._reader.pages(self._namespaced(PODS), field_selector=_FAILED_PODS)
            async for page in pages:
                for raw in page:
                    self._pods.add_failed(raw)
        except KubeError as error:
            self._reader.note(self._namespaced(PODS), "list", error)

    async def _read_unfinished(self, resource: ResourcePath) -> None:
        async for page in self._reader.pages(resource, field_selector=UNFINISHED_PODS):
            for raw in page:
                self._pods.add(raw)

    async def _namespace_is_missing(self) -> bool:
        """Whether the namespace that is judged is none; of one with Pods nobody need be asked."""
        pods, namespace = self._pods, self._scope.namespace
        if namespace is None or pods.pending or pods.stopped or pods.bound_count:
            return False
        try:
            await self._client.call(
                "GET", NAMESPACES.object(namespace), timeout_seconds=GET_TIMEOUT_SECONDS
            )
        except NotFoundError:
            return True
        except KubeError:
            return False  # who may see a namespace's Pods may see its Namespace, or not
        return False

    async def _installations(self, now: float) -> tuple[tuple[Installation, ...], Leases]:
        replicas = [(replica, await self._declared(replica)) for replica in self._pods.schedulers]
        expected = expected_lease(self._scope)
        keys = {KUBE_SCHEDULER_LEASE, expected}
        keys |= {told.lease_key for _, told in replicas if told.lease_key}
        namespaces = {LEASE_NAMESPACE, *(replica.namespace for replica, _ in replicas)}
        leases = Leases(self._reader)
        await leases.read(namespaces, keys)
        await leases.look_again(keys, now)
        return (
            installations_of(replicas, leases.known, leases.unknown, self._scope),
            leases,
        )

    async def _declared(self, replica: DaemonPod) -> Declared:
        """Read what a replica was told, with its file where that is a ConfigMap to be read."""
        if replica.config_map is None:
            return declared(replica.arguments)
        name, key = replica.config_map
        resource = CONFIG_MAPS.in_namespace(replica.namespace)
        found = await self._reader.object(resource, name, wire.ConfigMap)
        data = found.data if found is not None else None
        return declared(replica.arguments, (data or {}).get(key, ""))

    def _node_states(self, nodes: Iterable[wire.Node] | None) -> tuple[NodeState, ...] | None:
        if nodes is None:
            return None
        used: Mapping[str, Mapping[str, int]] = self._pods.used
        return tuple(node_state(node, used.get(node.metadata.name, {})) for node in nodes)

    def _events(
        self, events: Iterable[wire.Event] | None, names: set[str]
    ) -> tuple[EventGroup, ...]:
        return event_groups(events or (), names, self._scope.namespace)

    async def _ask(self, facts: Facts) -> Facts:
        if not self._request.ask:
            return facts
        scheduler = SchedulerAnswers(user_agent=self._user_agent)
        for installation in facts.installations:
            if leads(installation, facts.now) and installation.lease is not None:
                question = self._question(installation)
                await scheduler.ask(facts.pending or (), installation, question)
        agents = AgentAnswers(self._client, self._credentials, user_agent=self._user_agent)
        await agents.ask(agents_to_ask(facts.agents, facts.stopped))
        return msgspec.structs.replace(
            facts,
            live=scheduler.told,
            live_problem=scheduler.problem,
            stopped=with_causes(facts.stopped, agents.causes),
            divergences=tuple(agents.divergences),
            refused_manifests=tuple(agents.refused_manifests),
            asked_agents=agents.asked,
            agents_problem=agents.problem,
        )

    def _question(self, installation: Installation) -> Question:
        request = self._request
        return Question(
            source=Source.SCHEDULER,
            kubeconfig=request.kubeconfig,
            context=request.context,
            server=request.server,
            server_ca=request.server_ca,
            token_file=request.token_file,
            lease=installation.lease_key,
            port=port_of(installation) or DEFAULT_PORT,
        )


def _wanted(daemon_sets: list[wire.DaemonSet] | None) -> int | None:
    """Give how many agents are wanted; None where that cannot be read, or none says so."""
    if not daemon_sets:
        return None
    return sum(each.status.desired_number_scheduled for each in daemon_sets)
