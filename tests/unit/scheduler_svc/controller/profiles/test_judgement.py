"""What is said of a SchedulerProfile."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from scheduler_svc.controller.conditions import Verdict
from scheduler_svc.controller.profiles.judgement import (
    ACTIVE,
    SHOWN_MISTAKES,
    VALID,
    judge_profile,
    profile_changes,
)
from scheduler_svc.shell.config import Mistake
from scheduler_svc.shell.config.mistakes import Problem
from scheduler_svc.shell.config.profiles import DOES_NOT_EXIST
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile

NOW = "2026-11-30T12:00:00Z"


def profile(
    *,
    generation: int = 2,
    active: int = 0,
    observed: dict[str, int] | None = None,
    spec: dict[str, Any] | None = None,
) -> SchedulerProfile:
    seen = [{"scheduler": name, "generation": n} for name, n in (observed or {}).items()]
    status: dict[str, Any] = {"observedBy": seen}
    if active:
        status["active"] = {"generation": active, "spec": {}}
    document = {
        "metadata": {"name": "gpu", "generation": generation},
        "spec": spec or {"schedulerName": "gpu"},
        "status": status,
    }
    return msgspec.convert(document, SchedulerProfile)


def mistake(path: str = "spec.plugins", meaning: str = "") -> Mistake:
    return Mistake(
        file="SchedulerProfile gpu",
        line=0,
        column=0,
        path=path,
        problem=Problem.INVALID,
        value='"X"',
        detail="no such plugin",
        meaning=meaning,
    )


def test_a_valid_spec_that_nobody_runs_yet() -> None:
    assert judge_profile(profile(), ()) == {
        VALID: Verdict(True, "Valid", "the spec can be run"),
        ACTIVE: Verdict(False, "NotObserved", "no scheduler runs generation 2 yet"),
    }


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        ({"b": 2, "a": 2, "old": 1}, "run by a, b"),
        (dict.fromkeys("dcbae", 2), "run by a, b, c and 2 more"),
    ],
)
def test_who_runs_it_is_named(observed: dict[str, int], message: str) -> None:
    verdict = judge_profile(profile(observed=observed), ())[ACTIVE]
    assert verdict == Verdict(True, "Running", message)


def test_mistakes_are_told_with_their_paths() -> None:
    mistakes = (mistake(), mistake("spec.pluginConfig[0].args", meaning="did you mean\n  Y?"))
    verdicts = judge_profile(profile(active=1, observed={"a": 1}), mistakes)
    assert verdicts == {
        VALID: Verdict(
            False,
            "Invalid",
            'spec.plugins: Invalid value: "X": no such plugin\n'
            'spec.pluginConfig[0].args: Invalid value: "X": no such plugin (did you mean Y?)',
        ),
        ACTIVE: Verdict(False, "Invalid", "generation 1 stays in use: the newest is invalid"),
    }
    never = judge_profile(profile(), mistakes)[ACTIVE]
    assert never == Verdict(False, "Invalid", "no spec was valid yet: nothing is run")


def unknown(name: str) -> Mistake:
    return replace(mistake(), value=f'"{name}"', detail=DOES_NOT_EXIST)


def test_an_unknown_plugin_is_a_mistake_unless_a_scheduler_runs_it() -> None:
    lacking = (unknown("Quota"),)
    verdicts = judge_profile(profile(active=1, observed={"a": 1}), lacking)
    assert verdicts[VALID] == Verdict(
        False, "Invalid", 'spec.plugins: Invalid value: "Quota": plugin does not exist'
    )
    assert verdicts[ACTIVE].reason == "Invalid"
    verdicts = judge_profile(profile(active=1, observed={"a": 2}), lacking)
    assert verdicts[VALID][:2] == (None, "UnknownPlugin")
    assert "the controller has not every plugin" in verdicts[VALID].message
    assert 'spec.plugins: Invalid value: "Quota": plugin does not exist' in verdicts[VALID].message
    assert verdicts[ACTIVE] == Verdict(True, "Running", "run by a")


def test_another_mistake_is_one_whatever_plugins_there_are() -> None:
    verdicts = judge_profile(profile(observed={"a": 2}), (unknown("Quota"), mistake()))
    assert verdicts[VALID][:2] == (False, "Invalid")


def test_what_is_not_known_is_said_once_and_changes_nothing_else() -> None:
    judged = profile(active=1, observed={"a": 2})
    status: dict[str, Any] = {"active": {"generation": 1, "spec": {"schedulerName": "gpu"}}}
    written = changes(judged, status, unknown("Quota"))
    assert "active" not in written
    assert changes(judged, {**status, **written}, unknown("Quota")) == {}


def test_not_all_of_very_many_mistakes_are_told() -> None:
    message = judge_profile(profile(), [mistake()] * (SHOWN_MISTAKES + 5))[VALID].message
    assert message.count("\n") == SHOWN_MISTAKES
    assert message.endswith("and 5 more")


def changes(judged: SchedulerProfile, status: dict[str, Any], *mistakes: Mistake) -> dict[str, Any]:
    return profile_changes(judged, judge_profile(judged, mistakes), status, now=NOW)


def test_what_is_said_is_said_once() -> None:
    judged = profile()
    written = changes(judged, {})
    assert written["observedGeneration"] == 2
    assert written["active"] == {"generation": 2, "spec": {"schedulerName": "gpu"}}
    assert [condition["type"] for condition in written["conditions"]] == [VALID, ACTIVE]
    assert changes(judged, written) == {}


def test_an_invalid_spec_leaves_the_last_valid_one() -> None:
    active = {"generation": 1, "spec": {"schedulerName": "gpu"}}
    written = changes(profile(active=1), {"active": active}, mistake())
    assert "active" not in written


def test_what_the_spec_no_longer_has_leaves_the_active_one() -> None:
    known = {"schedulerName": "gpu", "plugins": {"filter": {}}}
    written = changes(profile(), {"active": {"generation": 1, "spec": known}})
    assert written["active"] == {"generation": 2, "spec": {"plugins": None}}


def test_nulls_cannot_be_written_and_are_not_missed() -> None:
    spec = {"schedulerName": "gpu", "pluginConfig": [{"name": "X", "args": {"y": None}}]}
    judged = profile(spec=spec)
    written = changes(judged, {})
    assert written["active"]["spec"]["pluginConfig"] == [{"name": "X", "args": {}}]
    assert changes(judged, written) == {}
