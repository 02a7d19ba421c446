"""Builds the parts of a scheduler and connects them; nothing is started here."""

import socket
from collections import ChainMap
from dataclasses import dataclass
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.process_collector import ProcessCollector

from kubeio.access import KubeAuthorizer
from kubeio.instruments import LoopCollector, MetricSource
from kubeio.loop_lag import LoopLag
from kubeio.reflector import Reflector
from kubeio.serving import HttpsServer
from kubeio.watch_metrics import WatchMetrics
from scheduler_svc.core.events import ProfileRemoved, ProfileSet
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.scheduler import Scheduler, Timing
from scheduler_svc.shell.access import Access
from scheduler_svc.shell.custom_plugins.feed_api import ApiServerFeeds
from scheduler_svc.shell.custom_plugins.feeds import RunningFeeds
from scheduler_svc.shell.executor import EffectWriters, Executor
from scheduler_svc.shell.explain.asking import Profiles
from scheduler_svc.shell.explain.endpoint import ExplainEndpoint
from scheduler_svc.shell.explain.memory import DecisionMemory
from scheduler_svc.shell.extenders import ExtenderMetrics, core_extenders
from scheduler_svc.shell.extenders.full_objects import VIEW_NAME, FullObjects
from scheduler_svc.shell.hooks import Hooks, Identity
from scheduler_svc.shell.inbox import Inbox
from scheduler_svc.shell.journal import Journal
from scheduler_svc.shell.loop import SchedulingLoop
from scheduler_svc.shell.metrics.attempt_metrics import AttemptMetrics
from scheduler_svc.shell.metrics.event_metrics import EventMetrics
from scheduler_svc.shell.metrics.plugin_metrics import PluginMetrics
from scheduler_svc.shell.metrics.pod_resource_metrics import PodResourceEndpoint
from scheduler_svc.shell.metrics.scheduler_metrics import (
    CoreMetrics,
    ProcessMetrics,
    WriteMetrics,
)
from scheduler_svc.shell.scheduler_profiles.live import LiveProfiles
from scheduler_svc.shell.scheduler_profiles.objects import RESOURCE
from scheduler_svc.shell.scheduler_profiles.planning import Planner
from scheduler_svc.shell.scheduler_profiles.reporting import observer_name
from scheduler_svc.shell.startup import StartPlan
from scheduler_svc.shell.views.reflectors import Reflectors
from scheduler_svc.shell.views.view import View
from scheduler_svc.shell.writers import Asking, Writers, make_writers


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A scheduler, connected; `profiles` is None where it follows no SchedulerProfiles."""

    scheduler: Scheduler
    inbox: Inbox
    loop: SchedulingLoop
    reflectors: Reflectors
    profiles: LiveProfiles | None
    feeds: RunningFeeds
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
    memory, plugins, events = DecisionMemory(), PluginMetrics(), EventMetrics()
    scheduler = _make_scheduler(plan, identity, memory, plugins)
    inbox, asking = Inbox(), Asking(FullObjects(access.client), ExtenderMetrics())
    writers = make_writers(plan, identity, access, hooks, scheduler, inbox, asking=asking)
    attempts = AttemptMetrics(tuple(profile.scheduler_name for profile in plan.profiles))
    feeds = RunningFeeds(ApiServerFeeds(access.client, seed=identity.seed), inbox.put)
    reflectors = Reflectors(
        access.client,
        put=inbox.put,
        plugins={name for profile in plan.profiles for name in profile.plugin_names},
        pod_annotations=plan.pod_annotations,
        follow_pods=partial(_follow_pods, plan, scheduler, asking.objects),
        more_views=_views_for_extenders(plan, asking.objects),
        on_listed=hooks.on_listed,
        seed=identity.seed,
    )
    executor = _make_executor(plan, writers, attempts, plugins, memory)
    profiles = _follow_profiles(plan, identity, access, reflectors, inbox, writers)
    executor.is_leading = partial(_is_leading, writers)
    _connect_profiles(profiles, scheduler, executor, attempts, feeds)
    lag = LoopLag()
    registry = _make_registry(
        attempts,
        plugins,
        events,
        plan.plugin_watch,
        CoreMetrics(scheduler),
        WatchMetrics(ChainMap(reflectors.by_resource, _watches_of(profiles))),
        WriteMetrics(writers.binder, writers.patcher, writers.recorder),
        writers.claims,
        access.calls,
        asking.metrics,
        lag,
        ProcessMetrics(plan.options.version, writers.election),
    )
    server = _make_server(plan, access, registry, profiles)
    _serve_pod_resources(server, scheduler, writers)
    _serve_explanations(server, plan, scheduler, memory, reflectors)
    return Parts(
        scheduler=scheduler,
        inbox=inbox,
        loop=SchedulingLoop(
            scheduler, inbox, executor, may_attempt=hooks.may_attempt, events=events
        ),
        reflectors=reflectors,
        profiles=profiles,
        feeds=feeds,
        writers=writers,
        lag=lag,
        registry=registry,
        server=server,
    )


def _follow_profiles(
    plan: StartPlan,
    identity: Identity,
    access: Access,
    kinds: Reflectors,
    inbox: Inbox,
    writers: Writers,
) -> LiveProfiles | None:
    options = plan.options
    if not options.scheduler_profiles:
        return None
    observer = observer_name(socket.gethostname(), options.serving.port, identity.instance)
    return LiveProfiles(
        access.client,
        Planner(plan.configuration, plan.registry, serves_default=plan.serves_default),
        kinds,
        observer=None if options.dry_run else observer,
        put=inbox.put,
        is_leading=partial(_is_leading, writers),
        seed=identity.seed,
    )


def _is_leading(writers: Writers) -> bool:
    return writers.election is None or writers.election.is_leader


def _connect_profiles(
    profiles: LiveProfiles | None,
    scheduler: Scheduler,
    executor: Executor,
    attempts: AttemptMetrics,
    feeds: RunningFeeds,
) -> None:
    """Let all know, before the next attempt, when the core serves other profiles."""
    feeds.follow(scheduler.profiles.values())
    if profiles is None:
        return

    def note(event: ProfileSet | ProfileRemoved) -> None:
        for name in scheduler.profiles:
            attempts.add_profile(name)
        feeds.follow(scheduler.profiles.values())
        profiles.note(event)

    scheduler.keep_unserved()
    executor.on_profile = note


def _watches_of(profiles: LiveProfiles | None) -> dict[str, Reflector[Any]]:
    return {} if profiles is None else {RESOURCE.plural: profiles.reflector}


def _make_scheduler(
    plan: StartPlan, identity: Identity, memory: DecisionMemory, plugins: PluginMetrics
) -> Scheduler:
    configuration = plan.configuration
    return Scheduler(
        plan.profiles,
        instance=identity.instance,
        witness=memory.witness,
        extenders=core_extenders(plan.extenders, configuration),
        measuring=plugins,
        timing=Timing(
            configuration.pod_initial_backoff_seconds,
            configuration.pod_max_backoff_seconds,
            plan.options.group_timing,
        ),
    )


def _make_executor(
    plan: StartPlan,
    writers: Writers,
    attempts: AttemptMetrics,
    plugins: PluginMetrics,
    memory: DecisionMemory,
) -> Executor:
    return Executor(
        EffectWriters(
            binder=writers.binder,
            patcher=writers.patcher,
            recorder=writers.recorder,
            pre_bind=writers.pre_bind,
            evictor=writers.evictor,
            extenders=writers.extenders,
        ),
        attempt_metrics=attempts,
        plugin_metrics=plugins,
        journal=Journal(attempts, plugins=plugins, memory=memory, dry_run=plan.options.dry_run),
    )


def _follow_pods(
    plan: StartPlan, scheduler: Scheduler, objects: FullObjects, view: View[PodInfo]
) -> View[PodInfo]:
    """Have the Pods kept that extenders will be asked about, if there are extenders."""
    extenders = core_extenders(plan.extenders, plan.configuration)
    if not plan.extenders:
        return view
    return objects.pending.follow(
        view,
        lambda pod: pod.scheduler_name in scheduler.profiles and bool(extenders.deciding(pod)),
    )


def _views_for_extenders(plan: StartPlan, objects: FullObjects) -> dict[str, View[Any]]:
    if any(extender.needs_nodes for extender in plan.extenders):
        return {VIEW_NAME: objects.node_view()}
    return {}


def _make_registry(*sources: MetricSource) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(LoopCollector(lambda: [m for source in sources for m in source.collect()]))
    ProcessCollector(registry=registry)
    return registry


def _serve_explanations(
    server: HttpsServer,
    plan: StartPlan,
    scheduler: Scheduler,
    memory: DecisionMemory,
    reflectors: Reflectors,
) -> None:
    explaining = Profiles(scheduler.profiles, judges_all=False, annotations=plan.pod_annotations)
    endpoint = ExplainEndpoint(
        scheduler, explaining, memory, is_listed=lambda: reflectors.is_listed
    )
    endpoint.add_to(server)


def _serve_pod_resources(server: HttpsServer, scheduler: Scheduler, writers: Writers) -> None:
    PodResourceEndpoint(scheduler.pods, is_leading=partial(_is_leading, writers)).add_to(server)


def _make_server(
    plan: StartPlan, access: Access, registry: CollectorRegistry, profiles: LiveProfiles | None
) -> HttpsServer:
    def configz() -> dict[str, Any]:
        live = {} if profiles is None else {"schedulerProfiles": profiles.documents()}
        return {**plan.configz(), **live}

    return HttpsServer(
        plan.options.serving,
        registry=registry,
        configz=configz,
        authorizer=KubeAuthorizer(access.client) if plan.options.authorize else None,
    )
