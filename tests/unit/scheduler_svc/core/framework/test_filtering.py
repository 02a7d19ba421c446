"""Filters in order: who passes all, and the first that says no."""

import numpy as np

from scheduler_svc.core.framework.filtering import (
    NodeGroup,
    ask_filters,
    split_at_others,
)
from scheduler_svc.core.framework.interface import Scope
from scheduler_svc.core.status import Code, Status
from tests.builders import make_columns, make_node_info
from tests.scripted_plugins import Filtering, named

NO = Status(Code.UNSCHEDULABLE, ("no",))
NEVER = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never",))
COLUMNS = make_columns([make_node_info(name) for name in "abcd"])


def rows(*numbers: int) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    return np.array(numbers, dtype=np.intp)


def test_the_first_that_rejects_a_node_has_the_word() -> None:
    first, second = (
        named("A", Filtering)({"a": NO}),
        named("B", Filtering)({"a": NEVER, "c": NEVER}),
    )
    groups: list[NodeGroup] = []
    passed = ask_filters([(first, None), (second, None)], COLUMNS, rows(0, 1, 2), groups)
    assert passed.tolist() == [1]
    assert [(group.status, group.rows.tolist()) for group in groups] == [
        (Status(Code.UNSCHEDULABLE, ("no",), "A"), [0]),
        (Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never",), "B"), [2]),
    ]


def test_reasons_are_given_only_if_wanted() -> None:
    class Reticent(Filtering):
        name = "Reticent"

        def rejections(self, state: object, nodes: object) -> list:  # type: ignore[type-arg]
            raise AssertionError

    assert ask_filters([(Reticent({"a": NO}), None)], COLUMNS, rows(0, 1)).tolist() == [1]


def test_nobody_is_asked_about_no_nodes() -> None:
    class Strict(Filtering):
        name = "Strict"

        def filter(self, state: object, nodes: object) -> None:
            raise AssertionError

    first = named("A", Filtering)({"a": NO})
    assert ask_filters([(first, None), (Strict(), None)], COLUMNS, rows(0)).tolist() == []


def test_filters_are_split_before_the_first_that_looks_at_other_nodes() -> None:
    class Around(Filtering):
        filter_scope = Scope.CLUSTER

    a, b = (named("A", Filtering)(), None), (named("B", Filtering)(), None)
    c = (named("C", Around)(), None)
    assert split_at_others([a, b]) == ([a, b], ())
    assert split_at_others([a, c, b]) == ([a], [c, b])
    assert split_at_others([]) == ([], ())
