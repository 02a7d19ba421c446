"""Those who carry out the core's effects on the API server, made and connected."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

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
from scheduler_svc.shell.custom_plugins.outside_work import OutsideWork
from scheduler_svc.shell.extenders import ExtenderDesk, ExtenderMetrics
from scheduler_svc.shell.extenders.binding import ExtenderBinding
from scheduler_svc.shell.extenders.client import ExtenderClient
from scheduler_svc.shell.extenders.full_objects import FullObjects
from scheduler_svc.shell.hooks import Hooks, Identity
from scheduler_svc.shell.inbox import Inbox
from scheduler_svc.shell.lease import LeaseElection
from scheduler_svc.shell.pre_bind import (
    ClaimWriter,
    PreBindDispatcher,
    PreBindHandler,
    VolumeWriter,
)
from scheduler_svc.shell.startup import StartPlan
from scheduler_svc.shell.writes.binder import Binder, BindGuards
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from scheduler_svc.shell.writes.concurrency import AdaptiveLimit
from scheduler_svc.shell.writes.condition_patcher import ConditionPatcher
from scheduler_svc.shell.writes.event_recorder import EventRecorder
from scheduler_svc.shell.writes.evictor import Evictor

CUSTOM_CONCURRENCY: Final = 512
"""How many `pre_bind` of users' plugins run at once: they wait for others, not for our server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """Who carries out the effects; `election` is None where this replica leads without one."""

    binder: Binder
    pre_bind: PreBindDispatcher
    evictor: Evictor
    patcher: ConditionPatcher
    recorder: EventRecorder
    extenders: ExtenderDesk
    claims: ClaimWriter
    election: LeaseElection | None


@dataclass(frozen=True, slots=True)
class Asking:
    """What extenders are told of, and what is noted of them."""

    objects: FullObjects
    metrics: ExtenderMetrics


def make_writers(
    plan: StartPlan,
    identity: Identity,
    access: Access,
    hooks: Hooks,
    scheduler: Scheduler,
    inbox: Inbox,
    *,
    asking: Asking,
) -> Writers:
    """Make them; `inbox` takes their outcomes."""
    options = plan.options
    election = _make_election(plan, identity, access, hooks) if plan.elects else None
    activity = BindingActivity()
    patcher = ConditionPatcher(access.pool, activity=activity, dry_run=options.dry_run)
    recorder = EventRecorder(
        access.events, hostname=socket.gethostname(), activity=activity, dry_run=options.dry_run
    )
    may_bind = election.may_bind if election else lambda: True
    guards = BindGuards(
        may_bind=may_bind,
        node_exists=scheduler.columns.has_node,
        withdraw_condition=patcher.withdraw,
    )
    binder = Binder(
        access.pool,
        access.client,
        guards=guards,
        report=inbox.put,
        activity=activity,
        limit=AdaptiveLimit(options.bind_concurrency),
        bind_timeout_seconds=options.bind_timeout_seconds,
        dry_run=options.dry_run,
    )
    evictor = Evictor(
        access.pool,
        report=inbox.put,
        record=recorder.submit,
        may_evict=may_bind,
        dry_run=options.dry_run,
    )
    binding = ExtenderBinding(
        access.client, guards, activity, bind_ourselves=binder.submit, dry_run=options.dry_run
    )
    claims = ClaimWriter(access.client, record=recorder.submit)
    return Writers(
        binder=binder,
        pre_bind=_make_dispatcher(
            _handlers(access, claims), inbox, may_write=may_bind, dry_run=options.dry_run
        ),
        evictor=evictor,
        patcher=patcher,
        recorder=recorder,
        extenders=_make_desk(plan, asking, binding, inbox),
        claims=claims,
        election=election,
    )


def _make_dispatcher(
    handlers: Mapping[type[Any], PreBindHandler],
    inbox: Inbox,
    *,
    may_write: Callable[[], bool],
    dry_run: bool,
) -> PreBindDispatcher:
    return PreBindDispatcher(
        handlers,
        report=inbox.put,
        may_write=may_write,
        limits=dict.fromkeys((CustomPreBind, CustomUndo), CUSTOM_CONCURRENCY),
        dry_run=dry_run,
    )


def _make_desk(
    plan: StartPlan, asking: Asking, binding: ExtenderBinding, inbox: Inbox
) -> ExtenderDesk:
    clients = [ExtenderClient(extender, asking.metrics) for extender in plan.extenders]
    return ExtenderDesk(clients, asking.objects, binding, report=inbox.put)


def _handlers(access: Access, claims: ClaimWriter) -> Mapping[type[Any], PreBindHandler]:
    """Give who does the outside work of plugins, by the type of the work."""
    outside = OutsideWork()
    return {
        VolumeWrites: VolumeWriter(access.client),
        BindClaims: claims.bind,
        ReleaseClaims: claims.release,
        Deallocate: claims.deallocate,
        DeleteClaim: claims.delete,
        CustomPreBind: outside.pre_bind,
        CustomUndo: outside.undo,
    }


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
