"""The Event as it is sent; that the API server takes it is shown by integration tests."""

import msgspec

from scheduler_svc.core.effects import EventType, PodReference, RecordEvent
from scheduler_svc.shell.writes.event_request import (
    EventNames,
    collection_path,
    encode_event,
    encode_series,
    reporting_instance,
)

EFFECT = RecordEvent(
    pod=PodReference("shop", "web-1", "6f2c"),
    scheduler_name="berthmaster",
    type=EventType.WARNING,
    reason="FailedScheduling",
    action="Scheduling",
    note="0/0 nodes are available",
)


def test_body() -> None:
    body = encode_event(
        EFFECT,
        name="web-1.18ec8248b7fc3280",
        hostname="host-1",
        event_time_seconds=1_795_953_600.25,
        count=1,
        last_observed_seconds=1_795_953_600.25,
    )
    assert msgspec.json.decode(body) == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": "web-1.18ec8248b7fc3280", "namespace": "shop"},
        "eventTime": "2026-11-29T12:00:00.250000Z",
        "reportingController": "berthmaster",
        "reportingInstance": "berthmaster-host-1",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "regarding": {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": "shop",
            "name": "web-1",
            "uid": "6f2c",
        },
        "note": "0/0 nodes are available",
        "type": "Warning",
    }


def test_series() -> None:
    body = encode_event(
        EFFECT,
        name="a",
        hostname="h",
        event_time_seconds=1_795_953_600.0,
        count=3,
        last_observed_seconds=1_795_953_605.0,
    )
    series = {"count": 3, "lastObservedTime": "2026-11-29T12:00:05.000000Z"}
    assert msgspec.json.decode(body)["series"] == series
    assert msgspec.json.decode(encode_series(3, 1_795_953_605.0)) == {"series": series}


def test_path() -> None:
    assert collection_path(EFFECT.pod) == "/apis/events.k8s.io/v1/namespaces/shop/events"


def test_names_are_the_time_in_hex_and_never_the_same() -> None:
    names = EventNames()
    first = names.next_name("web-1", 1_795_953_600.25)
    assert first == f"web-1.{1_795_953_600_250_000_000:016x}"
    assert names.next_name("web-1", 1_795_953_600.25) == f"web-1.{1_795_953_600_250_000_001:x}"
    assert names.next_name("web-2", 1_795_953_500.0) == f"web-2.{1_795_953_600_250_000_002:x}"


def test_name_of_an_event_of_a_pod_with_a_long_name() -> None:
    name = EventNames().next_name("a" * 235 + "." + "b" * 17, 1_795_953_600.0)
    assert name == "a" * 235 + f".{1_795_953_600_000_000_000:x}"
    assert len(EventNames().next_name("c" * 253, 1_795_953_600.0)) == 253


def test_reporting_instance_is_cut() -> None:
    assert reporting_instance("berthmaster", "h" * 200) == "berthmaster-" + "h" * 116


def test_another_pod_that_has_to_do_with_it() -> None:
    related = msgspec.structs.replace(EFFECT, related=PodReference("bank", "new", "77"))
    body = encode_event(
        related,
        name="a",
        hostname="h",
        event_time_seconds=1_795_953_600.0,
        count=1,
        last_observed_seconds=1_795_953_600.0,
    )
    assert msgspec.json.decode(body)["related"] == {
        "kind": "Pod",
        "apiVersion": "v1",
        "namespace": "bank",
        "name": "new",
        "uid": "77",
    }
