"""PreFilter and PreScore: what remains to be asked for each Node."""

from collections.abc import Mapping, Sequence

import pytest

from scheduler_svc.core.framework.interface import Plugin, PreFilterResult, State
from scheduler_svc.core.framework.prepared import PreparedClass, prepare
from scheduler_svc.core.status import SKIP, Code, Status
from tests.builders import make_cluster, make_node_info, make_pod_info, make_profile
from tests.scripted_plugins import Filtering, PreFiltering, PreScoring, Scoring, named

UNRESOLVABLE = Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def run(
    points: Mapping[str, Sequence[Plugin]], weights: dict[str, int] | None = None
) -> PreparedClass:
    cluster = make_cluster([make_node_info("a"), make_node_info("b")])
    return prepare(make_profile(points, weights), make_pod_info(), cluster)


def pre_filter(*results: PreFilterResult) -> tuple[PreparedClass, list[PreFiltering]]:
    """Run PreFilter plugins that are called A, B, ..."""
    plugins = [named("ABC"[i], PreFiltering)(result) for i, result in enumerate(results)]
    return run({"preFilter": plugins}), plugins


def rejected(code: Code, reason: str) -> PreFilterResult:
    return PreFilterResult(Status(code, (reason,)))


def only(*names: str) -> PreFilterResult:
    return PreFilterResult(node_names=frozenset(names))


def test_filters_get_the_state_that_was_prepared_and_skips_are_left_out() -> None:
    class Both(PreFiltering, Filtering):
        def __init__(self, result: PreFilterResult) -> None:
            PreFiltering.__init__(self, result)
            Filtering.__init__(self)

    asked = named("Asked", Both)(PreFilterResult(state="state"))
    skipped = named("Skipped", Both)(PreFilterResult(SKIP))
    unprepared = named("Unprepared", Filtering)()
    filters = [unprepared, asked, skipped]
    prepared = run({"preFilter": [asked, skipped], "filter": filters})
    assert prepared.filters == [(unprepared, None), (asked, "state")]
    assert prepared.rejection is None
    assert prepared.node_names is None
    assert prepared.node_names_status is None


def test_scores_get_their_state_and_weight_and_skips_are_left_out() -> None:
    class Both(PreScoring, Scoring):
        def __init__(self, status: Status) -> None:
            PreScoring.__init__(self, status, "state")
            Scoring.__init__(self, {})

    asked = named("Asked", Both)(Status(Code.SUCCESS))
    skipped = named("Skipped", Both)(SKIP)
    unprepared = named("Unprepared", Scoring)({})
    scores = [unprepared, asked, skipped]
    prepared = run({"preScore": [asked, skipped], "score": scores}, {"Asked": 3})
    assert prepared.scores == [(unprepared, None, 1), (asked, "state", 3)]


def test_an_unresolvable_rejection_ends_it_at_once() -> None:
    prepared, plugins = pre_filter(rejected(UNRESOLVABLE, "no"), rejected(UNRESOLVABLE, "never"))
    assert prepared.rejection == Status(UNRESOLVABLE, ("no",), "A")
    assert prepared.pre_filtered == {"A"}
    assert [plugin.asked_count for plugin in plugins] == [1, 0]


def test_after_a_rejection_that_preemption_may_resolve_the_rest_is_asked() -> None:
    prepared, plugins = pre_filter(
        rejected(Code.UNSCHEDULABLE, "first"),
        rejected(Code.UNSCHEDULABLE, "last"),
        PreFilterResult(),
    )
    assert prepared.rejection == Status(Code.UNSCHEDULABLE, ("last",), "B")
    assert [plugin.asked_count for plugin in plugins] == [1, 1, 1]
    prepared, _ = pre_filter(rejected(Code.UNSCHEDULABLE, "no"), rejected(UNRESOLVABLE, "never"))
    assert prepared.rejection == Status(UNRESOLVABLE, ("never",), "B")


@pytest.mark.parametrize("code", [Code.ERROR, Code.PENDING, Code.WAIT])
def test_anything_else_is_an_error(code: Code) -> None:
    prepared, plugins = pre_filter(rejected(code, "broken"), PreFilterResult())
    text = 'running PreFilter plugin "A": broken'
    assert prepared.rejection == Status(Code.ERROR, (text,), "A")
    assert [plugin.asked_count for plugin in plugins] == [1, 0]


def test_nothing_more_is_prepared_for_a_class_that_is_rejected() -> None:
    plugins = [named("A", PreFiltering)(rejected(UNRESOLVABLE, "no"))]
    scores = [named("S", Scoring)({})]
    prepared = run({"preFilter": plugins, "filter": [named("F", Filtering)()], "score": scores})
    assert prepared.filters == []
    assert prepared.scores == []


def test_restrictions_to_some_nodes_are_combined() -> None:
    prepared, _ = pre_filter(PreFilterResult(), only("a", "b"), only("b", "c"))
    assert prepared.rejection is None
    assert prepared.node_names == frozenset({"b"})
    assert prepared.restricting == ("B", "C")
    assert prepared.node_names_status == Status(
        UNRESOLVABLE, ("node(s) didn't satisfy plugin(s) [B C]",)
    )


def test_one_plugin_may_leave_no_node() -> None:
    prepared, plugins = pre_filter(only(), PreFilterResult())
    assert prepared.rejection == Status(UNRESOLVABLE, ("node(s) didn't satisfy plugin A",))
    assert prepared.restricting == ("A",)
    assert [plugin.asked_count for plugin in plugins] == [1, 0]


def test_several_plugins_may_leave_no_node_together() -> None:
    plugins = [named("B", PreFiltering)(only("a")), named("A", PreFiltering)(only("b"))]
    prepared = run({"preFilter": plugins})
    assert prepared.rejection == Status(
        UNRESOLVABLE, ("node(s) didn't satisfy plugin(s) [A B] simultaneously",)
    )


def test_a_failure_while_filtering_names_its_plugin() -> None:
    class Failing(Filtering):
        def failure(self, state: State) -> Status | None:
            return Status(Code.ERROR, ("node a: broken",))

    fine, failing = named("Fine", Filtering)(), named("Failing", Failing)()
    assert run({"filter": [fine]}).failure() is None
    failure = run({"filter": [fine, failing]}).failure()
    assert failure == Status(Code.ERROR, ("node a: broken",), "Failing")
