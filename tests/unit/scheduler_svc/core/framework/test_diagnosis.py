"""Why a Pod fits nowhere, and how that reads."""

from collections.abc import Sequence

import numpy as np

from scheduler_svc.core.framework.diagnosis import Diagnosis, diagnose
from scheduler_svc.core.framework.filtering import NodeGroup
from scheduler_svc.core.framework.interface import Plugin, PreFilterResult
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.status import Code, Status
from tests.builders import make_cluster, make_node_info, make_pod_info, make_profile
from tests.scripted_plugins import Filtering, PreFiltering, named

UNRESOLVABLE = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
FULL = Status(Code.UNSCHEDULABLE, ("Insufficient cpu", "Too many pods"))
TAINTED = Status(UNRESOLVABLE, ("node(s) had untolerated taint(s)",))


def group(status: Status, *rows: int) -> NodeGroup:
    return NodeGroup(status, np.array(rows, dtype=np.intp))


def diagnosed(filters: Sequence[Plugin], *results: PreFilterResult) -> Diagnosis:
    """Diagnose a Pod on the Nodes a, b and c; PreFilter plugins are called P0, P1, ..."""
    cluster = make_cluster([make_node_info(name) for name in "abc"], [make_pod_info(node="ghost")])
    pre_filters = [named(f"P{i}", PreFiltering)(result) for i, result in enumerate(results)]
    profile = make_profile({"preFilter": pre_filters, "filter": filters})
    return diagnose(prepare(profile, make_pod_info(), cluster), cluster.columns)


def by_node(diagnosis: Diagnosis) -> dict[str, Status]:
    return {"abc"[row]: group.status for group in diagnosis.groups for row in group.rows}


def test_each_reason_counts_for_each_node_and_all_are_sorted_as_text() -> None:
    diagnosis = Diagnosis(13, (group(FULL, *range(10)), group(TAINTED, 10, 11)))
    assert diagnosis.fit_error() == (
        "0/13 nodes are available: 10 Insufficient cpu, 10 Too many pods, "
        "2 node(s) had untolerated taint(s)."
    )


def test_equal_reasons_add_up() -> None:
    other = Status(UNRESOLVABLE, ("Insufficient cpu",))
    diagnosis = Diagnosis(3, (group(FULL, 0), group(other, 1, 2)))
    assert diagnosis.fit_error() == (
        "0/3 nodes are available: 1 Too many pods, 3 Insufficient cpu."
    )


def test_nodes_that_were_not_looked_at_have_the_common_status() -> None:
    absent = Status(UNRESOLVABLE, ("node(s) didn't satisfy plugin(s) [NodeAffinity]",))
    diagnosis = Diagnosis(5, (group(TAINTED, 2),), absent)
    assert diagnosis.fit_error() == (
        "0/5 nodes are available: 1 node(s) had untolerated taint(s), "
        "4 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    assert Diagnosis(1, (group(TAINTED, 2),), absent).fit_error() == (
        "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    )


def test_what_pre_filter_says_replaces_the_counts() -> None:
    diagnosis = Diagnosis(
        5, absent_status=TAINTED, pre_filter_message="pod affinity terms conflict"
    )
    assert diagnosis.fit_error() == "0/5 nodes are available: pod affinity terms conflict."


def test_what_post_filter_says_comes_last() -> None:
    diagnosis = Diagnosis(1, (group(TAINTED, 0),))
    assert diagnosis.fit_error("preemption: not helpful") == (
        "0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: not helpful"
    )
    assert Diagnosis(3).fit_error("no victims") == "0/3 nodes are available: no victims"
    assert Diagnosis(3).fit_error() == "0/3 nodes are available:"


def test_the_first_plugin_that_rejects_a_node_gives_its_status() -> None:
    first = named("First", Filtering)({"a": FULL})
    second = named("Second", Filtering)({"a": TAINTED, "b": TAINTED})
    diagnosis = diagnosed([named("None", Filtering)(), first, second])
    assert by_node(diagnosis) == {
        "a": Status(FULL.code, FULL.reasons, "First"),
        "b": Status(TAINTED.code, TAINTED.reasons, "Second"),
    }
    assert diagnosis.node_count == 3
    assert diagnosis.unschedulable_plugins == {"First", "Second"}
    assert diagnosis.pending_plugins == frozenset()
    assert diagnosis.absent_status is None


def test_one_plugin_may_have_several_reasons() -> None:
    diagnosis = diagnosed([named("F", Filtering)({"a": FULL, "b": TAINTED, "c": FULL})])
    assert [g.rows.tolist() for g in diagnosis.groups] == [[0, 2], [1]]
    assert diagnosis.fit_error() == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu, "
        "2 Too many pods."
    )


def test_a_reason_that_applies_to_no_node_is_not_given() -> None:
    first = named("First", Filtering)({"a": FULL})
    second = named("Second", Filtering)({"a": TAINTED, "b": FULL})
    diagnosis = diagnosed([first, second])
    assert [g.status.plugin for g in diagnosis.groups] == ["First", "Second"]


def test_a_plugin_may_wait_for_somebody() -> None:
    waiting = Status(Code.PENDING, ("waiting",))
    diagnosis = diagnosed(
        [named("Waits", Filtering)({"a": waiting}), named("Full", Filtering)({"b": FULL})]
    )
    assert diagnosis.pending_plugins == {"Waits"}
    assert diagnosis.unschedulable_plugins == {"Full"}


def test_only_the_nodes_that_are_possible_are_looked_at() -> None:
    filters = [named("Full", Filtering)({"a": FULL, "b": FULL, "c": FULL})]
    names = frozenset({"b", "ghost", "unheard-of"})
    diagnosis = diagnosed(filters, PreFilterResult(node_names=names))
    assert by_node(diagnosis).keys() == {"b"}
    assert diagnosis.fit_error() == (
        "0/3 nodes are available: 1 Insufficient cpu, 1 Too many pods, "
        "2 node(s) didn't satisfy plugin(s) [P0]."
    )
    assert diagnosis.unschedulable_plugins == {"P0", "Full"}


def test_pre_filter_turns_the_pod_away() -> None:
    rejection = Status(UNRESOLVABLE, ("pod affinity terms conflict",))
    diagnosis = diagnosed([], PreFilterResult(rejection))
    assert diagnosis.fit_error() == "0/3 nodes are available: pod affinity terms conflict."
    assert diagnosis.absent_status == Status(UNRESOLVABLE, rejection.reasons, "P0")
    assert diagnosis.groups == ()
    assert diagnosis.unschedulable_plugins == {"P0"}


def test_pre_filter_leaves_no_node() -> None:
    a, b = (PreFilterResult(node_names=frozenset({name})) for name in "ab")
    diagnosis = diagnosed([], a, b)
    assert diagnosis.fit_error() == (
        "0/3 nodes are available: node(s) didn't satisfy plugin(s) [P0 P1] simultaneously."
    )
    assert diagnosis.unschedulable_plugins == {"P0", "P1"}
    assert diagnosis.pending_plugins == frozenset()


def test_a_node_that_nobody_judged_is_beyond_help() -> None:
    diagnosis = Diagnosis(3, (group(FULL, 1),))
    assert diagnosis.status_of(1) == FULL
    assert diagnosis.status_of(0).code is UNRESOLVABLE
    assert Diagnosis(3, (group(FULL, 1),), absent_status=TAINTED).status_of(0) == TAINTED


def test_nodes_are_found_by_the_code_of_their_status() -> None:
    columns = make_cluster(
        [make_node_info(name) for name in "abc"], [make_pod_info(node="ghost")]
    ).columns
    diagnosis = Diagnosis(3, (group(FULL, 1), group(TAINTED, 2)))
    assert diagnosis.rows_with(Code.UNSCHEDULABLE, columns).tolist() == [1]
    assert diagnosis.rows_with(UNRESOLVABLE, columns).tolist() == [2]
    everywhere = Diagnosis(3, (group(TAINTED, 2),), absent_status=FULL)
    assert everywhere.rows_with(Code.UNSCHEDULABLE, columns).tolist() == [0, 1]
    assert everywhere.rows_with(Code.ERROR, columns).tolist() == []
