"""The metrics of comparisons with the kubelet: name, labels, help."""

from typing import Final

from kubeio.instruments import Definition, Kind

UP: Final = Definition(
    name="berthmaster_kubelet_endpoint_up",
    kind=Kind.GAUGE,
    help="1 where the kubelet's endpoint could be read when last asked.",
    labels=("endpoint",),
)
AGE: Final = Definition(
    name="berthmaster_kubelet_endpoint_age_seconds",
    kind=Kind.GAUGE,
    help="Since the kubelet's endpoint was last read.",
    labels=("endpoint",),
)
KUBELET_PODS: Final = Definition(
    name="berthmaster_kubelet_pods",
    kind=Kind.GAUGE,
    help="Pods that the kubelet shows, by source.",
    labels=("source",),
)
RESTARTS: Final = Definition(
    name="berthmaster_kubelet_restarts_total",
    kind=Kind.COUNTER,
    help="How often the kubelet was seen to have been started anew.",
)
DIVERGENCES: Final = Definition(
    name="berthmaster_kubelet_divergence_pods",
    kind=Kind.GAUGE,
    help="Pods of which the kubelet's view and the agent's differ, in two comparisons in a row.",
    labels=("kind", "source"),
)
DIVERGENCE_AGE: Final = Definition(
    name="berthmaster_kubelet_divergence_age_seconds",
    kind=Kind.GAUGE,
    help="How long the oldest difference of a kind has lasted.",
    labels=("kind", "source"),
)
NOT_RUNNING: Final = Definition(
    name="berthmaster_pods_not_running",
    kind=Kind.GAUGE,
    help="Bound Pods that are not running and ready, by what they wait for.",
    labels=("cause",),
)
NOT_RUNNING_AGE: Final = Definition(
    name="berthmaster_pods_not_running_age_seconds",
    kind=Kind.GAUGE,
    help="How long the Pod that waits longest has waited for that cause.",
    labels=("cause",),
)
EVENTS: Final = Definition(
    name="berthmaster_divergence_events_total",
    kind=Kind.COUNTER,
    help="Kubernetes events about lasting differences, by result: written, failed.",
    labels=("result",),
)
START_PREFIX: Final = "berthmaster_"
"""Before the names of the kubelet's own histograms, which say kubelet_ already."""
