"""SchedulerProfiles that cannot be run, or that nobody runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from berthmaster.cli.diagnosis.facts import ProfileState, Scope
from berthmaster.cli.diagnosis.finding import Severity
from berthmaster.cli.diagnosis.judgement import judge
from tests.unit.berthmaster.diagnosis.clusters import NOW, judged, only, wrong
from tests.unit.berthmaster.diagnosis.stub_cluster import StubApi, at, condition
from tests.unit.berthmaster.diagnosis.test_gathering import gathered

PROFILES = "/apis/berthmaster.dev/v1alpha1/schedulerprofiles"
MISTAKES = (
    'spec.plugins.filter.enabled[0].name: Invalid value: "NodePort": plugin does not exist',
    "spec.pluginConfig[0].args.scoringStrategy.type: Unsupported value",
)


def profile(name: str = "packing", **fields: Any) -> ProfileState:
    values: dict[str, Any] = {
        "scheduler_names": (name,),
        "generation": 3,
        "active_generation": 3,
        "run_generation": 3,
        "since": NOW - 120,
    }
    return ProfileState(name=name, **values | fields)


def test_of_a_profile_that_is_run_nothing_is_told() -> None:
    assert wrong(judged(profiles=(profile(), profile("gpu")))) == set()


def test_an_invalid_change_is_told_with_every_mistake_and_what_is_run_meanwhile() -> None:
    broken = profile(active_generation=2, run_generation=2, mistakes=MISTAKES)
    finding = only(judged(profiles=(broken, profile("gpu"))), "scheduler-profile-invalid")
    assert finding.severity is Severity.WARNING
    assert finding.what == ("SchedulerProfile packing is invalid; generation 2 of it stays in use.")
    assert finding.why == "Pods of 'packing' are scheduled as before: the change has no effect."
    assert finding.detail == MISTAKES
    assert finding.next_command == "kubectl edit schedulerprofile packing"
    assert (finding.count, finding.objects, finding.since_seconds) == (1, ("packing",), 120)


def test_a_profile_that_never_was_valid_is_a_problem() -> None:
    broken = profile(active_generation=None, run_generation=0, mistakes=MISTAKES[:1])
    finding = only(judged(profiles=(broken,)), "scheduler-profile-invalid")
    assert finding.severity is Severity.PROBLEM
    assert finding.what == "SchedulerProfile packing is invalid, and nothing of it is run."
    assert finding.why == "No scheduler takes the schedulerName 'packing' from it."


def test_a_profile_that_nobody_runs_is_told_once_it_has_lasted() -> None:
    unseen = profile(active_generation=None, run_generation=0)
    finding = only(judged(profiles=(unseen,)), "scheduler-profile-not-run")
    assert finding.severity is Severity.WARNING
    assert finding.what == (
        "No scheduler says that it runs generation 3 of SchedulerProfile packing."
    )
    older = profile(run_generation=2)
    finding = only(judged(profiles=(older,)), "scheduler-profile-not-run")
    assert finding.what.endswith("of SchedulerProfile packing; they run generation 2.")
    assert wrong(judged(profiles=(profile(run_generation=2, since=NOW - 9),))) == set()


def test_with_a_scheduler_name_the_profiles_of_others_are_left_out() -> None:
    broken = profile(active_generation=2, mistakes=MISTAKES)
    elsewhere = judged(profiles=(broken,), scope=Scope(scheduler_name="berthmaster"))
    assert "scheduler-profile-invalid" not in elsewhere
    here = judged(profiles=(broken,), scope=Scope(scheduler_name="packing"))
    assert "scheduler-profile-invalid" in here


def test_profiles_are_read_with_what_is_said_of_them(tmp_path: Path) -> None:
    api = StubApi()
    spec = {"schedulerName": "packing"}
    refused = condition("Valid", "False", 60, reason="Invalid", message="\n".join(MISTAKES))
    stands = condition("Active", "False", 60, reason="Invalid", message="generation 2 stays")
    api.lists[PROFILES] = [
        {
            "metadata": {"name": "packing", "generation": 3, "creationTimestamp": at(900)},
            "spec": spec,
            "status": {
                "active": {"generation": 2, "spec": spec},
                "conditions": [refused, stands],
                "observedBy": [{"scheduler": "a:10259", "generation": 2, "at": at(60)}],
            },
        },
        {
            "metadata": {"name": "new", "generation": 1, "creationTimestamp": at(90)},
            "spec": {"schedulerName": "new"},
        },
    ]
    facts = gathered(api, tmp_path, ask=False)
    packing, new = facts.profiles
    assert (packing.generation, packing.active_generation, packing.run_generation) == (3, 2, 2)
    assert (packing.scheduler_names, packing.mistakes) == (("packing",), MISTAKES)
    assert 50 < facts.now - packing.since < 100
    assert (new.active_generation, new.run_generation, new.mistakes) == (None, 0, ())
    told = {f.check: f.objects for f in judge(facts) if f.check.startswith("scheduler-profile")}
    assert told == {
        "scheduler-profile-invalid": ("packing",),
        "scheduler-profile-not-run": ("new",),
    }
