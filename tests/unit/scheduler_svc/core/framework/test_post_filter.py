"""Several PostFilters: who ends it, and what remains of what they said."""

import pytest

from scheduler_svc.core.effects import AttemptResult, PodReference, ReportAttempt
from scheduler_svc.core.framework.diagnosis import Diagnosis
from scheduler_svc.core.framework.post_filter import (
    FailedAttempt,
    PostFilterResult,
    Preemption,
    resume_post_filters,
    run_post_filters,
)
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.status import SUCCESS, Code, Status
from tests.builders import at, make_cache, make_pod_info
from tests.scripted_plugins import PostFiltering, named

NO = Status(Code.UNSCHEDULABLE, ("no",))
NEITHER = Status(Code.UNSCHEDULABLE, ("neither",))
NEVER = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never",))
BROKEN = Status(Code.ERROR, ("broken",))


def effect(message: str) -> ReportAttempt:
    pod = PodReference("default", "a", "uid-a")
    return ReportAttempt(pod, "berthmaster", AttemptResult.ERROR, 1, message)


def run(*results: PostFilterResult | Status) -> PostFilterResult:
    cache, pod = make_cache(), make_pod_info()
    attempt = FailedAttempt(
        pod=pod,
        prepared=PreparedClass(pod),
        diagnosis=Diagnosis(0),
        cache=cache,
        nominator=Nominator(cache.columns),
        now=at(0),
    )
    plugins = [named(f"P{i}", PostFiltering)(result) for i, result in enumerate(results)]
    return run_post_filters(plugins, attempt)


def test_without_plugins_nothing_is_said() -> None:
    assert run() == PostFilterResult(Status(Code.UNSCHEDULABLE))


def test_reasons_add_up_and_the_first_is_the_rejector() -> None:
    both = Status(Code.UNSCHEDULABLE, ("no", "neither"), "P0")
    assert run(NO, NEITHER) == PostFilterResult(both)


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (NEVER, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never",), "P1")),
        (BROKEN, Status(Code.ERROR, ("broken",), "P1")),
        (SUCCESS, SUCCESS),
    ],
)
def test_whoever_ends_it_has_the_word(ending: Status, expected: Status) -> None:
    assert run(NO, ending, NEITHER).status == expected


def test_the_last_nomination_of_those_that_said_no_counts() -> None:
    results = (PostFilterResult(NO, "n1"), PostFilterResult(NO, ""), PostFilterResult(NO))
    assert run(*results).nomination == ""
    assert run(PostFilterResult(NO)).nomination is None


@pytest.mark.parametrize(
    ("ending", "nomination"), [(SUCCESS, "n2"), (NEVER, "n2"), (BROKEN, None), (NO, "n2")]
)
def test_whoever_ends_it_nominates(ending: Status, nomination: str | None) -> None:
    assert run(PostFilterResult(NO, "n1"), PostFilterResult(ending, "n2")).nomination == nomination


@pytest.mark.parametrize("ending", [SUCCESS, NEVER, BROKEN, NO])
def test_what_plugins_want_done_is_done(ending: Status) -> None:
    first, second = effect("first"), effect("second")
    results = (PostFilterResult(NO, effects=(first,)), PostFilterResult(ending, effects=(second,)))
    assert run(*results).effects == (first, second)


@pytest.mark.parametrize(("status", "happens"), [(SUCCESS, True), (NEVER, False), (BROKEN, False)])
def test_only_a_success_preempts(status: Status, happens: bool) -> None:
    preemption = Preemption("n1", (make_pod_info("victim"),))
    result = run(PostFilterResult(status, preemption=preemption))
    assert (result.preemption is preemption) == happens


@pytest.mark.parametrize("ending", [NEITHER, NEVER], ids=lambda status: status.code.name)
def test_what_would_still_stand_in_the_way_adds_up(ending: Status) -> None:
    first = PostFilterResult(NO, rejectors=frozenset({"A"}))
    second = PostFilterResult(ending, rejectors=frozenset({"A", "B"}))
    assert run(first, second).rejectors == {"A", "B"}


def run_waiting(*after: PostFilterResult | Status, result: PostFilterResult) -> PostFilterResult:
    """Let the second of several plugins wait for extenders, and go on with what comes of it."""
    cache, pod = make_cache(), make_pod_info()
    attempt = FailedAttempt(
        pod=pod,
        prepared=PreparedClass(pod),
        diagnosis=Diagnosis(0),
        cache=cache,
        nominator=Nominator(cache.columns),
        now=at(0),
    )
    first = PostFilterResult(NO, "n1", effects=(effect("first"),), rejectors=frozenset("A"))
    waits = PostFilterResult(Status(Code.WAIT), candidates=(Preemption("n2", (pod,)),))
    plugins = [named(f"P{i}", PostFiltering)(said) for i, said in enumerate((first, waits, *after))]
    begun = run_post_filters(plugins, attempt)
    assert begun == PostFilterResult(
        Status(Code.WAIT, ("no",), "P1"),
        "n1",
        effects=(effect("first"),),
        candidates=(Preemption("n2", (pod,)),),
        rejectors=frozenset("A"),
    )
    return resume_post_filters(plugins, attempt, begun, result)


def test_what_extenders_allow_ends_it_and_what_was_done_is_not_done_again() -> None:
    done = PostFilterResult(SUCCESS, "n2", effects=(effect("second"),))
    assert run_waiting(NO, result=done) == done


def test_where_extenders_allow_nothing_the_others_are_asked() -> None:
    result = run_waiting(NEITHER, result=PostFilterResult(Status(Code.UNSCHEDULABLE, ("none",))))
    assert result.status.reasons == ("no", "none", "neither")
    assert result.nomination == "n1"
    assert result.effects == ()
    assert result.rejectors == {"A"}
