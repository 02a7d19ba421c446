import pytest
from prometheus_client import CollectorRegistry

from kubeio.health import Check, Remark
from kubeio.serving import HttpsServer
from kubeio.serving_options import ServingOptions
from scheduler_svc.shell.health import (
    LEASE_TOLERANCE_SECONDS,
    UNSERVED,
    add_election_check,
    add_lease_check,
    add_shutdown_check,
    add_watch_checks,
)
from scheduler_svc.shell.views.reflectors import Reflectors
from tests.unit.scheduler_svc.shell.views.test_reflectors import FakeServer


class Server(HttpsServer):
    """Keeps the checks where a test can run them."""

    def __init__(self) -> None:
        options = ServingOptions(bind_address="127.0.0.1", port=0)
        super().__init__(options, registry=CollectorRegistry(), configz=dict)
        self.checks: dict[str, Check] = {}
        self.healthz: set[str] = set()

    def add_check(
        self, name: str, check: Check, *, healthz: bool = False, livez: bool = False
    ) -> None:
        super().add_check(name, check, healthz=healthz, livez=livez)
        self.checks[name] = check
        if healthz:
            self.healthz.add(name)


@pytest.fixture
def server() -> Server:
    return Server()


def make_reflectors() -> Reflectors:
    return Reflectors(
        FakeServer({}), put=lambda _: None, plugins=(), on_listed=lambda: None, seed=1
    )


def test_missing_views_are_named(server: Server) -> None:
    reflectors = make_reflectors()
    add_watch_checks(server, reflectors, is_watching=lambda: True)
    assert list(server.checks) == [
        "sched-handler-sync",
        "watch-nodes",
        "watch-pods",
        "watch-namespaces",
        "watch-priorityclasses",
        "watch-failed-pods",
    ]
    assert server.checks["sched-handler-sync"]() == "not all resources have been listed"
    assert server.checks["watch-pods"]() == "pods not listed yet"


def test_complete_and_fresh_views_are_ready(server: Server) -> None:
    reflectors = make_reflectors()
    add_watch_checks(server, reflectors, is_watching=lambda: True)
    for reflector in reflectors.by_resource.values():
        reflector.statistics.listed = True
    assert [name for name, check in server.checks.items() if check() is not None] == []


def test_view_that_has_been_silent_for_too_long_is_not_ready(server: Server) -> None:
    reflectors = make_reflectors()
    add_watch_checks(server, reflectors, is_watching=lambda: True)
    for reflector in reflectors.by_resource.values():
        reflector.statistics.listed = True
    reflectors.by_resource["nodes"].statistics.last_byte_at = -1000.0
    problem = server.checks["watch-nodes"]()
    assert isinstance(problem, str)
    assert problem.startswith("nothing heard of nodes for ")
    assert server.checks["watch-pods"]() is None


def test_view_of_what_is_not_served_is_ready_and_says_so(server: Server) -> None:
    reflectors = make_reflectors()
    add_watch_checks(server, reflectors, is_watching=lambda: True)
    statistics = reflectors.by_resource["priorityclasses"].statistics
    statistics.listed = statistics.is_unserved = True
    assert server.checks["watch-priorityclasses"]() == Remark(UNSERVED)
    statistics.last_byte_at = -1000.0
    problem = server.checks["watch-priorityclasses"]()
    assert isinstance(problem, str)
    assert problem.startswith("nothing heard of priorityclasses.scheduling.k8s.io for ")


def test_standby_that_shall_watch_nothing_yet_is_ready(server: Server) -> None:
    add_watch_checks(server, make_reflectors(), is_watching=lambda: False)
    assert [name for name, check in server.checks.items() if check() is not None] == []


@pytest.mark.parametrize(
    ("age", "problem"),
    [
        (None, None),
        (15 + LEASE_TOLERANCE_SECONDS, None),
        (36.0, "failed election renewal on lease berthmaster: the last was 36 s ago"),
    ],
)
def test_leader_that_does_not_renew_is_unhealthy(
    server: Server, age: float | None, problem: str | None
) -> None:
    add_election_check(
        server,
        lease_name="berthmaster",
        lease_duration_seconds=15,
        renewal_age_seconds=lambda: age,
    )
    assert server.checks["leaderElection"]() == problem
    assert server.healthz == {"leaderElection"}


@pytest.mark.parametrize(
    ("silence", "problem"),
    [(None, None), (15.0, None), (16.0, "nothing heard of lease berthmaster for 16 s")],
)
def test_replica_that_hears_nothing_of_the_lease_is_not_ready(
    server: Server, silence: float | None, problem: str | None
) -> None:
    add_lease_check(
        server,
        lease_name="berthmaster",
        lease_duration_seconds=15,
        silence_seconds=lambda: silence,
    )
    assert server.checks["watch-lease"]() == problem
    assert server.healthz == set()


@pytest.mark.parametrize(
    ("is_stopping", "problem"), [(False, None), (True, "process is shutting down")]
)
def test_process_that_ends_is_not_ready(
    server: Server, is_stopping: bool, problem: str | None
) -> None:
    add_shutdown_check(server, lambda: is_stopping)
    assert server.checks["shutdown"]() == problem
