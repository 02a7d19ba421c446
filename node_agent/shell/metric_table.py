"""The metrics of the agent's shadow: name, labels, buckets, help.

Where the kubelet has a metric of the same definition (``kubelet_working_pods``,
``kubelet_mirror_pods``), ours has its name after ``berthmaster_``.

Source: pkg/kubelet/metrics/metrics.go, v1.36.3.
"""

from typing import Final

from kubeio.instruments import Definition, Kind, exponential_buckets

SOURCE_READY: Final = Definition(
    name="berthmaster_agent_source_ready",
    kind=Kind.GAUGE,
    help="1 once a source of Pods has been heard of; the kubelet cleans up only when all have.",
    labels=("source",),
)
SOURCE_PROBLEM: Final = Definition(
    name="berthmaster_agent_source_failing",
    kind=Kind.GAUGE,
    help="1 while what a source says is missing or may be old; /readyz?verbose says why.",
    labels=("source",),
)
SOURCE_LAST_UPDATE: Final = Definition(
    name="berthmaster_agent_source_last_update_timestamp_seconds",
    kind=Kind.GAUGE,
    help="When a source's last list came in, as Unix time.",
    labels=("source",),
)
SOURCE_PODS: Final = Definition(
    name="berthmaster_agent_source_pods",
    kind=Kind.GAUGE,
    help="Pods that a source has now; mirror Pods are the API server's.",
    labels=("source",),
)
UPDATES: Final = Definition(
    name="berthmaster_agent_pod_operations_total",
    kind=Kind.COUNTER,
    help="Pods that lists have added, changed or removed, by what the kubelet makes of it.",
    labels=("source", "operation"),
)
DUPLICATES: Final = Definition(
    name="berthmaster_agent_duplicate_pods_total",
    kind=Kind.COUNTER,
    help="Pods left out since another of the same source has their name.",
    labels=("source",),
)
MANIFEST_ERRORS: Final = Definition(
    name="berthmaster_agent_manifest_errors_total",
    kind=Kind.COUNTER,
    help="How often a manifest gave no Pod, by reason; a bad file counts with each listing.",
    labels=("source", "reason"),
)
MANIFESTS_REFUSED: Final = Definition(
    name="berthmaster_agent_manifests_refused",
    kind=Kind.GAUGE,
    help="Manifests that give no Pod as they are now, by reason.",
    labels=("source", "reason"),
)
CHANNEL_DEPTH: Final = Definition(
    name="berthmaster_agent_channel_depth",
    kind=Kind.GAUGE,
    help="Lists that wait for the sync loop.",
)
CHANNEL_MAX_DEPTH: Final = Definition(
    name="berthmaster_agent_channel_max_depth",
    kind=Kind.GAUGE,
    help="The most lists that ever waited for the sync loop.",
)
CHANNEL_WAIT_SECONDS: Final = Definition(
    name="berthmaster_agent_channel_wait_seconds",
    kind=Kind.HISTOGRAM,
    help="How long a list waited for the sync loop, the time in which its source waited included.",
    buckets=exponential_buckets(0.0001, 2, 16),
)
LISTS_MERGED: Final = Definition(
    name="berthmaster_agent_lists_overtaken_total",
    kind=Kind.COUNTER,
    help="Lists of the API server that were overtaken by a newer one before their turn.",
)
SYNC_SECONDS: Final = Definition(
    name="berthmaster_agent_sync_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="How long the sync loop took over a list.",
    labels=("source",),
    buckets=exponential_buckets(0.00001, 2, 16),
)
WORKING_PODS: Final = Definition(
    name="berthmaster_working_pods",
    kind=Kind.GAUGE,
    help="Workers that the kubelet is likely to have, by what they do, whether their Pod is still "
    "in its source (desired) or not (orphan), and whether it is static; inferred.",
    labels=("lifecycle", "config", "static"),
)
MIRROR_PODS: Final = Definition(
    name="berthmaster_mirror_pods",
    kind=Kind.GAUGE,
    help="Mirror Pods that the API server has; orphan: of no static Pod.",
    labels=("state",),
)
