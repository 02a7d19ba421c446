"""KubeSchedulerConfiguration v1 as a file may write it: every field, with its default.

The defaults are kube-scheduler's except where a comment says otherwise. A default that
depends on another value, or that takes the place of an explicit zero, is in `defaults`.

Source: staging/src/k8s.io/kube-scheduler/config/v1/types.go,
staging/src/k8s.io/component-base/config/v1alpha1/types.go and
pkg/scheduler/apis/config/v1/defaults.go, v1.36.3.
"""

from typing import Final

import msgspec

from scheduler_svc.shell.config.extension_points import ExtensionPoint
from scheduler_svc.shell.config.formats import HiddenBytes, Int32, Int64, Seconds

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
LEASE_NAME: Final = "berthmaster"
KUBE_SCHEDULER_LEASE_NAME: Final = "kube-scheduler"


class ConfigStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the file's objects: immutable, camelCase in the file."""


class LeaderElection(ConfigStruct, frozen=True):
    """How replicas agree on the one that schedules.

    Attributes
    ----------
    leader_elect
        Whether they do; without it every replica schedules.
    lease_duration_seconds
        How long a standby waits after the last renewal it saw before it takes over.
    renew_deadline_seconds
        How long the leader goes on without a successful renewal before it stops.
    retry_period_seconds
        The pause between two attempts to take or to renew the Lease.
    resource_lock
        Only `leases`: the older kinds of lock are gone.
    resource_name, resource_namespace
        The Lease. kube-scheduler's default name is `kube-scheduler`; ours differs, because
        a scheduler that stands beside it must not compete for its Lease.
    """

    leader_elect: bool = True
    lease_duration_seconds: Seconds = msgspec.field(default=15.0, name="leaseDuration")
    renew_deadline_seconds: Seconds = msgspec.field(default=10.0, name="renewDeadline")
    retry_period_seconds: Seconds = msgspec.field(default=2.0, name="retryPeriod")
    resource_lock: str = "leases"
    resource_name: str = LEASE_NAME
    resource_namespace: str = "kube-system"


class ClientConnection(ConfigStruct, frozen=True):
    """How to reach the API server.

    Attributes
    ----------
    kubeconfig
        Path of a kubeconfig file; empty: the Pod's service account.
    accept_content_types, content_type
        Without effect: requests and answers are JSON.
    qps
        Requests a second, averaged; below 0: no limit, which is the default here, while
        kube-scheduler's is 50. A limit is for a client that cannot slow down; this one
        adapts to the API server's answers. 0 counts as not given.
    burst
        Requests at once, where `qps` sets a limit.
    """

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = -1.0
    burst: Int32 = 100

    @property
    def requests_per_second(self) -> float | None:
        """The limit that the file sets, or `None`."""
        return self.qps if self.qps > 0 else None


class Plugin(ConfigStruct, frozen=True):
    """A plugin by name. `weight` multiplies its score; absent or 0 it counts as 1."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(ConfigStruct, frozen=True):
    """What a profile changes at one extension point; `*` in `disabled` is every default plugin."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


_NO_CHANGE: Final = PluginSet()


class Plugins(ConfigStruct, frozen=True):
    """The plugin sets of a profile, one for each extension point."""

    pre_enqueue: PluginSet = _NO_CHANGE
    queue_sort: PluginSet = _NO_CHANGE
    pre_filter: PluginSet = _NO_CHANGE
    filter: PluginSet = _NO_CHANGE
    post_filter: PluginSet = _NO_CHANGE
    pre_score: PluginSet = _NO_CHANGE
    score: PluginSet = _NO_CHANGE
    reserve: PluginSet = _NO_CHANGE
    permit: PluginSet = _NO_CHANGE
    pre_bind: PluginSet = _NO_CHANGE
    bind: PluginSet = _NO_CHANGE
    post_bind: PluginSet = _NO_CHANGE
    multi_point: PluginSet = _NO_CHANGE
    placement_generate: PluginSet = _NO_CHANGE
    placement_score: PluginSet = _NO_CHANGE

    def at(self, point: ExtensionPoint) -> PluginSet:
        """Return the set of one extension point."""
        plugin_set: PluginSet = getattr(self, point.name.lower())
        return plugin_set


class PluginConfig(ConfigStruct, frozen=True):
    """The arguments of one plugin; their type depends on the name, so they are decoded apart."""

    name: str = ""
    args: object = None


class KubeSchedulerProfile(ConfigStruct, frozen=True):
    """One scheduler: Pods choose it by `spec.schedulerName`.

    `percentage_of_nodes_to_score` overrides the file's and has as little effect.
    """

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderManagedResource(ConfigStruct, frozen=True, omit_defaults=True):
    """An extended resource that an extender decides about.

    `ignored_by_scheduler`: NodeResourcesFit does not check it.
    """

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTlsConfig(ConfigStruct, frozen=True, omit_defaults=True):
    """TLS towards an extender. The `_data` fields hold PEM and win over the `_file` ones.

    `insecure`: the server's certificate is not verified. `server_name`: the name to expect
    in it, the URL's host if empty.
    """

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = msgspec.field(default="", name="caFile")
    cert_data: bytes = b""
    key_data: HiddenBytes = b""
    ca_data: bytes = msgspec.field(default=b"", name="caData")

    def __repr__(self) -> str:
        """Show where the certificates come from, and never what is in them."""
        return (
            f"ExtenderTlsConfig(insecure={self.insecure}, server_name={self.server_name!r}, "
            f"cert_file={self.cert_file!r}, key_file={self.key_file!r}, ca_file={self.ca_file!r})"
        )


class Extender(ConfigStruct, frozen=True, omit_defaults=True):
    """An HTTP server that takes part in decisions. An empty verb: it does not do that part.

    Attributes
    ----------
    url_prefix
        The URL before the verb.
    weight
        Multiplies the scores (0 to 10) that `prioritize_verb` answers.
    enable_https
        HTTPS, though `tls_config` is not given.
    http_timeout_seconds
        The limit of one call; 0 counts as 5 s, below 0 there is none.
    node_cache_capable
        Only the names of Nodes are sent.
    managed_resources
        Only Pods that ask for one of these are sent; empty: all.
    ignorable
        An error of the extender does not fail the Pod.
    """

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTlsConfig | None = None
    http_timeout_seconds: Seconds = msgspec.field(default=0.0, name="httpTimeout")
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(ConfigStruct, frozen=True):
    """The file.

    Attributes
    ----------
    parallelism
        Goroutines of a decision in kube-scheduler; without effect here.
    enable_profiling, enable_contention_profiling
        Go's profiler; without effect here.
    percentage_of_nodes_to_score
        After how many feasible Nodes kube-scheduler stops looking; without effect here,
        where every Node is always judged. 0 is its adaptive choice.
    pod_initial_backoff_seconds, pod_max_backoff_seconds
        The first and the longest wait of a Pod that did not fit; it doubles in between.
    delay_cache_until_active
        A standby watches nothing until it leads: less memory, slower take-over.
    """

    api_version: str = ""
    kind: str = ""
    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
