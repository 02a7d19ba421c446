"""What has been gathered of a cluster, before anything is made of it.

Times are seconds since 1970 by the API server's clock; names of objects in a namespace are
``namespace/name``. Amounts are in base units: milli-CPU, bytes, whole units of the rest.
"""

import msgspec


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which Pods are judged: of one namespace (None: of all), for one scheduler ("": for any).

    `lease` is the one that the user named, as ``namespace/name``, else "".
    """

    namespace: str | None = None
    scheduler_name: str = ""
    lease: str = ""

    def has(self, namespace: str, scheduler_name: str) -> bool:
        """Whether a Pod is to be judged."""
        return (self.namespace is None or self.namespace == namespace) and (
            not self.scheduler_name or self.scheduler_name == scheduler_name
        )


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """What could not be read, by which right it could be, and what the server said.

    `is_refused` is False where the server failed rather than refused.
    """

    resource: str
    verb: str
    reason: str
    namespace: str | None = None
    is_refused: bool = True


class DaemonPod(msgspec.Struct, frozen=True, kw_only=True):
    """A Pod of ours: a replica of the scheduler, or an agent.

    Attributes
    ----------
    instance
        The label ``app.kubernetes.io/instance``, "" without one.
    host_name
        What the process takes for the name of its host: the Pod's, or the Node's.
    version
        The label ``app.kubernetes.io/version``, else the image's tag or digest.
    port
        Where it serves, as ``--secure-port`` says; 0 where it serves at its default.
    trouble
        Why it is not ready, where its status says so.
    """

    namespace: str
    name: str
    node_name: str = ""
    instance: str = ""
    host_name: str = ""
    version: str = ""
    service_account: str = "default"
    port: int = 0
    is_ready: bool = True
    is_ending: bool = False
    restart_count: int = 0
    last_restart: float | None = None
    created: float = 0.0
    trouble: str = ""
    arguments: tuple[str, ...] = ()
    config_map: tuple[str, str] | None = None
    """Name and key of the ConfigMap with its configuration file."""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class LeaseState(msgspec.Struct, frozen=True, kw_only=True):
    """A Lease as it was read; `holder` is "" where nobody has it.

    `was_renewed` is whether it was renewed while we looked; None where we did not wait for it.
    """

    namespace: str
    name: str
    holder: str = ""
    duration_seconds: int = 15
    renewed: float | None = None
    was_renewed: bool | None = None

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def holder_host(self) -> str:
        """The host's name in the holder's identity, which is host_uuid."""
        return self.holder.rpartition("_")[0] or self.holder


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """Schedulers that stand in for each other.

    Attributes
    ----------
    names
        The schedulerNames that they serve, as far as that is known.
    lease_key
        Of the Lease that they compete for; "" where they do not.
    lease
        None where it does not exist, or could not be read (`lease_is_known` False).
    replicas
        None of them is known where a scheduler runs outside the cluster.
    """

    names: tuple[str, ...]
    lease_key: str = ""
    lease: LeaseState | None = None
    lease_is_known: bool = True
    replicas: tuple[DaemonPod, ...] = ()


class ProfileState(msgspec.Struct, frozen=True, kw_only=True):
    """A SchedulerProfile as it stands.

    Attributes
    ----------
    scheduler_names
        Of its newest spec, and of the one that is run meanwhile.
    active_generation
        Of the last spec that was valid; None where none was, or no controller has said so.
    run_generation
        The newest that a scheduler says it runs; 0 where none does.
    mistakes
        Why the newest spec cannot be run, a line for each; empty where nobody says so.
    since
        Since when it stands as it does, as far as that is told; its creation, if nobody has.
    """

    name: str
    scheduler_names: tuple[str, ...]
    generation: int
    active_generation: int | None = None
    run_generation: int = 0
    mistakes: tuple[str, ...] = ()
    since: float = 0.0


class PendingPod(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Pod without a Node.

    `reason`, `message` and `since` are of its PodScheduled condition; "" and None without one.
    """

    namespace: str
    name: str
    scheduler_name: str
    created: float
    reason: str = ""
    message: str = ""
    since: float | None = None
    gates: tuple[str, ...] = ()
    nominated_node: str = ""
    requests: tuple[tuple[str, int], ...] = ()

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def waiting_since(self) -> float:
        """Since when it is told that the Pod waits; its creation, if nobody has said so."""
        return self.since if self.since is not None else self.created


class LiveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the running scheduler says of a pending Pod at this moment.

    `gate` is what keeps it out of the queue; `fits_on` how many Nodes take it.
    """

    fits_on: int = 0
    node_count: int = 0
    fit_error: str = ""
    gate: str = ""
    error: str = ""


class StoppedPod(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Pod that has a Node and is not running and ready there.

    `cause` is one of the agent's (`node_agent.core.divergence.causes`), `told_by` who said so:
    "status" or "agent".
    """

    namespace: str
    name: str
    node_name: str
    scheduler_name: str
    cause: str
    detail: str
    since: float | None = None
    told_by: str = "status"

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent says of its kubelet, for longer than one look."""

    node_name: str
    kind: str
    pod: str
    detail: str
    age_seconds: float


class RefusedManifest(msgspec.Struct, frozen=True, kw_only=True):
    """A static Pod's manifest that a Node's kubelet refuses, where it is, and why."""

    node_name: str
    place: str
    message: str


class NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """A Node, and what the Pods on it have requested.

    `ready` is the Ready condition's status, "" without one; `bad_conditions` are others that are
    True. `silent_seconds` is how long the kubelet has not renewed the Node's Lease, None where it
    does or that is not known. `used` counts Pods as the resource ``pods``.
    """

    name: str
    created: float = 0.0
    ready: str = "True"
    ready_message: str = ""
    ready_since: float | None = None
    silent_seconds: float | None = None
    bad_conditions: tuple[str, ...] = ()
    is_cordoned: bool = False
    taints: tuple[str, ...] = ()
    kubelet_version: str = ""
    allocatable: dict[str, int] = {}
    used: dict[str, int] = {}


class EventGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Warning Events of ours that have the same reason; the newest is `about` the first object."""

    reason: str
    controller: str
    count: int
    last: float | None
    message: str
    about: tuple[str, ...] = ()


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was gathered.

    Attributes
    ----------
    now
        The API server's clock.
    nodes, pending
        None where they could not be read.
    evicting_nodes
        Where Pods are that preemption has chosen as victims.
    usage_is_known
        Whether the Pods of all namespaces could be read, so that the room left is known.
    judged_names
        The schedulerNames that somebody has acted for: of Pods that were bound or judged, of
        those who wrote Events, and of SchedulerProfiles that are run.
    given_up_names
        The schedulerNames of which schedulers say that their SchedulerProfile is gone, with what
        they say, where nobody has acted for the name since.
    namespace_is_missing
        Whether the API server says that there is no namespace of the scope's name.
    kube_scheduler
        The Lease of kube-scheduler, where it is there.
    scheduler_url
        Where the user says that a scheduler serves.
    live
        By Pod's key; `live_problem` says why there is none, or no more.
    wanted_agents
        How many Pods their DaemonSets want; None where that is not known.
    asked_agents
        How many were asked; `agents_problem` says why there are not more.
    """

    now: float
    server: str = ""
    kubernetes_version: str = ""
    own_version: str = ""
    scope: Scope = Scope()
    installations: tuple[Installation, ...] = ()
    kube_scheduler: LeaseState | None = None
    kube_scheduler_is_known: bool = True
    pending: tuple[PendingPod, ...] | None = ()
    stopped: tuple[StoppedPod, ...] = ()
    bound_count: int = 0
    nodes: tuple[NodeState, ...] | None = ()
    evicting_nodes: frozenset[str] = frozenset()
    usage_is_known: bool = True
    agents: tuple[DaemonPod, ...] = ()
    wanted_agents: int | None = None
    divergences: tuple[Divergence, ...] = ()
    refused_manifests: tuple[RefusedManifest, ...] = ()
    asked_agents: int = 0
    agents_problem: str = ""
    judged_names: frozenset[str] = frozenset()
    given_up_names: dict[str, str] = {}
    profiles: tuple[ProfileState, ...] = ()
    namespace_is_missing: bool = False
    scheduler_url: str = ""
    live: dict[str, LiveAnswer] = {}
    live_problem: str = ""
    events: tuple[EventGroup, ...] = ()
    unread: tuple[Unread, ...] = ()
