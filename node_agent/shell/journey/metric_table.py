"""The metrics of journeys: name, labels, buckets, help.

Where the kubelet has a metric of the same definition, ours has its name after
``berthmaster_`` and its buckets, with some below half a second before them.

Source: pkg/kubelet/metrics/metrics.go, v1.36.3.
"""

from typing import Final

from kubeio.instruments import Definition, Kind

_KUBELET_BUCKETS: Final = (
    *(0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600),
    *(900, 1200, 1800, 2700, 3600),
)
_START_BUCKETS: Final = (0.025, 0.05, 0.1, 0.25, *_KUBELET_BUCKETS)
_PHASE_BUCKETS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600),
    *(1200, 3600),
)

PHASE_SECONDS: Final = Definition(
    name="berthmaster_pod_phase_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="How long a Pod was in a phase of its way; source: who told of its begin and its end.",
    labels=("phase", "source", "workload_kind"),
    buckets=_PHASE_BUCKETS,
)
NEGATIVE_PHASES: Final = Definition(
    name="berthmaster_pod_phase_negative_total",
    kind=Kind.COUNTER,
    help="Durations below 0, which are counted as 0, by cause: resolution (explained by "
    "rounding), clocks (two of them differ), evidence (what was told contradicts itself).",
    labels=("phase", "source", "cause"),
)
START_SLI_SECONDS: Final = Definition(
    name="berthmaster_pod_start_sli_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="From creation to all containers started and seen so by the agent, without image pulls "
    "and init containers, of Pods without state that were scheduled at the first attempt.",
    buckets=_START_BUCKETS,
)
START_TOTAL_SECONDS: Final = Definition(
    name="berthmaster_pod_start_total_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="From creation to all containers started and seen so by the agent, nothing left out.",
    buckets=_START_BUCKETS,
)
START_SECONDS: Final = Definition(
    name="berthmaster_pod_start_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="From the kubelet's sight of a Pod to all containers started and seen so by the agent.",
    buckets=_START_BUCKETS,
)
WATCH_LAG_SECONDS: Final = Definition(
    name="berthmaster_agent_watch_lag_seconds",
    kind=Kind.HISTOGRAM,
    help="How far apart the kubelet's and the agent's first sight of a Pod are, by who was first.",
    labels=("first",),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
SKIPPED: Final = Definition(
    name="berthmaster_pod_journeys_skipped_total",
    kind=Kind.COUNTER,
    help="Pods that are missing from figures: from all of them for agent_restart and clock_set, "
    "from the SLI for the other reasons.",
    labels=("reason",),
)
JOURNEYS: Final = Definition(
    name="berthmaster_pod_journeys",
    kind=Kind.GAUGE,
    help="Journeys kept, of Pods that are there (live) and that are gone (finished).",
    labels=("state",),
)
CLOCK_SKEW_SECONDS: Final = Definition(
    name="berthmaster_clock_skew_seconds",
    kind=Kind.GAUGE,
    help="The node's clock less the API server's, as estimated; durations are not corrected.",
)
CLOCK_SKEW_ERROR_SECONDS: Final = Definition(
    name="berthmaster_clock_skew_error_seconds",
    kind=Kind.GAUGE,
    help="How far the true skew may be from the estimate.",
)
CLOCK_JUMPS: Final = Definition(
    name="berthmaster_clock_jumps_total",
    kind=Kind.COUNTER,
    help="How often the node's clock was set.",
)
EVENT_READS: Final = Definition(
    name="berthmaster_pod_event_reads_total",
    kind=Kind.COUNTER,
    help="Lists of the Events about a Pod, for its image pulls, by result: read, failed.",
    labels=("result",),
)
