"""The metrics that every daemon of ours shows: name, labels, buckets, help.

Those of calls are client-go's too, with its names, labels, buckets and texts.

Source: staging/src/k8s.io/component-base/metrics/prometheus/restclient, v1.36.3.
"""

from typing import Final

from kubeio.instruments import Definition, Kind, exponential_buckets

CLIENT_REQUESTS: Final = Definition(
    name="rest_client_requests_total",
    kind=Kind.COUNTER,
    help="Number of HTTP requests, partitioned by status code, method, and host.",
    labels=("code", "host", "method"),
)
CLIENT_SECONDS: Final = Definition(
    name="rest_client_request_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="Request latency in seconds. Broken down by verb, and host.",
    labels=("verb", "host"),
    buckets=(0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60),
)
BUILD: Final = Definition(
    name="berthmaster_build_info",
    kind=Kind.GAUGE,
    help="Always 1; the labels say what runs.",
    labels=("version", "python_version"),
)
LOOP_LAG_SECONDS: Final = Definition(
    name="berthmaster_loop_lag_seconds",
    kind=Kind.HISTOGRAM,
    help="How late a timer of the event loop fired: what renewals of the Lease wait for.",
    buckets=exponential_buckets(0.0005, 2, 13),
)
API_CALLS: Final = Definition(
    name="berthmaster_api_calls_total",
    kind=Kind.COUNTER,
    help="Calls to the API server; the code is <error> where no answer came.",
    labels=("verb", "resource", "code"),
)
API_CALL_SECONDS: Final = Definition(
    name="berthmaster_api_call_seconds",
    kind=Kind.HISTOGRAM,
    help="From a call to the end of its answer (of the headers for WATCH).",
    labels=("verb", "resource"),
    buckets=exponential_buckets(0.001, 2, 15),
)
WATCHED_OBJECTS: Final = Definition(
    name="berthmaster_watched_objects",
    kind=Kind.GAUGE,
    help="Objects in a view of the cluster.",
    labels=("resource",),
)
WATCH_BYTE_AGE: Final = Definition(
    name="berthmaster_watch_last_byte_age_seconds",
    kind=Kind.GAUGE,
    help="Since the API server last sent anything for a view; about a minute is healthy.",
    labels=("resource",),
)
WATCH_EVENT_AGE: Final = Definition(
    name="berthmaster_watch_last_event_age_seconds",
    kind=Kind.GAUGE,
    help="Since an object of a view last changed.",
    labels=("resource",),
)
WATCH_EVENTS: Final = Definition(
    name="berthmaster_watch_events_total",
    kind=Kind.COUNTER,
    help="Changes of objects that were told by a watch.",
    labels=("resource",),
)
LISTS: Final = Definition(
    name="berthmaster_watch_lists_total",
    kind=Kind.COUNTER,
    help="Lists begun, by reason: start, or why a view had to be made anew.",
    labels=("resource", "reason"),
)
ENDINGS: Final = Definition(
    name="berthmaster_watch_endings_total",
    kind=Kind.COUNTER,
    help="Lists and watches that ended, by reason; ended: as asked.",
    labels=("resource", "reason"),
)
DECODE_FAILURES: Final = Definition(
    name="berthmaster_undecodable_objects_total",
    kind=Kind.COUNTER,
    help="Objects that came and could not be read; the log names each once.",
    labels=("resource",),
)
UNDECODABLE: Final = Definition(
    name="berthmaster_undecodable_objects",
    kind=Kind.GAUGE,
    help="Objects whose newest state cannot be read: an older one is used, or none.",
    labels=("resource",),
)
