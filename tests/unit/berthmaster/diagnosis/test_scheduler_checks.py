import pytest

from berthmaster.cli.diagnosis.facts import Scope
from berthmaster.cli.diagnosis.finding import Severity
from berthmaster.cli.diagnosis.scheduler_checks import leads
from tests.unit.berthmaster.diagnosis.clusters import (
    LEASE_KEY,
    NOW,
    installation,
    judged,
    lease,
    only,
    replica,
    wrong,
)

UNSEEN = "One that runs outside the cluster, without leader election, cannot be seen here."


def test_a_led_installation_is_ok_and_says_by_whom() -> None:
    found = judged()
    assert only(found, "leader").severity is Severity.OK
    assert "scheduler-a_0f1e" in only(found, "leader").what
    assert only(found, "replicas").severity is Severity.OK


@pytest.mark.parametrize(
    ("scope", "who", "lease_key"),
    [
        (Scope(), "scheduler", "kube-system/berthmaster"),
        (Scope(lease="infra/mine"), "scheduler", "infra/mine"),
        (
            Scope(scheduler_name="gpu"),
            "scheduler that serves 'gpu'",
            "kube-system/berthmaster-gpu",
        ),
    ],
)
def test_no_scheduler_at_all_is_a_problem_and_names_the_lease_that_was_looked_for(
    scope: Scope, who: str, lease_key: str
) -> None:
    finding = only(judged(installations=(), scope=scope), "no-scheduler")
    assert finding.severity is Severity.PROBLEM
    assert finding.what == (
        f"No Berthmaster {who} was found: no Pod of one, and no Lease {lease_key}."
    )
    assert finding.why.endswith(UNSEEN)


@pytest.mark.parametrize(
    ("state", "check"),
    [
        (None, "lease-missing"),
        (lease(holder="", renewed=NOW - 60), "lease-free"),
        (lease(renewed=NOW - 60), "lease-stale"),
        (lease(renewed=None), "lease-stale"),
        (lease(renewed=NOW - 60, was_renewed=False), "lease-stale"),
    ],
)
def test_an_installation_without_a_leader_is_a_problem(state: object, check: str) -> None:
    there = installation(lease=state)
    found = judged(installations=(there,))
    finding = only(found, check)
    assert finding.severity is Severity.PROBLEM
    assert finding.objects == (LEASE_KEY,)
    assert "kubectl -n berthmaster logs scheduler-a" in finding.next_command
    assert UNSEEN not in finding.why
    assert not leads(there, NOW)
    outside = installation(lease=state, replicas=())
    assert only(judged(installations=(outside,)), check).why.endswith(UNSEEN)


def test_a_lease_of_a_slow_clock_that_is_renewed_is_no_stale_one() -> None:
    there = installation(lease=lease(renewed=NOW - 90, was_renewed=True))
    found = judged(installations=(there,))
    assert wrong(found) == {"clock-skew"}
    assert "90 s in the past" in only(found, "clock-skew").what
    assert leads(there, NOW)


@pytest.mark.parametrize("age_seconds", [0, 14, 19])
def test_a_lease_is_not_stale_before_its_duration_and_some_grace(age_seconds: float) -> None:
    there = installation(lease=lease(renewed=NOW - age_seconds))
    assert wrong(judged(installations=(there,))) == set()


def test_a_longer_lease_may_be_older() -> None:
    there = installation(lease=lease(renewed=NOW - 60, duration_seconds=120))
    assert wrong(judged(installations=(there,))) == set()


@pytest.mark.parametrize("state", [None, lease(holder="", renewed=None)])
def test_replicas_that_have_just_started_may_be_without_a_leader(state: object) -> None:
    young = (replica("a", created=NOW - 10), replica("b", created=NOW - 10))
    assert wrong(judged(installations=(installation(lease=state, replicas=young),))) == set()


def test_a_lease_that_was_just_given_back_is_no_problem() -> None:
    there = installation(lease=lease(holder="", renewed=NOW - 3))
    found = judged(installations=(there,))
    assert only(found, "lease-free").severity is Severity.NOTE


def test_a_lease_that_could_not_be_read_is_not_judged() -> None:
    there = installation(lease=None, lease_is_known=False)
    assert wrong(judged(installations=(there,))) == set()
    assert leads(there, NOW)


def test_schedulers_without_election_need_no_lease() -> None:
    there = installation(lease=None, lease_key="")
    assert wrong(judged(installations=(there,))) == set()


def test_a_holder_that_is_no_replica_is_told() -> None:
    there = installation(lease=lease(holder="laptop_77"))
    found = judged(installations=(there,))
    assert only(found, "leader-is-no-replica").severity is Severity.WARNING


def test_a_scheduler_outside_the_cluster_is_worth_a_note() -> None:
    there = installation(lease=lease(holder="laptop_77"), replicas=())
    found = judged(installations=(there,))
    assert only(found, "leader-elsewhere").severity is Severity.NOTE
    assert wrong(found) == set()


def test_a_holder_is_known_by_its_host_whatever_underscores_it_has() -> None:
    held = lease(holder="my_node_77")
    there = installation(lease=held, replicas=(replica("my_node"), replica("other")))
    assert only(judged(installations=(there,)), "leader").severity is Severity.OK


def test_a_leader_that_is_not_ready_is_a_problem_with_its_trouble() -> None:
    sick = replica("scheduler-a", is_ready=False, trouble="watch-pods failed")
    there = installation(replicas=(sick, replica("scheduler-b")))
    finding = only(judged(installations=(there,)), "leader-not-ready")
    assert finding.severity is Severity.PROBLEM
    assert "watch-pods failed" in finding.what


@pytest.mark.parametrize(
    ("unready", "created", "severity"),
    [
        ({"scheduler-b"}, NOW - 900, Severity.WARNING),
        ({"scheduler-a", "scheduler-b"}, NOW - 900, Severity.PROBLEM),
        ({"scheduler-b"}, NOW - 5, Severity.NOTE),
    ],
)
def test_replicas_that_are_not_ready(unready: set[str], created: float, severity: Severity) -> None:
    replicas = tuple(
        replica(name, is_ready=name not in unready, created=created)
        for name in ("scheduler-a", "scheduler-b")
    )
    free = lease(holder="", renewed=NOW - 60)
    there = installation(lease=free if len(unready) > 1 else lease(), replicas=replicas)
    finding = only(judged(installations=(there,)), "replicas-not-ready")
    assert finding.severity is severity
    assert finding.count == len(unready)


def test_replicas_that_are_ending_do_not_count() -> None:
    ending = replica("scheduler-b", is_ready=False, is_ending=True)
    there = installation(replicas=(replica("scheduler-a"), ending))
    found = judged(installations=(there,))
    assert only(found, "replicas").severity is Severity.NOTE
    assert wrong(found) == set()


def test_restarts_of_the_last_hour_are_told() -> None:
    often = replica("scheduler-b", last_restart=NOW - 600, restart_count=2)
    there = installation(replicas=(replica("scheduler-a"), often))
    found = judged(installations=(there,))
    assert only(found, "replicas-restarted").objects == ("berthmaster/scheduler-b",)
    long_ago = replica("scheduler-b", last_restart=NOW - 86400, restart_count=2)
    there = installation(replicas=(replica("scheduler-a"), long_ago))
    assert "replicas-restarted" not in judged(installations=(there,))


def test_versions_of_replicas_differ() -> None:
    there = installation(replicas=(replica("scheduler-a"), replica("scheduler-b", version="1.3.0")))
    finding = only(judged(installations=(there,), agents=()), "scheduler-version-skew")
    assert finding.severity is Severity.WARNING
    assert "1.2.3, 1.3.0" in finding.what


def test_this_command_is_of_another_version() -> None:
    finding = only(judged(own_version="9.9.9"), "client-version-skew")
    assert finding.severity is Severity.NOTE
    # A tag that is no version says nothing.
    replicas = (replica("scheduler-a", version="dev"), replica("scheduler-b", version="dev"))
    found = judged(installations=(installation(replicas=replicas),), agents=())
    assert "client-version-skew" not in found
