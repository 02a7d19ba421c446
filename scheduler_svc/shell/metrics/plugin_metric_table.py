"""kube-scheduler's metrics of plugins, and of what they do outside of an attempt.

Names, labels, buckets and texts are its own, as in `metric_table`.

Source: pkg/scheduler/metrics/metrics.go and pkg/scheduler/framework/plugins/volumebinding/
metrics/metrics.go, v1.36.3.
"""

from typing import Final

from kubeio.instruments import Definition, Kind, exponential_buckets

EXTENSION_POINT_SECONDS: Final = Definition(
    name="scheduler_framework_extension_point_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="Latency for running all plugins of a specific extension point.",
    labels=("extension_point", "status", "profile"),
    buckets=exponential_buckets(0.0001, 2, 12),
)
PLUGIN_SECONDS: Final = Definition(
    name="scheduler_plugin_execution_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="Duration for running a plugin at a specific extension point.",
    labels=("plugin", "extension_point", "status"),
    buckets=exponential_buckets(0.00001, 1.5, 20),
)
PLUGIN_EVALUATIONS: Final = Definition(
    name="scheduler_plugin_evaluation_total",
    kind=Kind.COUNTER,
    help="Number of attempts to schedule pods by each plugin and the extension point (available "
    "only in PreFilter, Filter, PreScore, and Score).",
    labels=("plugin", "extension_point", "profile"),
)
HINT_SECONDS: Final = Definition(
    name="scheduler_queueing_hint_execution_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="Duration for running a queueing hint function of a plugin.",
    labels=("plugin", "event", "hint"),
    buckets=exponential_buckets(0.00001, 1.5, 20),
)
EVENT_SECONDS: Final = Definition(
    name="scheduler_event_handling_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="Event handling latency in seconds.",
    labels=("event",),
    buckets=exponential_buckets(0.0001, 2, 12),
)
PERMIT_WAIT_SECONDS: Final = Definition(
    name="scheduler_permit_wait_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="Duration of waiting on permit.",
    labels=("result",),
    buckets=exponential_buckets(0.001, 2, 15),
)
PREEMPTIONS_CARRIED_OUT: Final = Definition(
    name="scheduler_preemption_goroutines_execution_total",
    kind=Kind.COUNTER,
    help="Number of preemption goroutines executed.",
    labels=("result",),
)
PREEMPTION_SECONDS: Final = Definition(
    name="scheduler_preemption_goroutines_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="Duration in seconds for running goroutines for the preemption.",
    labels=("result",),
    buckets=exponential_buckets(0.01, 2, 20),
)
CLAIMS_CREATED: Final = Definition(
    name="scheduler_resourceclaim_creates_total",
    kind=Kind.COUNTER,
    help="Number of ResourceClaims creation requests within scheduler",
    labels=("status",),
)
DEVICE_ALLOCATIONS: Final = Definition(
    name="scheduler_dra_bindingconditions_allocations_total",
    kind=Kind.COUNTER,
    help="Number of allocations using devices with BindingConditions, counted per driver per "
    "scheduling attempt",
    labels=("profile", "driver", "status"),
)
DEVICE_WAIT_SECONDS: Final = Definition(
    name="scheduler_dra_bindingconditions_wait_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
    labels=("profile", "driver", "status"),
    buckets=exponential_buckets(0.1, 2, 14),
)
VOLUME_ERRORS: Final = Definition(
    name="scheduler_volume_scheduling_stage_error_total",
    kind=Kind.COUNTER,
    help="Volume scheduling stage error count",
    labels=("operation",),
)
