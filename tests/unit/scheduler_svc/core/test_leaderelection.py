"""The election machine, step by step; times are monotonic seconds unless they say wall."""

import pytest

from scheduler_svc.core.clock import Now
from scheduler_svc.core.errors import InputError
from scheduler_svc.core.leaderelection import (
    Action,
    CreateLease,
    ElectionState,
    ElectionTiming,
    GetLease,
    LeaderElection,
    LeaseRecord,
    Stop,
    UpdateLease,
    Wait,
)

WALL_OFFSET = 1_700_000_000.0


def at(seconds: float) -> Now:
    return Now(monotonic_seconds=seconds, wall_seconds=WALL_OFFSET + seconds)


def lease(holder: str, version: int, *, duration: int = 15, transitions: int = 0) -> LeaseRecord:
    return LeaseRecord(holder, duration, 1.0, 2.0, transitions, str(version))


def candidate(identity: str = "me") -> LeaderElection:
    return LeaderElection(identity, timing=ElectionTiming())


def standby(seconds: float = 0, *, version: int = 5, duration: int = 15) -> LeaderElection:
    """Build a candidate that has just read that `other` holds the Lease."""
    election = candidate()
    election.next_action(at(seconds))
    election.observe(lease("other", version, duration=duration), at(seconds))
    return election


def leader(seconds: float = 0) -> LeaderElection:
    """Build a candidate that has just created the Lease, as version 1."""
    election = candidate()
    election.next_action(at(seconds))
    election.observe(None, at(seconds))
    answer(election, election.next_action(at(seconds)), seconds, version=1)
    assert election.is_leader(at(seconds))
    return election


def answer(
    election: LeaderElection,
    action: Action,
    seconds: float,
    *,
    version: int,
    sent_seconds: float | None = None,
) -> LeaseRecord:
    """Let the server carry a write out."""
    assert isinstance(action, CreateLease | UpdateLease)
    written = action.record
    record = LeaseRecord(
        written.holder_identity,
        written.lease_duration_seconds,
        written.acquire_time_seconds,
        written.renew_time_seconds,
        written.lease_transitions,
        str(version),
    )
    sent = seconds if sent_seconds is None else sent_seconds
    election.wrote(record, at(seconds), sent=at(sent))
    return record


class TestTiming:
    def test_defaults_are_those_of_kube_scheduler(self) -> None:
        assert ElectionTiming() == ElectionTiming(15, 10, 2)

    @pytest.mark.parametrize(
        ("lease_seconds", "renew_seconds", "retry_seconds", "message"),
        [
            (10, 10, 2, "leaseDuration 10 s must exceed renewDeadline 10 s"),
            (15, 2.4, 2, "renewDeadline 2.4 s must be greater than 1.2 times retryPeriod 2 s"),
            (15, 10, 0, "retryPeriod 0 s must be greater than 0"),
            (
                -1,
                -1,
                -1,
                (
                    "retryPeriod -1 s must be greater than 0; "
                    "leaseDuration -1 s must exceed renewDeadline -1 s"
                ),
            ),
        ],
    )
    def test_all_mistakes_are_named(
        self, lease_seconds: float, renew_seconds: float, retry_seconds: float, message: str
    ) -> None:
        with pytest.raises(InputError) as caught:
            ElectionTiming(lease_seconds, renew_seconds, retry_seconds)
        assert str(caught.value) == message

    def test_a_lease_is_written_for_whole_seconds_and_never_too_short(self) -> None:
        election = LeaderElection("me", timing=ElectionTiming(1.5, 1.2, 0.5))
        election.observe(None, at(0))
        action = election.next_action(at(0))
        assert isinstance(action, CreateLease)
        assert action.record.lease_duration_seconds == 2

    def test_an_identity_is_needed(self) -> None:
        with pytest.raises(InputError, match="identity"):
            candidate("")


class TestAcquire:
    def test_it_reads_first_and_creates_what_is_not_there(self) -> None:
        election = candidate()
        assert election.next_action(at(100)) == GetLease(timeout_seconds=5)
        election.observe(None, at(100.1))
        action = election.next_action(at(100.2))
        wall = WALL_OFFSET + 100.2
        assert action == CreateLease(LeaseRecord("me", 15, wall, wall, 0, ""), timeout_seconds=5)
        assert not election.is_leader(at(100.2))
        answer(election, action, 100.5, version=1, sent_seconds=100.2)
        assert election.state is ElectionState.LEADING
        assert election.holder_identity == "me"

    def test_leadership_counts_from_the_sending_of_the_write(self) -> None:
        election = candidate()
        election.observe(None, at(0))
        answer(election, election.next_action(at(0)), 4, version=1, sent_seconds=0)
        assert election.is_leader(at(9.999))
        assert not election.is_leader(at(10))

    def test_an_answer_that_comes_too_late_makes_no_leader_but_the_lease_is_ours(self) -> None:
        election = candidate()
        election.observe(None, at(0))
        answer(election, election.next_action(at(0)), 10, version=1, sent_seconds=0)
        assert election.state is ElectionState.STANDBY
        action = election.next_action(at(10))
        assert isinstance(action, UpdateLease)
        assert action.record.resource_version == "1"
        assert action.record.lease_transitions == 0
        answer(election, action, 11, version=2, sent_seconds=10)
        assert election.is_leader(at(11))

    def test_a_held_lease_is_respected_for_its_duration_since_it_was_seen(self) -> None:
        election = standby(100)
        for seconds in (101, 103):
            assert not isinstance(election.next_action(at(seconds)), UpdateLease)
            election.observe(lease("other", 5), at(seconds))  # the same again: no renewal
        assert not isinstance(election.next_action(at(114.9)), UpdateLease)
        election.observe(lease("other", 5), at(114.9))
        assert election.next_action(at(114.95)) == Wait(115)
        action = election.next_action(at(115))
        wall = WALL_OFFSET + 115
        assert action == UpdateLease(LeaseRecord("me", 15, wall, wall, 1, "5"), timeout_seconds=5)

    def test_each_renewal_seen_begins_the_time_anew(self) -> None:
        election = standby(0)
        election.observe(lease("other", 6), at(10), is_watched=True)
        election.observe(lease("other", 6), at(24), is_watched=True)
        assert not isinstance(election.next_action(at(24.5)), UpdateLease)
        action = election.next_action(at(25))
        assert isinstance(action, UpdateLease)
        assert action.record.resource_version == "6"

    @pytest.mark.parametrize(("duration", "free_seconds"), [(3, 3), (60, 60), (0, 15), (-1, 15)])
    def test_the_holders_duration_counts_if_it_gave_one(
        self, duration: int, free_seconds: float
    ) -> None:
        election = standby(0, duration=duration)
        election.observe(lease("other", 5, duration=duration), at(free_seconds - 0.5))
        assert election.next_action(at(free_seconds - 0.1)) == Wait(free_seconds)
        assert isinstance(election.next_action(at(free_seconds)), UpdateLease)

    def test_a_released_lease_is_taken_at_once_when_the_watch_tells(self) -> None:
        election = standby(0)
        election.observe(lease("", 6, duration=1, transitions=3), at(1), is_watched=True)
        assert election.holder_identity == ""
        action = election.next_action(at(1))
        assert isinstance(action, UpdateLease)
        assert action.record.lease_transitions == 4
        assert action.record.resource_version == "6"

    def test_transitions_stay_what_the_api_server_takes(self) -> None:
        election = standby(0)
        election.observe(lease("", 6, duration=1, transitions=2**31 - 1), at(1), is_watched=True)
        action = election.next_action(at(1))
        assert isinstance(action, UpdateLease)
        assert action.record.lease_transitions == 2**31 - 1

    def test_an_older_record_from_the_watch_is_ignored(self) -> None:
        election = standby(0, version=12)
        election.observe(lease("", 9, duration=1), at(1), is_watched=True)
        assert election.holder_identity == "other"

    def test_what_was_read_counts_even_if_it_is_older(self) -> None:
        election = standby(0, version=500)  # etcd may be restored from a backup
        election.observe(lease("", 30, duration=1), at(1))
        action = election.next_action(at(1))
        assert isinstance(action, UpdateLease)
        assert action.record.resource_version == "30"

    def test_versions_that_are_no_numbers_are_taken_as_they_come(self) -> None:
        election = candidate()
        election.observe(LeaseRecord("other", 15, resource_version="zz"), at(0))
        election.observe(LeaseRecord("", 1, resource_version="aa"), at(1), is_watched=True)
        assert election.holder_identity == ""

    def test_a_deleted_lease_is_respected_as_if_it_were_held(self) -> None:
        election = standby(0)
        election.observe(None, at(8), is_watched=True)
        election.observe(None, at(22))
        assert not isinstance(election.next_action(at(22.9)), CreateLease)
        action = election.next_action(at(23))
        assert isinstance(action, CreateLease)
        assert action.record.resource_version == ""

    def test_a_released_and_deleted_lease_is_created_at_once(self) -> None:
        election = candidate()
        election.observe(lease("", 5, duration=1), at(0))
        election.observe(None, at(1))
        assert isinstance(election.next_action(at(1)), CreateLease)

    def test_a_lost_race_is_followed_by_a_read(self) -> None:
        election = candidate()
        election.observe(None, at(0))
        assert isinstance(election.next_action(at(0)), CreateLease)
        election.conflict(at(0.1))
        assert election.next_action(at(0.1)) == GetLease(5)
        election.observe(lease("other", 1), at(0.2))
        assert isinstance(election.next_action(at(0.2)), Wait)

    def test_conflict_after_conflict_is_no_hot_loop(self) -> None:
        election = candidate()
        election.observe(lease("", 1), at(0))
        assert isinstance(election.next_action(at(0)), UpdateLease)
        election.conflict(at(0))
        assert election.next_action(at(0)) == GetLease(5)
        election.observe(lease("", 2), at(0))
        assert isinstance(election.next_action(at(0)), UpdateLease)
        election.conflict(at(0))
        action = election.next_action(at(0))
        assert isinstance(action, Wait)
        assert 2 <= action.until_seconds < 4.4

    def test_a_failed_call_is_repeated_after_one_to_two_retry_periods_and_a_bit(self) -> None:
        ends = set()
        for number in range(50):
            election = candidate(f"candidate-{number}")
            election.next_action(at(100))
            election.failed(at(100.5))
            action = election.next_action(at(100.5))
            assert isinstance(action, Wait)
            assert 102 <= action.until_seconds < 104.4
            assert election.next_action(at(action.until_seconds)) == GetLease(5)
            ends.add(action.until_seconds)
        assert len(ends) == 50

    def test_a_call_that_failed_after_a_long_time_is_repeated_at_once(self) -> None:
        election = candidate()
        election.next_action(at(0))
        election.failed(at(5))
        assert election.next_action(at(5)) == GetLease(5)

    def test_the_same_seed_gives_the_same_waits(self) -> None:
        waits = []
        for seed in ("a", "a", "b"):
            election = LeaderElection("me", timing=ElectionTiming(), seed=seed)
            election.next_action(at(0))
            election.failed(at(0))
            waits.append(election.next_action(at(0)))
        assert waits[0] == waits[1] != waits[2]

    def test_without_a_watch_it_reads_again_every_few_seconds(self) -> None:
        election = standby(0)
        action = election.next_action(at(0))
        assert isinstance(action, Wait)
        assert 2 <= action.until_seconds < 4.4
        assert election.next_action(at(action.until_seconds)) == GetLease(5)

    def test_a_take_over_whose_answer_was_lost_is_found_by_the_next_read(self) -> None:
        election = standby(0)
        taken = election.next_action(at(15))
        assert isinstance(taken, UpdateLease)
        election.failed(at(20))
        assert not election.is_leader(at(20))
        assert isinstance(election.next_action(at(20)), UpdateLease)
        election.conflict(at(20.1))
        assert election.next_action(at(20.1)) == GetLease(5)
        election.observe(LeaseRecord("me", 15, 77.0, 77.0, 1, "6"), at(20.2))
        assert not election.is_leader(at(20.2))
        action = election.next_action(at(20.2))
        assert isinstance(action, UpdateLease)
        assert action.record.acquire_time_seconds == 77
        assert action.record.lease_transitions == 1
        answer(election, action, 20.3, version=7)
        assert election.is_leader(at(20.3))

    def test_a_write_that_comes_back_with_another_holder_makes_no_leader(self) -> None:
        election = candidate()
        election.observe(None, at(0))
        election.next_action(at(0))
        election.wrote(lease("other", 1), at(0), sent=at(0))
        assert not election.is_leader(at(0))
        assert election.state is ElectionState.STANDBY


class TestRenew:
    def test_a_renewal_is_one_write_every_retry_period(self) -> None:
        election = leader(0)
        assert election.next_action(at(0.5)) == Wait(2)
        action = election.next_action(at(2))
        acquired, renewed = WALL_OFFSET, WALL_OFFSET + 2
        assert action == UpdateLease(LeaseRecord("me", 15, acquired, renewed, 0, "1"), 5)
        answer(election, action, 2.1, version=2, sent_seconds=2)
        assert election.next_action(at(2.1)) == Wait(4)
        assert election.is_leader(at(11.9))
        assert not election.is_leader(at(12))

    def test_failures_are_repeated_until_the_deadline_and_then_all_is_lost(self) -> None:
        election = leader(0)
        assert election.next_action(at(2)) == UpdateLease(
            LeaseRecord("me", 15, WALL_OFFSET, WALL_OFFSET + 2, 0, "1"), timeout_seconds=5
        )
        election.failed(at(2.1))
        assert election.next_action(at(2.1)) == Wait(4)
        assert isinstance(election.next_action(at(4)), UpdateLease)
        election.failed(at(9))
        action = election.next_action(at(9))
        assert isinstance(action, UpdateLease)
        assert action.timeout_seconds == 1  # not beyond the deadline
        election.failed(at(9.5))
        assert election.next_action(at(9.5)) == Wait(10)
        assert election.is_leader(at(9.99))
        assert election.next_action(at(10)) == Stop()
        assert election.state is ElectionState.LOST

    def test_lost_is_lost(self) -> None:
        election = leader(0)
        action = election.next_action(at(2))
        assert not election.is_leader(at(10))
        record = answer(election, action, 10, version=2, sent_seconds=2)
        assert election.state is ElectionState.LOST
        assert not election.is_leader(at(10))
        election.observe(record, at(11))
        election.observe(lease("", 3), at(12), is_watched=True)
        answer(election, action, 13, version=4)
        election.release(at(13))
        assert election.next_action(at(13)) == Stop()
        assert election.state is ElectionState.LOST

    def test_time_alone_ends_leadership_whatever_is_called_next(self) -> None:
        election = leader(0)
        election.observe(lease("me", 1), at(10))
        assert election.state is ElectionState.LOST

    @pytest.mark.parametrize("is_watched", [True, False])
    def test_another_holder_ends_leadership_at_once(self, is_watched: bool) -> None:
        election = leader(0)
        election.observe(lease("other", 2), at(1), is_watched=is_watched)
        assert not election.is_leader(at(1))
        assert election.next_action(at(1)) == Stop()
        assert election.holder_identity == "other"

    def test_a_watch_that_lags_behind_our_own_write_does_not(self) -> None:
        election = standby(0, version=5)
        answer(election, election.next_action(at(15)), 15, version=9)
        election.observe(lease("other", 5), at(15.1), is_watched=True)
        assert election.is_leader(at(15.1))
        action = election.next_action(at(17))
        assert isinstance(action, UpdateLease)
        assert action.record.resource_version == "9"

    def test_a_renewal_whose_answer_was_lost_costs_one_read(self) -> None:
        election = leader(0)
        assert isinstance(election.next_action(at(2)), UpdateLease)
        election.failed(at(4))
        assert isinstance(election.next_action(at(4)), UpdateLease)
        election.conflict(at(4.1))
        assert election.next_action(at(4.1)) == GetLease(5)
        election.observe(lease("me", 2), at(4.2))
        assert not election.is_leader(at(10))  # only an acknowledged write counts
        action = election.next_action(at(4.3))
        assert isinstance(action, UpdateLease)
        assert action.record.resource_version == "2"
        answer(election, action, 4.4, version=3, sent_seconds=4.3)
        assert election.is_leader(at(14.2))

    def test_the_watch_may_tell_of_our_own_write_before_its_answer_comes(self) -> None:
        election = leader(0)
        action = election.next_action(at(2))
        election.observe(lease("me", 2), at(2.1), is_watched=True)
        answer(election, action, 2.2, version=2, sent_seconds=2)
        assert election.is_leader(at(11.9))

    def test_a_leader_whose_lease_was_deleted_creates_it_again_as_it_was(self) -> None:
        election = standby(0)
        answer(election, election.next_action(at(15)), 15, version=6)
        assert isinstance(election.next_action(at(17)), UpdateLease)
        election.observe(None, at(17.1))
        assert election.is_leader(at(17.1))
        action = election.next_action(at(17.1))
        acquired, renewed = WALL_OFFSET + 15, WALL_OFFSET + 17.1
        assert action == CreateLease(LeaseRecord("me", 15, acquired, renewed, 1, ""), 5)
        answer(election, action, 17.2, version=8)
        assert election.is_leader(at(27))

    def test_a_leader_conflicts_with_itself_no_faster_than_the_retry_period(self) -> None:
        election = leader(0)
        for seconds in (2, 2.1):
            assert isinstance(election.next_action(at(seconds)), UpdateLease)
            election.conflict(at(seconds))
            if seconds == 2:
                election.observe(lease("me", 2), at(2.1))
        assert election.next_action(at(2.1)) == Wait(4.1)
        assert election.next_action(at(4.1)) == GetLease(5)


class TestRelease:
    def test_a_leader_stops_at_once_and_gives_the_lease_back(self) -> None:
        election = leader(0)
        election.release(at(1))
        assert not election.is_leader(at(1))
        action = election.next_action(at(1))
        wall = WALL_OFFSET + 1
        assert action == UpdateLease(LeaseRecord("", 1, wall, wall, 0, "1"), timeout_seconds=5)
        answer(election, action, 1.1, version=2)
        assert election.next_action(at(1.1)) == Stop()
        assert election.state is ElectionState.RELEASED

    def test_a_standby_has_nothing_to_give_back(self) -> None:
        election = standby(0)
        election.release(at(1))
        assert election.state is ElectionState.RELEASED
        assert election.next_action(at(1)) == Stop()

    def test_a_second_release_changes_nothing(self) -> None:
        election = leader(0)
        election.release(at(1))
        election.next_action(at(1))
        election.failed(at(2))
        election.release(at(5))
        assert election.next_action(at(2)) == Wait(3)

    @pytest.mark.parametrize("holder", ["me", "other"])
    def test_a_standby_that_may_have_taken_the_lease_reads_first(self, holder: str) -> None:
        election = standby(0)
        assert isinstance(election.next_action(at(15)), UpdateLease)
        election.release(at(16))
        election.failed(at(16))
        assert election.next_action(at(17)) == GetLease(5)
        election.observe(lease(holder, 6), at(17))
        action = election.next_action(at(17))
        if holder == "other":
            assert action == Stop()
        else:
            assert isinstance(action, UpdateLease)
            assert (action.record.holder_identity, action.record.resource_version) == ("", "6")

    def test_a_renewal_that_is_under_way_may_end_first(self) -> None:
        election = leader(0)
        renewal = election.next_action(at(2))
        election.release(at(2.1))
        answer(election, renewal, 2.2, version=2, sent_seconds=2)
        assert election.state is ElectionState.RELEASING
        assert not election.is_leader(at(2.2))
        action = election.next_action(at(2.2))
        assert isinstance(action, UpdateLease)
        assert (action.record.holder_identity, action.record.resource_version) == ("", "2")

    def test_it_is_given_up_in_the_end(self) -> None:
        election = leader(0)
        election.release(at(1))
        seconds = 1.0
        while not isinstance(action := election.next_action(at(seconds)), Stop):
            if isinstance(action, Wait):
                seconds = action.until_seconds
            else:
                assert action.timeout_seconds <= 11 - seconds
                election.failed(at(seconds))
        assert seconds == 11
        assert election.state is ElectionState.RELEASED

    def test_someone_else_has_taken_it_meanwhile(self) -> None:
        election = leader(0)
        election.release(at(1))
        election.next_action(at(1))
        election.conflict(at(1.1))
        assert election.next_action(at(1.1)) == GetLease(5)
        election.observe(lease("other", 2), at(1.2))
        assert election.next_action(at(1.2)) == Stop()
