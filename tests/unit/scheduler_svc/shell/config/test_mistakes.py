"""How mistakes are told."""

import pytest

from scheduler_svc.shell.config import (
    ConfigurationError,
    leader_election_mistakes,
    load_configuration,
)
from scheduler_svc.shell.config.mistakes import MistakeLog, render_value
from scheduler_svc.shell.config.schema import LeaderElection
from tests.unit.scheduler_svc.shell.config.recorded import HEAD


def tell(text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(text, path="conf/scheduler.yaml", known_plugins={})
    return str(caught.value)


def test_one_mistake() -> None:
    assert tell(f"{HEAD}parallelism: 0\n") == (
        "the configuration has 1 mistake\n"
        "conf/scheduler.yaml:3:1: parallelism: Invalid value: 0: should be an integer value "
        "greater than zero"
    )


def test_two_mistakes_with_what_is_allowed_and_meant() -> None:
    assert tell(f"{HEAD}leaderElection:\n  lesseDuration: 15s\n  retryPeriod: 2\n") == (
        "the configuration has 2 mistakes\n"
        'conf/scheduler.yaml:4:3: leaderElection.lesseDuration: Unknown field: "lesseDuration"\n'
        "  allowed: leaderElect, leaseDuration, renewDeadline, resourceLock, resourceName, "
        "resourceNamespace, retryPeriod\n"
        "  did you mean leaseDuration?\n"
        "conf/scheduler.yaml:5:3: leaderElection.retryPeriod: Invalid value: 2: must be a "
        "duration\n"
        "  a duration is a number with a unit, as 15s, 1m30s or 500ms"
    )


def test_very_many_mistakes_are_cut() -> None:
    fields = "".join(f"x{index}: 1\n" for index in range(150))
    told = tell(HEAD + fields)

    assert told.startswith("the configuration has 150 mistakes\n")
    assert told.endswith("\nand 50 more")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ('a"b', '"a\\"b"'),
        (True, "true"),
        (None, "null"),
        (float("inf"), "inf"),
        ({"a": [1, 2.5]}, '{"a":[1,2.5]}'),
        ("x" * 500, '"' + "x" * 119 + "…"),
    ],
)
def test_values_are_shown_as_json(value: object, shown: str) -> None:
    assert render_value(value) == shown


def test_the_same_mistake_is_told_once() -> None:
    log = MistakeLog("f")
    log.required(("a",))
    log.required(("a",))

    assert len(log.mistakes) == 1


def test_flags_can_be_judged_like_a_file() -> None:
    election = LeaderElection(lease_duration_seconds=8, renew_deadline_seconds=-1)
    mistakes = leader_election_mistakes(election, source="command line")

    (told,) = map(str, mistakes)
    path = "command line: leaderElection.renewDeadline"
    assert told == f'{path}: Invalid value: "-1s": must be greater than zero'
    assert leader_election_mistakes(LeaderElection(), source="command line") == ()


def test_a_lease_counts_whole_seconds() -> None:
    election = LeaderElection(
        lease_duration_seconds=0.5, renew_deadline_seconds=0.3, retry_period_seconds=0.1
    )
    (mistake,) = leader_election_mistakes(election, source="command line")

    assert mistake.path == "leaderElection.leaseDuration"
    assert mistake.value == '"500ms"'


def test_durations_do_not_matter_without_an_election() -> None:
    election = LeaderElection(leader_elect=False, lease_duration_seconds=-5)

    assert leader_election_mistakes(election, source="command line") == ()
