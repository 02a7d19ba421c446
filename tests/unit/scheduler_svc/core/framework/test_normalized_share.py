"""What one normalized plugin adds to the totals, while Nodes change and stop being feasible."""

from collections.abc import Sequence

import numpy as np

from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.framework.normalized_share import NormalizedShare
from tests.builders import make_columns, make_node_info
from tests.scripted_plugins import NormalizedScoring, named

COLUMNS = make_columns([make_node_info(name) for name in "abc"])
EVERY_ROW = slice(0, 3)


def make_share(scores: dict[str, int], weight: int = 1) -> NormalizedShare:
    share = NormalizedShare(named("N", NormalizedScoring)(scores), None, weight)
    score(share, EVERY_ROW)
    return share


def score(share: NormalizedShare, rows: slice) -> None:
    share.score(NodeView(COLUMNS, rows), 3, None)


def normalize(
    share: NormalizedShare, feasible: Sequence[bool] = (True, True, True), rows: slice = EVERY_ROW
) -> bool:
    return share.normalize(np.array(feasible), rows)


def shares(share: NormalizedShare) -> list[int]:
    return [int(each) for each in np.broadcast_to(share.shares, 3)]


def test_equal_scores_are_one_number() -> None:
    share = make_share({"a": 5, "b": 5, "c": 5}, weight=3)
    assert share.is_constant
    assert normalize(share)
    assert shares(share) == [300, 300, 300]
    assert isinstance(share.shares, int)
    assert share.size_bytes == 0


def test_different_scores_are_an_array() -> None:
    share = make_share({"a": 5, "b": 10}, weight=3)
    assert not share.is_constant
    assert normalize(share)
    assert shares(share) == [150, 300, 0]
    assert share.size_bytes == 2 * 3 * 8


def test_nothing_is_known_before_there_is_a_node() -> None:
    share = NormalizedShare(named("N", NormalizedScoring)({}), None, 1)
    assert share.is_constant
    assert normalize(share, (False, False, False))
    assert shares(share) == [0, 0, 0]


def test_extremes_are_those_of_the_feasible_nodes() -> None:
    share = make_share({"a": 5, "b": 10, "c": 20})
    assert normalize(share, (True, True, False))
    assert shares(share)[:2] == [50, 100]
    assert normalize(share, (True, False, True))


def test_scores_that_come_to_differ() -> None:
    scores = {"a": 5, "b": 5, "c": 5}
    share = make_share(scores)
    normalize(share)
    scores["b"] = 10
    score(share, slice(1, 2))
    assert normalize(share, rows=slice(1, 2))
    assert shares(share) == [50, 100, 50]


def test_only_what_changed_is_computed_while_the_extremes_stay() -> None:
    scores = {"a": 4, "b": 2, "c": 0}
    share = make_share(scores)
    normalize(share)
    scores["b"] = 1
    score(share, slice(1, 2))
    assert not normalize(share, rows=slice(1, 2))
    assert shares(share) == [100, 25, 0]


def test_shares_are_right_again_after_no_node_was_feasible() -> None:
    share = make_share({"a": 4, "b": 2})
    assert not normalize(share, (False, False, False))
    assert not share.is_constant
    assert normalize(share)
    assert shares(share) == [100, 50, 0]


def test_nothing_is_left_of_what_is_forgotten() -> None:
    share = make_share({"a": 4, "b": 2})
    normalize(share)
    share.reset()
    assert share.is_constant
    assert shares(share) == [0, 0, 0]
