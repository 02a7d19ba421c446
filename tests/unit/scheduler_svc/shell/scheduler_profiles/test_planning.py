"""Which profiles are run, of the objects there are and of what is run already."""

from collections.abc import Mapping
from typing import Any

import pytest

from scheduler_svc.shell.scheduler_profiles import planning
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile
from scheduler_svc.shell.scheduler_profiles.planning import Planner, ProfilePlan, RunProfile
from scheduler_svc.shell.scheduler_profiles.validation import compile_spec
from tests.unit.scheduler_svc.shell.scheduler_profiles.building import (
    IN_TREE_ONLY,
    configured,
    make_profile,
)

INVALID = {"schedulerName": "x", "plugins": {"score": {"enabled": [{"name": "Nobody"}]}}}
OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


@pytest.fixture
def planner() -> Planner:
    return Planner(configured(), IN_TREE_ONLY, serves_default=False)


def names(plan: ProfilePlan) -> dict[str, tuple[str, int]]:
    """Give by scheduler name which object is run, and of which generation."""
    return {name: (run.object_name, run.generation) for name, run in plan.runs.items()}


def plan(
    planner: Planner, *profiles: SchedulerProfile, running: Mapping[str, RunProfile] | None = None
) -> ProfilePlan:
    return planner.plan(profiles, running or {})


def named(name: str) -> Mapping[str, Any]:
    return {"schedulerName": name}


def test_every_valid_profile_is_run_under_its_scheduler_name(planner: Planner) -> None:
    found = plan(planner, make_profile("a", named("x")), make_profile("b", named("y")))
    assert names(found) == {"x": ("a", 1), "y": ("b", 1)}
    assert found.refusals == {}
    assert found.runs["x"].compiled.core.scheduler_name == "x"


def test_nothing_is_run_of_what_was_never_valid(planner: Planner) -> None:
    found = plan(planner, make_profile("a", INVALID))
    assert names(found) == {}
    [refusal] = found.refusals.values()
    assert (refusal.object_name, refusal.generation, refusal.runs) == ("a", 1, None)
    assert [mistake.path for mistake in refusal.mistakes] == ["spec.plugins.score.enabled[0].name"]


def test_the_last_valid_spec_is_run_while_the_newest_is_none(planner: Planner) -> None:
    profile = make_profile("a", INVALID, generation=3, active=named("x"), active_generation=2)
    found = plan(planner, profile)
    assert names(found) == {"x": ("a", 2)}
    assert found.refusals["uid-a"].runs == found.runs["x"]


def test_what_is_run_already_is_run_on_where_the_status_does_not_say(planner: Planner) -> None:
    first = plan(planner, make_profile("a", named("x")))
    second = plan(planner, make_profile("a", INVALID, generation=2), running=first.runs)
    assert second.runs == first.runs
    # A scheduler that starts now does not know it.
    assert names(plan(planner, make_profile("a", INVALID, generation=2))) == {}


def test_the_status_comes_before_what_is_run(planner: Planner) -> None:
    first = plan(planner, make_profile("a", named("x")))
    profile = make_profile("a", INVALID, generation=3, active=named("y"), active_generation=2)
    assert names(plan(planner, profile, running=first.runs)) == {"y": ("a", 2)}


def test_a_last_spec_that_is_valid_no_more_is_not_run(planner: Planner) -> None:
    profile = make_profile("a", INVALID, generation=3, active=INVALID, active_generation=2)
    assert names(plan(planner, profile)) == {}


def test_an_object_made_anew_is_another(planner: Planner) -> None:
    first = plan(planner, make_profile("a", named("x")))
    assert names(plan(planner, running=first.runs)) == {}


def test_the_oldest_has_the_name_and_the_next_gets_it_when_that_is_gone(planner: Planner) -> None:
    old = make_profile("b", named("x"), created=OLD)
    new = make_profile("a", named("x"), created=NEW)
    found = plan(planner, new, old)
    assert names(found) == {"x": ("b", 1)}
    assert list(found.refusals) == ["uid-a"]
    assert names(plan(planner, new, running=found.runs)) == {"x": ("a", 1)}


def test_what_an_older_one_runs_still_is_not_taken_from_it(planner: Planner) -> None:
    old, new = (
        make_profile("b", named("x"), created=OLD),
        make_profile("a", named("x"), created=NEW),
    )
    running = plan(planner, old).runs
    broken = make_profile("b", {**INVALID, "schedulerName": "y"}, created=OLD, generation=2)
    assert names(plan(planner, new, broken, running=running)) == {"x": ("b", 1)}


def test_what_is_run_ends_where_an_older_one_takes_its_name(planner: Planner) -> None:
    new = make_profile("a", named("x"), created=NEW)
    running = plan(planner, new).runs
    found = plan(
        planner,
        make_profile("a", INVALID, created=NEW, generation=2),
        make_profile("b", named("x"), created=OLD),
        running=running,
    )
    assert names(found) == {"x": ("b", 1)}


def test_names_of_the_configuration_are_never_run() -> None:
    planner = Planner(configured(), IN_TREE_ONLY, serves_default=False)
    for name in ("berthmaster", "default-scheduler"):
        found = plan(planner, make_profile("a", named(name)))
        assert names(found) == {}
        assert len(found.refusals["uid-a"].mistakes) == 1


def test_a_generation_is_made_once(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, int]] = []

    def counting(profile: SchedulerProfile, *arguments: Any, **options: Any) -> Any:
        made.append((profile.metadata.name, profile.metadata.generation))
        return compile_spec(profile, *arguments, **options)

    monkeypatch.setattr(planning, "compile_spec", counting)
    first = make_profile("a", named("x"))
    running = plan(planner, first, make_profile("b", INVALID)).runs
    for _ in range(3):
        again = plan(planner, first, make_profile("b", INVALID), running=running)
        assert again.runs == running
    second = make_profile("a", named("x"), generation=2, active=named("x"))
    assert plan(planner, second, running=running).runs["x"].generation == 2
    assert made == [("a", 1), ("b", 1), ("a", 2)]
    # What is gone is forgotten.
    plan(planner)
    plan(planner, second)
    assert made[3:] == [("a", 2)]


def test_plugins_whose_arguments_are_the_same_are_taken_over(planner: Planner) -> None:
    running = plan(planner, make_profile("a", named("x"))).runs
    args = {"scoringStrategy": {"type": "MostAllocated"}}
    spec = {**named("x"), "pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}
    found = plan(planner, make_profile("a", spec, generation=2), running=running)
    before = {p.name: p for p in running["x"].compiled.core.plugins}
    after = {p.name: p for p in found.runs["x"].compiled.core.plugins}
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] is not after[name]] == ["NodeResourcesFit"]
