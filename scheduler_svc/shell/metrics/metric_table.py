"""Every metric, in one table: name, labels, buckets, help.

Ours begin with ``berthmaster_``; the others are kube-scheduler's, with its names, labels,
buckets and texts, so that dashboards and alerts written for it work.

Those of plugins are in `plugin_metric_table`; docs/metrics.md says which of kube-scheduler's
there are not, and why.

Source: pkg/scheduler/metrics/{metrics,resources/resources}.go and staging/src/k8s.io/
component-base/metrics/prometheus/{clientgo/leaderelection,restclient}, v1.36.3.
"""

from typing import Final

from kubeio.instruments import Definition, Kind, exponential_buckets

ATTEMPTS: Final = Definition(
    name="scheduler_schedule_attempts_total",
    kind=Kind.COUNTER,
    help="Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could "
    "not be scheduled, while 'error' means an internal scheduler problem.",
    labels=("result", "profile"),
)
ATTEMPT_SECONDS: Final = Definition(
    name="scheduler_scheduling_attempt_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="Scheduling attempt latency in seconds (scheduling algorithm + binding)",
    labels=("result", "profile"),
    buckets=exponential_buckets(0.001, 2, 15),
)
ALGORITHM_SECONDS: Final = Definition(
    name="scheduler_scheduling_algorithm_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="Scheduling algorithm latency in seconds",
    buckets=exponential_buckets(0.001, 2, 15),
)
SLI_SECONDS: Final = Definition(
    name="scheduler_pod_scheduling_sli_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="E2e latency for a pod being scheduled, from the time the pod enters the scheduling "
    "queue and might involve multiple scheduling attempts.",
    labels=("attempts",),
    buckets=exponential_buckets(0.01, 2, 20),
)
ATTEMPTS_OF_POD: Final = Definition(
    name="scheduler_pod_scheduling_attempts",
    kind=Kind.HISTOGRAM,
    help="Number of attempts to successfully schedule a pod.",
    buckets=exponential_buckets(1, 2, 5),
)
PREEMPTION_ATTEMPTS: Final = Definition(
    name="scheduler_preemption_attempts_total",
    kind=Kind.COUNTER,
    help="Total preemption attempts in the cluster till now",
)
PREEMPTION_VICTIMS: Final = Definition(
    name="scheduler_preemption_victims",
    kind=Kind.HISTOGRAM,
    help="Number of selected preemption victims",
    buckets=exponential_buckets(1, 2, 7),
)
AFTER_FLUSH: Final = Definition(
    name="scheduler_pod_scheduled_after_flush_total",
    kind=Kind.COUNTER,
    help="Number of pods that were successfully scheduled after being flushed from "
    "unschedulablePods due to timeout. This metric helps detect potential queueing hint "
    "misconfigurations or event handling issues.",
)
PENDING_PODS: Final = Definition(
    name="scheduler_pending_pods",
    kind=Kind.GAUGE,
    help="Number of pending pods, by the queue type. 'active' means number of pods in activeQ; "
    "'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in "
    "unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the "
    "number of unschedulable pods that the scheduler never attempted to schedule because they "
    "are gated.",
    labels=("queue",),
)
INCOMING_PODS: Final = Definition(
    name="scheduler_queue_incoming_pods_total",
    kind=Kind.COUNTER,
    help="Number of pods added to scheduling queues by event and queue type.",
    labels=("queue", "event"),
)
GOROUTINES: Final = Definition(
    name="scheduler_goroutines",
    kind=Kind.GAUGE,
    help="Number of running goroutines split by the work they do such as binding.",
    labels=("operation",),
)
INFLIGHT_EVENTS: Final = Definition(
    name="scheduler_inflight_events",
    kind=Kind.GAUGE,
    help="Number of events currently tracked in the scheduling queue.",
    labels=("event",),
)
UNSCHEDULABLE_PODS: Final = Definition(
    name="scheduler_unschedulable_pods",
    kind=Kind.GAUGE,
    help="The number of unschedulable pods broken down by plugin name. A pod will increment the "
    "gauge for all plugins that caused it to not schedule and so this metric have meaning only "
    "when broken down by plugin.",
    labels=("plugin", "profile"),
)
CACHE_SIZE: Final = Definition(
    name="scheduler_cache_size",
    kind=Kind.GAUGE,
    help="Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
    labels=("type",),
)
LEADER: Final = Definition(
    name="leader_election_master_status",
    kind=Kind.GAUGE,
    help="Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, "
    "1 indicates master. 'name' is the string used to identify the lease. Please make sure to "
    "group by name.",
    labels=("name",),
)

POD_REQUEST: Final = Definition(
    name="kube_pod_resource_request",
    kind=Kind.GAUGE,
    help="Resources requested by workloads on the cluster, broken down by pod. This shows the "
    "resource usage the scheduler and kubelet expect per pod for resources along with the unit "
    "for the resource if any.",
    labels=("namespace", "pod", "node", "scheduler", "priority", "resource", "unit"),
)
POD_LIMIT: Final = Definition(
    name="kube_pod_resource_limit",
    kind=Kind.GAUGE,
    help="Resources limit for workloads on the cluster, broken down by pod. This shows the "
    "resource usage the scheduler and kubelet expect per pod for resources along with the unit "
    "for the resource if any.",
    labels=("namespace", "pod", "node", "scheduler", "priority", "resource", "unit"),
)

QUEUE_WAIT_SECONDS: Final = Definition(
    name="berthmaster_queue_wait_seconds",
    kind=Kind.HISTOGRAM,
    help="How long a Pod that got a Node had waited in the queue before this attempt.",
    labels=("profile",),
    buckets=exponential_buckets(0.001, 2, 20),
)
CYCLE_SECONDS: Final = Definition(
    name="berthmaster_scheduling_cycle_seconds",
    kind=Kind.HISTOGRAM,
    help="How long the decision of one attempt took, from the queue to the effects.",
    buckets=exponential_buckets(0.00001, 2, 16),
)
BINDING_SECONDS: Final = Definition(
    name="berthmaster_binding_cycle_seconds",
    kind=Kind.HISTOGRAM,
    help="From the decision to the outcome of the Binding: bound, or why not.",
    labels=("result",),
    buckets=exponential_buckets(0.001, 2, 16),
)
CLASSES: Final = Definition(
    name="berthmaster_pod_classes",
    kind=Kind.GAUGE,
    help="Kinds of Pods whose evaluation of all Nodes is kept.",
)
CLASS_BYTES: Final = Definition(
    name="berthmaster_pod_classes_bytes",
    kind=Kind.GAUGE,
    help="Memory of the evaluations that are kept.",
)
HINTS: Final = Definition(
    name="berthmaster_queueing_hints_total",
    kind=Kind.COUNTER,
    help="Queueing hints asked, by answer: Queue, QueueSkip, Error.",
    labels=("plugin", "event", "hint"),
)
EXTENDER_SECONDS: Final = Definition(
    name="berthmaster_extender_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="How long an extender took to answer, by its URL and by what it was asked to do: "
    "filter, prioritize, preempt, bind.",
    labels=("extender", "verb"),
    buckets=exponential_buckets(0.001, 2, 15),
)
EXTENDER_ERRORS: Final = Definition(
    name="berthmaster_extender_errors_total",
    kind=Kind.COUNTER,
    help="Questions that an extender did not answer as it should, those that are ignored, too.",
    labels=("extender", "verb"),
)
PARKED_PODS: Final = Definition(
    name="berthmaster_parked_pods",
    kind=Kind.GAUGE,
    help="Pods whose attempt waits for extenders.",
)
PODS_REFUSED: Final = Definition(
    name="berthmaster_pods_refused_total",
    kind=Kind.COUNTER,
    help="Pods that were bound here and that the kubelet of their Node did not admit, by the "
    "kubelet's reason.",
    labels=("reason",),
)
WITHHELD_NODES: Final = Definition(
    name="berthmaster_withheld_nodes",
    kind=Kind.GAUGE,
    help="Nodes that count as having less room than is known of, since their kubelet has refused "
    "Pods for lack of it.",
)
WAITING_GROUPS: Final = Definition(
    name="berthmaster_waiting_pod_groups",
    kind=Kind.GAUGE,
    help="Groups of Pods that do not fit.",
)
HELD_GROUPS: Final = Definition(
    name="berthmaster_held_pod_groups",
    kind=Kind.GAUGE,
    help="Groups that room is kept for, since they have waited for long or have lost Pods.",
)
BINDINGS: Final = Definition(
    name="berthmaster_bindings",
    kind=Kind.GAUGE,
    help="Pods between decision and outcome, by state: queued, in_flight.",
    labels=("state",),
)
BIND_CONCURRENCY: Final = Definition(
    name="berthmaster_bind_concurrency",
    kind=Kind.GAUGE,
    help="How many Bindings may be in flight at once; adapts to the API server.",
)
BINDINGS_RETRIED: Final = Definition(
    name="berthmaster_bindings_retried_total",
    kind=Kind.COUNTER,
    help="Bindings that were sent once more, after it was known that the Pod was not bound.",
)
BINDINGS_LOOKED_UP: Final = Definition(
    name="berthmaster_bindings_looked_up_total",
    kind=Kind.COUNTER,
    help="Bindings whose outcome had to be read from the Pod, for the answer did not tell.",
)
EVENTS_QUEUED: Final = Definition(
    name="berthmaster_events_queued",
    kind=Kind.GAUGE,
    help="Kubernetes events that wait to be written.",
)
EVENTS_OLDEST: Final = Definition(
    name="berthmaster_events_oldest_seconds",
    kind=Kind.GAUGE,
    help="How long the oldest of the Kubernetes events that are to be written has waited.",
)
EVENTS_WRITTEN: Final = Definition(
    name="berthmaster_events_written_total",
    kind=Kind.COUNTER,
    help="Kubernetes events written, by what was written: created, series.",
    labels=("kind",),
)
EVENTS_FOLDED: Final = Definition(
    name="berthmaster_events_folded_total",
    kind=Kind.COUNTER,
    help="Kubernetes events that were taken up by another before it was written.",
)
EVENTS_DROPPED: Final = Definition(
    name="berthmaster_events_dropped_total",
    kind=Kind.COUNTER,
    help="Kubernetes events that were never written, by reason.",
    labels=("reason",),
)
CONDITIONS_WRITTEN: Final = Definition(
    name="berthmaster_conditions_written_total",
    kind=Kind.COUNTER,
    help="PodScheduled conditions written.",
)
CONDITIONS_DROPPED: Final = Definition(
    name="berthmaster_conditions_dropped_total",
    kind=Kind.COUNTER,
    help="PodScheduled conditions that were never written, by reason.",
    labels=("reason",),
)
