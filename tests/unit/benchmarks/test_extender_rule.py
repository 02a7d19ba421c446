"""The rule of the shapes' extender leaves every Pod enough Nodes, and never all."""

import pytest

from benchmarks.extender_rule import HIGHEST_SCORE, allows, score
from benchmarks.manifests import node_name


@pytest.mark.parametrize("number", range(10))
def test_two_nodes_of_five_are_left_to_each_pod(number: int) -> None:
    allowed = [index for index in range(50) if allows(f"pod-{number:05d}", node_name(index))]
    assert len(allowed) == 20
    assert len({index % 5 for index in allowed}) == 2


def test_pods_of_other_numbers_get_other_nodes() -> None:
    first = [allows("pod-00000", node_name(index)) for index in range(5)]
    assert first != [allows("pod-00001", node_name(index)) for index in range(5)]


def test_scores_are_those_that_an_extender_may_give() -> None:
    scores = [score(node_name(index)) for index in range(22)]
    assert sorted(set(scores)) == list(range(HIGHEST_SCORE + 1))
