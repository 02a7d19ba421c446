"""Builds the parts of the agent and connects them; nothing is started here."""

import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.process_collector import ProcessCollector

from kubeio import metric_table as shared_table
from kubeio.access import KubeAuthorizer
from kubeio.api_call_metrics import ApiCallMetrics
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.instruments import LoopCollector, MetricSource, gauge
from kubeio.login import find_kubeconfig
from kubeio.loop_lag import LoopLag
from kubeio.serving import HttpsServer
from kubeio.watch_metrics import WatchMetrics
from node_agent.core.agent import NodeAgent
from node_agent.shell.api_source import ApiSource
from node_agent.shell.attachments import Attach, Surroundings, Work
from node_agent.shell.clock import read_monotonic_seconds, read_now
from node_agent.shell.file_source import FileSource
from node_agent.shell.health import add_loop_check, add_source_checks
from node_agent.shell.http_source import HttpSource
from node_agent.shell.journal import Journal
from node_agent.shell.kubelet.attachment import attach_observation
from node_agent.shell.metrics import ShadowMetrics, SourceMetrics
from node_agent.shell.node_name import warn_of_missing_node
from node_agent.shell.options import AgentOptions
from node_agent.shell.pod_source import PodSource, RefusedManifests
from node_agent.shell.sync_loop import SyncLoop
from node_agent.shell.update_channel import UpdateChannel

ATTACHMENTS: Final[tuple[Attach, ...]] = (attach_observation,)
"""What is attached to every agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The client of the API server, and the count of what goes over it.

    `is_by_kubeconfig`: somebody has started the agent by hand, and not in a Pod.
    """

    client: KubeClient
    calls: ApiCallMetrics
    is_by_kubeconfig: bool = False


async def open_access(options: AgentOptions, stack: AsyncExitStack) -> Access:
    """Log in and make the client; it is closed with `stack`.

    Raises
    ------
    KubeConfigError
        Where there is no usable login.
    """
    credentials = await Credentials.load(options.kubeconfig, context=options.context)
    calls = ApiCallMetrics(urlsplit(credentials.server_url).netloc)
    client = KubeClient(credentials, user_agent=options.user_agent, observe_call=calls.observe)
    await stack.enter_async_context(client)
    found = find_kubeconfig(options.kubeconfig, os.environ)
    return Access(client=client, calls=calls, is_by_kubeconfig=found is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """An agent, connected; `work` is what is to run, by names for messages."""

    agent: NodeAgent
    loop: SyncLoop
    channel: UpdateChannel
    sources: tuple[PodSource, ...]
    registry: CollectorRegistry
    server: HttpsServer
    work: Mapping[str, Work]


def assemble(
    options: AgentOptions,
    access: Access,
    *,
    seed: int,
    attachments: Sequence[Attach] = ATTACHMENTS,
) -> Parts:
    """Make all parts; call it in the event loop.

    Raises
    ------
    CertificateError
        Where the server cannot serve with the given files.
    """
    channel, journal = UpdateChannel(), Journal()
    sources, refused = _make_sources(options, access, channel, seed)
    agent = NodeAgent([source.source for source in sources])
    surroundings = Surroundings(
        options=options, agent=agent, client=access.client, refused=refused, read_now=read_now
    )
    attached = [attach(surroundings) for attach in attachments]
    loop, lag = SyncLoop(agent, channel, journal), LoopLag()
    metrics: list[MetricSource] = [journal, channel, lag, access.calls, _Build(options.version)]
    metrics += [SourceMetrics(agent, loop, sources, refused), ShadowMetrics(agent)]
    for source in sources:
        if isinstance(source, ApiSource):
            metrics += [source, WatchMetrics({"pods": source.reflector})]
    work: dict[str, Work] = {"sync loop": loop.run, "loop lag": lag.run}
    work |= {f"source {source.source.value}": source.run for source in sources}
    if access.is_by_kubeconfig:
        work["node name"] = partial(warn_of_missing_node, access.client, options.node_name)
    for attachment in attached:
        for observer in attachment.observers:
            agent.attach(observer)
        metrics += attachment.metrics
        work |= attachment.work
    registry = _make_registry(metrics)
    server = HttpsServer(
        options.serving,
        registry=registry,
        configz=options.configz,
        authorizer=KubeAuthorizer(access.client) if options.authorize else None,
    )
    add_loop_check(server, loop, channel, read_monotonic_seconds)
    add_source_checks(server, agent, sources)
    for method, path, handler in (route for one in attached for route in one.routes):
        server.add_route(method, path, handler)
    return Parts(
        agent=agent,
        loop=loop,
        channel=channel,
        sources=sources,
        registry=registry,
        server=server,
        work=work,
    )


def _make_registry(metrics: Sequence[MetricSource]) -> CollectorRegistry:
    """Have metrics collected in the event loop, and the process's own beside them."""
    registry = CollectorRegistry()
    registry.register(LoopCollector(lambda: [m for one in metrics for m in one.collect()]))
    ProcessCollector(registry=registry)
    return registry


def _make_sources(
    options: AgentOptions, access: Access, channel: UpdateChannel, seed: int
) -> tuple[tuple[PodSource, ...], dict[str, RefusedManifests]]:
    """Make those that the kubelet has, in its order: file, http, api."""
    sources: list[PodSource] = []
    refused: dict[str, RefusedManifests] = {}
    node, emit = options.node_name, channel.put
    if options.static_pod_path:
        files = FileSource(
            options.static_pod_path, node, emit, period_seconds=options.file_check_seconds
        )
        sources.append(files)
        refused[files.source.value] = files.refused
    if options.static_pod_url:
        url = HttpSource(
            options.static_pod_url,
            node,
            emit,
            headers=options.static_pod_url_headers,
            period_seconds=options.http_check_seconds,
        )
        sources.append(url)
        refused[url.source.value] = url.refused
    sources.append(ApiSource(access.client, node, emit, seed=seed))
    return tuple(sources), refused


class _Build:
    """What runs."""

    def __init__(self, version: str) -> None:
        self._version = version

    def collect(self) -> list[Metric]:
        """Give the family."""
        labels = (self._version, platform.python_version())
        return [gauge(shared_table.BUILD, [(labels, 1)])]
