"""The controller's own metrics: name, labels, buckets, help."""

from typing import Final

from kubeio.instruments import Definition, Kind, exponential_buckets

POD_GROUPS: Final = Definition(
    name="berthmaster_pod_groups",
    kind=Kind.GAUGE,
    help="PodGroups, by phase.",
    labels=("phase",),
)
POD_GROUP_MEMBERS: Final = Definition(
    name="berthmaster_pod_group_members",
    kind=Kind.GAUGE,
    help="Pods of groups, by state: pending, unschedulable, scheduled (they have a Node and do not "
    "run yet), running, succeeded, failed.",
    labels=("state",),
)
PROFILES: Final = Definition(
    name="berthmaster_scheduler_profiles",
    kind=Kind.GAUGE,
    help="SchedulerProfiles, by whether their newest spec is valid; unknown: a plugin is not.",
    labels=("valid",),
)
STATUS_WRITES: Final = Definition(
    name="berthmaster_controller_status_writes_total",
    kind=Kind.COUNTER,
    help="Writes of statuses, by result: written, conflict, gone, rejected, failed.",
    labels=("resource", "result"),
)
STATUS_SECONDS: Final = Definition(
    name="berthmaster_controller_status_seconds",
    kind=Kind.HISTOGRAM,
    help="From a change of an object or a Pod to the status that says so.",
    labels=("resource",),
    buckets=exponential_buckets(0.125, 2, 10),
)
RECONCILE_ERRORS: Final = Definition(
    name="berthmaster_controller_reconcile_errors_total",
    kind=Kind.COUNTER,
    help="Failures to bring a status about, by reason; each is tried again. conflict: somebody "
    "else had written first.",
    labels=("resource", "reason"),
)
QUEUE_DEPTH: Final = Definition(
    name="berthmaster_controller_queue_depth",
    kind=Kind.GAUGE,
    help="Objects that have changed and are yet to be looked at.",
)
EVENTS_WRITTEN: Final = Definition(
    name="berthmaster_controller_events_written_total",
    kind=Kind.COUNTER,
    help="Events that were written.",
)
EVENTS_DROPPED: Final = Definition(
    name="berthmaster_controller_events_dropped_total",
    kind=Kind.COUNTER,
    help="Events that were not written, by reason.",
    labels=("reason",),
)
OPERATOR_STARTS: Final = Definition(
    name="berthmaster_controller_operator_starts_total",
    kind=Kind.COUNTER,
    help="How often kopf was begun; it is begun anew when it has failed, and when other resources "
    "are served.",
)
UNTOLD_OBJECTS: Final = Definition(
    name="berthmaster_controller_untold_objects",
    kind=Kind.GAUGE,
    help="Objects of the last list that kopf had not told of then; more than a few for more than a "
    "minute means that its watch has stalled.",
)
