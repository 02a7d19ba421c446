from scheduler_svc.core.framework.cluster_events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    FORCE_ACTIVATE,
    Occurrence,
)
from scheduler_svc.core.queue.in_flight import InFlight
from tests.unit.scheduler_svc.core.queue.builders import make_pod

ADDED, DELETED = Occurrence(ASSIGNED_POD_ADD), Occurrence(ASSIGNED_POD_DELETE)


def test_nothing_is_logged_for_nobody() -> None:
    in_flight = InFlight()
    in_flight.record(ADDED)
    in_flight.start(make_pod("a"))
    assert in_flight.events_since_start("uid-a") == []
    assert sum(in_flight.event_counts.values()) == 0


def test_a_pod_is_shown_the_events_after_its_own_start() -> None:
    in_flight = InFlight()
    in_flight.start(make_pod("a"))
    in_flight.record(ADDED)
    in_flight.start(make_pod("b"))
    in_flight.record(DELETED)
    assert in_flight.events_since_start("uid-a") == [ADDED, DELETED]
    assert in_flight.events_since_start("uid-b") == [DELETED]
    assert in_flight.events_since_start("uid-unknown") == []


def test_an_event_about_one_pod_is_shown_to_that_pod_only() -> None:
    in_flight = InFlight()
    in_flight.start(make_pod("a"))
    in_flight.start(make_pod("b"))
    forced = Occurrence(FORCE_ACTIVATE, uid="uid-b")
    in_flight.record(forced)
    assert in_flight.events_since_start("uid-a") == []
    assert in_flight.events_since_start("uid-b") == [forced]


def test_events_are_kept_for_the_oldest_attempt_and_no_longer() -> None:
    in_flight = InFlight()
    for name in "abc":
        in_flight.start(make_pod(name))
        in_flight.record(ADDED)
    in_flight.finish("uid-b")
    assert in_flight.event_counts == {"AssignedPodAdd": 3}
    in_flight.finish("uid-a")
    assert in_flight.event_counts == {"AssignedPodAdd": 1}
    assert in_flight.events_since_start("uid-c") == [ADDED]
    in_flight.finish("uid-c")
    assert in_flight.event_counts == {"AssignedPodAdd": 0}
    assert len(in_flight) == 0


def test_to_finish_twice_does_nothing() -> None:
    in_flight = InFlight()
    in_flight.start(make_pod("a"))
    in_flight.start(make_pod("b"))
    in_flight.record(ADDED)
    in_flight.finish("uid-a")
    in_flight.finish("uid-a")
    assert list(in_flight) == ["uid-b"]
    assert in_flight.events_since_start("uid-b") == [ADDED]


def test_the_newest_version_of_a_pod_is_kept() -> None:
    in_flight = InFlight()
    in_flight.start(make_pod("a"))
    newest = make_pod("a", version=2)
    assert in_flight.replace(newest)
    attempt = in_flight.get("uid-a")
    assert attempt is not None
    assert attempt.pod is newest
    assert not in_flight.replace(make_pod("b"))


def is_deleted(in_flight: InFlight, uid: str) -> bool:
    attempt = in_flight.get(uid)
    return attempt is not None and attempt.is_deleted


def test_a_deleted_pod_is_remembered_until_it_is_seen_again() -> None:
    in_flight = InFlight()
    in_flight.start(make_pod("a"))
    assert in_flight.mark_deleted("uid-a")
    assert is_deleted(in_flight, "uid-a")
    in_flight.replace(make_pod("a", version=2))
    assert not is_deleted(in_flight, "uid-a")
    assert not in_flight.mark_deleted("uid-b")


def test_a_sound_log_has_no_fault() -> None:
    in_flight = InFlight()
    assert in_flight.find_fault() is None
    in_flight.start(make_pod("a"))
    in_flight.record(ADDED)
    assert in_flight.find_fault() is None


def test_an_event_nobody_needs_is_a_fault() -> None:
    in_flight = InFlight()
    in_flight.start(make_pod("a"))
    in_flight.record(ADDED)
    in_flight._pods.clear()
    assert in_flight.find_fault() == "the log of events begins before the oldest attempt"


def test_a_wrong_count_is_a_fault() -> None:
    in_flight = InFlight()
    in_flight.start(make_pod("a"))
    in_flight.record(ADDED)
    in_flight._counts.clear()
    assert in_flight.find_fault() == "1 events are logged, {} counted"
