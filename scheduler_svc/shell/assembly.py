"""Builds the parts of a scheduler and connects them; nothing is started here."""

import socket
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.process_collector import ProcessCollector

from kubeio.access import KubeAuthorizer
from kubeio.instruments import LoopCollector, MetricSource
from kubeio.loop_lag import LoopLag
from kubeio.serving import HttpsServer
from kubeio.watch_metrics import WatchMetrics
from scheduler_svc.core.custom_plugins.adapters import CustomPreBind, CustomUndo
from scheduler_svc.core.devices.writes import (
    BindClaims,
    Deallocate,
    DeleteClaim,
    ReleaseClaims,
)
from scheduler_svc.core.leaderelection import ElectionTiming, LeaderElection
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.core.volumes.writes import VolumeWrites
from scheduler_svc.shell.access import Access
from scheduler_svc.shell.attempt_metrics import AttemptMetrics
from scheduler_svc.shell.binder import Binder, BindGuards
from scheduler_svc.shell.binding_activity import BindingActivity
from scheduler_svc.shell.concurrency import AdaptiveLimit
from scheduler_svc.shell.condition_patcher import ConditionPatcher
from scheduler_svc.shell.custom_plugins.outside_work import OutsideWork
from scheduler_svc.shell.event_recorder import EventRecorder
from scheduler_svc.shell.evictor import Evictor
from scheduler_svc.shell.executor import Executor
from scheduler_svc.shell.explain.asking import Profiles
from scheduler_svc.shell.explain.endpoint import ExplainEndpoint
from scheduler_svc.shell.explain.memory import DecisionMemory
from scheduler_svc.shell.inbox import Inbox
from scheduler_svc.shell.journal import Journal
from scheduler_svc.shell.lease import LeaseElection
from scheduler_svc.shell.loop import SchedulingLoop
from scheduler_svc.shell.metrics import (
    CoreMetrics,
    ProcessMetrics,
    WriteMetrics,
)
from scheduler_svc.shell.plugin_metrics import PluginMetrics
from scheduler_svc.shell.pre_bind import ClaimWriter, PreBindDispatcher, VolumeWriter
from scheduler_svc.shell.reflectors import Reflectors
from scheduler_svc.shell.startup import StartPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who this process is: `holder` on the Lease, `instance` in decision ids, `seed` of jitter."""

    holder: str
    instance: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What the parts ask and tell the process that they are parts of."""

    may_attempt: Callable[[], bool]
    on_listed: Callable[[], None]
    on_leading: Callable[[], None]
    on_lost: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """Who carries out the effects; `election` is None where this replica leads without one."""

    binder: Binder
    pre_bind: PreBindDispatcher
    evictor: Evictor
    patcher: ConditionPatcher
    recorder: EventRecorder
    election: LeaseElection | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A scheduler, connected."""

    scheduler: Scheduler
    inbox: Inbox
    loop: SchedulingLoop
    reflectors: Reflectors
    writers: Writers
    lag: LoopLag
    registry: CollectorRegistry
    server: HttpsServer


def assemble(plan: StartPlan, identity: Identity, access: Access, hooks: Hooks) -> Parts:
    """Make all parts; call it in the event loop.

    Raises
    ------
    CertificateError
        Where the server cannot serve with the given files.
    """
    configuration = plan.configuration
    memory = DecisionMemory()
    scheduler = Scheduler(
        plan.profiles,
        instance=identity.instance,
        witness=memory.witness,
        initial_backoff_seconds=configuration.pod_initial_backoff_seconds,
        max_backoff_seconds=configuration.pod_max_backoff_seconds,
    )
    inbox = Inbox()
    writers = _make_writers(plan, identity, access, hooks, scheduler, inbox)
    attempts = AttemptMetrics(tuple(profile.scheduler_name for profile in plan.profiles))
    plugins = PluginMetrics()
    executor = Executor(
        binder=writers.binder,
        patcher=writers.patcher,
        recorder=writers.recorder,
        pre_bind=writers.pre_bind,
        evictor=writers.evictor,
        attempt_metrics=attempts,
        plugin_metrics=plugins,
        journal=Journal(attempts, memory=memory, dry_run=plan.options.dry_run),
    )
    reflectors = Reflectors(
        access.client,
        put=inbox.put,
        plugins={name for profile in plan.profiles for name in profile.plugin_names},
        pod_annotations=plan.pod_annotations,
        on_listed=hooks.on_listed,
        seed=identity.seed,
    )
    lag = LoopLag()
    sources: tuple[MetricSource, ...] = (
        attempts,
        plugins,
        plan.plugin_watch,
        CoreMetrics(scheduler),
        WatchMetrics(reflectors.by_resource),
        WriteMetrics(writers.binder, writers.patcher, writers.recorder),
        access.calls,
        lag,
        ProcessMetrics(plan.options.version, writers.election),
    )
    registry = CollectorRegistry()
    registry.register(LoopCollector(lambda: [m for source in sources for m in source.collect()]))
    ProcessCollector(registry=registry)
    server = _make_server(plan, access, registry)
    profiles = Profiles(plan.profiles, judges_all=False)
    ExplainEndpoint(scheduler, profiles, memory, is_listed=lambda: reflectors.is_listed).add_to(
        server
    )
    return Parts(
        scheduler=scheduler,
        inbox=inbox,
        loop=SchedulingLoop(scheduler, inbox, executor, may_attempt=hooks.may_attempt),
        reflectors=reflectors,
        writers=writers,
        lag=lag,
        registry=registry,
        server=server,
    )


def _make_server(plan: StartPlan, access: Access, registry: CollectorRegistry) -> HttpsServer:
    return HttpsServer(
        plan.options.serving,
        registry=registry,
        configz=plan.configz,
        authorizer=KubeAuthorizer(access.client) if plan.options.authorize else None,
    )


def _make_writers(
    plan: StartPlan,
    identity: Identity,
    access: Access,
    hooks: Hooks,
    scheduler: Scheduler,
    inbox: Inbox,
) -> Writers:
    options = plan.options
    election = _make_election(plan, identity, access, hooks) if plan.elects else None
    activity = BindingActivity()
    patcher = ConditionPatcher(access.pool, activity=activity, dry_run=options.dry_run)
    recorder = EventRecorder(
        access.events, hostname=socket.gethostname(), activity=activity, dry_run=options.dry_run
    )
    may_bind = election.may_bind if election else lambda: True
    binder = Binder(
        access.pool,
        access.client,
        guards=BindGuards(
            may_bind=may_bind,
            node_exists=scheduler.columns.has_node,
            withdraw_condition=patcher.withdraw,
        ),
        report=inbox.put,
        activity=activity,
        limit=AdaptiveLimit(options.bind_concurrency),
        bind_timeout_seconds=options.bind_timeout_seconds,
        dry_run=options.dry_run,
    )
    claims = ClaimWriter(access.client, record=recorder.submit)
    outside = OutsideWork()
    pre_bind = PreBindDispatcher(
        {
            VolumeWrites: VolumeWriter(access.client),
            BindClaims: claims.bind,
            ReleaseClaims: claims.release,
            Deallocate: claims.deallocate,
            DeleteClaim: claims.delete,
            CustomPreBind: outside.pre_bind,
            CustomUndo: outside.undo,
        },
        report=inbox.put,
        may_write=may_bind,
        dry_run=options.dry_run,
    )
    evictor = Evictor(
        access.pool,
        report=inbox.put,
        record=recorder.submit,
        may_evict=may_bind,
        dry_run=options.dry_run,
    )
    return Writers(
        binder=binder,
        pre_bind=pre_bind,
        evictor=evictor,
        patcher=patcher,
        recorder=recorder,
        election=election,
    )


def _make_election(
    plan: StartPlan, identity: Identity, access: Access, hooks: Hooks
) -> LeaseElection:
    election = plan.configuration.leader_election
    timing = ElectionTiming(
        lease_duration_seconds=election.lease_duration_seconds,
        renew_deadline_seconds=election.renew_deadline_seconds,
        retry_period_seconds=election.retry_period_seconds,
    )
    return LeaseElection(
        access.client,
        LeaderElection(identity.holder, timing=timing),
        namespace=election.resource_namespace,
        name=election.resource_name,
        on_leading=hooks.on_leading,
        on_lost=hooks.on_lost,
    )
