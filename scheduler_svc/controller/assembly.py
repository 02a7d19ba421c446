"""Builds the parts of the controller and connects them; nothing is started here."""

import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry
from prometheus_client.process_collector import ProcessCollector

from kubeio.access import KubeAuthorizer
from kubeio.api_call_metrics import ApiCallMetrics
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.instruments import LoopCollector, MetricSource
from kubeio.loop_lag import LoopLag
from kubeio.serving import HttpsServer
from scheduler_svc.controller.census import METADATA_ONLY
from scheduler_svc.controller.events import EventWriter
from scheduler_svc.controller.health import add_checks
from scheduler_svc.controller.metrics import ObjectMetrics, ProcessMetrics, WorkMetrics
from scheduler_svc.controller.operator.thread import OperatorThread
from scheduler_svc.controller.options import ControllerOptions
from scheduler_svc.controller.pod_watch import PodWatch
from scheduler_svc.controller.profiles.reconciler import Rules
from scheduler_svc.controller.reconciliation import Reconciliation
from scheduler_svc.controller.status_writer import StatusWriter
from scheduler_svc.controller.watching import Watching
from scheduler_svc.core.leaderelection import ElectionTiming, LeaderElection
from scheduler_svc.shell.lease import LeaseElection


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Clients of the API server, and the count of what goes over them.

    `metadata` is given objects without their content.
    """

    client: KubeClient
    metadata: KubeClient
    calls: ApiCallMetrics


async def open_access(options: ControllerOptions, stack: AsyncExitStack) -> Access:
    """Log in and make the clients; they are closed with `stack`.

    Raises
    ------
    KubeConfigError
        Where there is no usable login.
    """
    credentials = await Credentials.load(options.kubeconfig, context=options.context)
    calls = ApiCallMetrics(urlsplit(credentials.server_url).netloc)
    agent = options.user_agent
    client = KubeClient(credentials, user_agent=agent, observe_call=calls.observe)
    metadata = KubeClient(
        credentials,
        user_agent=agent,
        headers={"Accept": METADATA_ONLY},
        observe_call=calls.observe,
    )
    for each in (client, metadata):
        await stack.enter_async_context(each)
    return Access(client=client, metadata=metadata, calls=calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who this process is: `holder` on the Lease, `seed` of jitter."""

    holder: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What the parts ask and tell the process that they are parts of."""

    may_write: Callable[[], bool]
    on_leading: Callable[[], None]
    on_lost: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A controller, connected; `election` is None where this replica leads without one."""

    reconciliation: Reconciliation
    watching: Watching
    events: EventWriter
    election: LeaseElection | None
    lag: LoopLag
    server: HttpsServer


def assemble(
    options: ControllerOptions, rules: Rules, identity: Identity, access: Access, hooks: Hooks
) -> Parts:
    """Make all parts; call it in the event loop.

    Raises
    ------
    CertificateError
        Where the server cannot serve with the given files.
    """
    seed, client = identity.seed, access.client
    election = _make_election(options, identity, client, hooks)
    writer = StatusWriter(client, may_write=lambda: hooks.may_write() and _leads(election))
    events = EventWriter(client, hostname=socket.gethostname(), seed=seed)
    reconciliation = Reconciliation(writer, events, rules, seed=seed)
    operator = OperatorThread(
        reconciliation.tell,
        lambda: Credentials.load(options.kubeconfig, context=options.context),
        user_agent=options.user_agent,
        seed=seed,
    )
    pods = PodWatch(client, reconciliation.members, reconciliation.await_members, seed=seed)
    watching = Watching(client, access.metadata, reconciliation, operator, pods, seed=seed)
    lag = LoopLag()
    server = HttpsServer(
        options.serving,
        registry=_make_registry(
            access.calls,
            lag,
            ObjectMetrics(reconciliation),
            WorkMetrics(reconciliation, writer, events),
            ProcessMetrics(options.version, election, operator, watching.census, pods),
        ),
        configz=options.configz,
        authorizer=KubeAuthorizer(client) if options.authorize else None,
    )
    add_checks(server, operator, watching.census, pods)
    return Parts(
        reconciliation=reconciliation,
        watching=watching,
        events=events,
        election=election,
        lag=lag,
        server=server,
    )


def _leads(election: LeaseElection | None) -> bool:
    return election is None or election.may_bind()


def _make_registry(*metrics: MetricSource) -> CollectorRegistry:
    """Have metrics collected in the event loop, and the process's own beside them."""
    registry = CollectorRegistry()
    registry.register(LoopCollector(lambda: [m for one in metrics for m in one.collect()]))
    ProcessCollector(registry=registry)
    return registry


def _make_election(
    options: ControllerOptions, identity: Identity, client: KubeClient, hooks: Hooks
) -> LeaseElection | None:
    election = options.leader_election()
    if not election.leader_elect:
        return None
    timing = ElectionTiming(
        lease_duration_seconds=election.lease_duration_seconds,
        renew_deadline_seconds=election.renew_deadline_seconds,
        retry_period_seconds=election.retry_period_seconds,
    )
    return LeaseElection(
        client,
        LeaderElection(identity.holder, timing=timing),
        namespace=election.resource_namespace,
        name=election.resource_name,
        on_leading=hooks.on_leading,
        on_lost=hooks.on_lost,
    )
