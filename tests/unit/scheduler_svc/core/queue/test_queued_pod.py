from math import inf

from scheduler_svc.core.queue.queued_pod import Place
from tests.unit.scheduler_svc.core.queue.builders import queued_pod


def test_a_new_pod_has_no_history() -> None:
    queued = queued_pod("a", timestamp_seconds=7.5)
    assert (queued.attempts, queued.unschedulable_count, queued.consecutive_errors_count) == (
        0,
        0,
        0,
    )
    assert queued.timestamp_seconds == 7.5
    assert queued.initial_attempt_timestamp_seconds is None
    assert queued.backoff_expiration_seconds == -inf
    assert queued.rejectors == frozenset()
    assert not queued.is_gated


def test_rejectors_are_the_plugins_of_both_kinds() -> None:
    queued = queued_pod(
        unschedulable_plugins=frozenset({"A", "B"}), pending_plugins=frozenset({"C"})
    )
    assert queued.rejectors == {"A", "B", "C"}


def test_a_gating_plugin_makes_a_pod_gated() -> None:
    assert queued_pod(gating_plugin="SchedulingGates").is_gated


def test_places_are_the_labels_of_the_pending_pods_metric() -> None:
    assert [Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED] == [
        "active",
        "backoff",
        "unschedulable",
        "gated",
    ]
