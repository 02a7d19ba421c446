"""How parts are attached to the agent that listen to its shadow and serve what they learn.

An attachment gives observers (`node_agent.core.observer`), which are told of every operation
from the first one on; routes on the agent's server, guarded like ``/metrics``; metrics for its
registry, collected in the event loop; and work that runs until the agent ends. If a piece of
work raises, the agent ends.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kubeio.client import KubeClient
from kubeio.instruments import MetricSource
from kubeio.serving import Handler
from node_agent.core.agent import NodeAgent
from node_agent.core.clock import Now
from node_agent.core.observer import PodObserver
from node_agent.shell.options import AgentOptions
from node_agent.shell.pod_source import RefusedManifests

Route = tuple[str, str, Handler]
"""Method, path, handler: what `kubeio.serving.HttpsServer.add_route` takes."""
Work = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What an attachment may use.

    Attributes
    ----------
    agent
        The shadow, to look at: `config`, `known`, `workers`.
    client
        Of the API server; its credentials are the agent's ServiceAccount.
    refused
        Manifests that give no Pod now, by the name of their source.
    """

    options: AgentOptions
    agent: NodeAgent
    client: KubeClient
    refused: Mapping[str, RefusedManifests]
    read_now: Callable[[], Now]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """What is attached; `work` by names for messages."""

    observers: Sequence[PodObserver] = ()
    routes: Sequence[Route] = ()
    metrics: Sequence[MetricSource] = ()
    work: Mapping[str, Work] = field(default_factory=dict)


Attach = Callable[[Surroundings], Attachment]
"""Makes an attachment; called in the event loop, before anything runs."""
