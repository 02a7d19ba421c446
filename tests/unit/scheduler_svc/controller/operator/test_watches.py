"""What kopf's requests tell of its watches."""

import pytest

from scheduler_svc.controller.custom_resources import POD_GROUPS, SCHEDULER_PROFILES
from scheduler_svc.controller.operator.watches import Watches

GROUPS = POD_GROUPS.path.collection


class Bench:
    """Watches of groups alone, and a clock."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.watches = Watches([POD_GROUPS], lambda: self.now)

    def watch(self, seconds: float, path: str = GROUPS) -> None:
        """Begin a watch, and let time go on."""
        self.watches.note_request(path)
        self.watches.note_open(path)
        self.now += seconds

    def fail(self, failure: str, seconds: float) -> None:
        self.watches.note_request(GROUPS)
        self.watches.note_failure(GROUPS, failure)
        self.now += seconds


def test_what_was_never_watched_is_told_at_once() -> None:
    bench = Bench()
    name = "podgroups.scheduling.x-k8s.io"
    assert bench.watches.never_asked_for() == [POD_GROUPS]
    assert bench.watches.problem() == f"{name} is not watched yet"
    bench.fail("403 Forbidden", 1)
    assert bench.watches.never_asked_for() == []
    assert bench.watches.problem() == f"{name} is not watched yet: 403 Forbidden"
    bench.watch(0)
    assert bench.watches.problem() is None


def test_each_resource_counts() -> None:
    watches = Watches([POD_GROUPS, SCHEDULER_PROFILES])
    watches.note_open(f"/behind/a/proxy{GROUPS}")
    assert watches.never_asked_for() == [SCHEDULER_PROFILES]
    assert watches.problem() == "schedulerprofiles.berthmaster.dev is not watched yet"


def test_other_requests_say_nothing() -> None:
    bench = Bench()
    bench.watch(0, path="/apis/scheduling.x-k8s.io/v1alpha1")
    bench.watches.note_failure("/api/v1/namespaces", "gone")
    assert bench.watches.never_asked_for() == [POD_GROUPS]


def test_a_watch_that_fails_after_one_that_was_well_is_told_after_a_while() -> None:
    bench = Bench()
    bench.watch(600)
    bench.fail("503 Service Unavailable", 20)
    assert bench.watches.problem() is None
    bench.fail("503 Service Unavailable", 20)
    assert bench.watches.problem() == (
        "no watch of podgroups.scheduling.x-k8s.io has lasted for 40 s: 503 Service Unavailable"
    )
    bench.watch(4)
    assert bench.watches.problem() is not None
    bench.now += 1
    assert bench.watches.problem() is None


def test_watches_that_end_at_once_again_and_again_are_told() -> None:
    bench = Bench()
    bench.watch(600)
    for _ in range(35):
        bench.watch(1)
    assert bench.watches.problem() == (
        "no watch of podgroups.scheduling.x-k8s.io has lasted for 35 s: a watch ended after 1.0 s"
    )


def test_watches_that_end_after_minutes_are_well() -> None:
    bench = Bench()
    for _ in range(5):
        bench.watch(600)
        assert bench.watches.problem() is None


@pytest.mark.parametrize(
    ("told", "known"), [("kopf has failed: no", "kopf has failed: no"), ("", "503")]
)
def test_kopfs_end_ends_its_watches(told: str, known: str) -> None:
    bench = Bench()
    bench.watch(600)
    bench.fail("503", 0)
    bench.watches.note_end(told)
    bench.now += 31
    assert bench.watches.problem() == (
        f"no watch of podgroups.scheduling.x-k8s.io has lasted for 31 s: {known}"
    )
