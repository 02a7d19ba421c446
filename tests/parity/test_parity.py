"""Every Pod and Node of the recorded cases: the decision is kube-scheduler's."""

from collections import Counter

import pytest

from tests.parity.comparison import LEFT_OUT, Comparison
from tests.parity.recorded import Explainer, cases, configuration_of, families

PODS_OF_A_CASE = 6


@pytest.mark.parametrize("family", families())
def test_every_pod_and_node_is_decided_as_recorded(family: str) -> None:
    explainer, compared = Explainer(configuration_of(family)), Counter[str]()
    case_count = 0
    for case in cases(family):
        case_count += 1
        comparison = Comparison(case.items, explainer.missing)
        for theirs, ours in zip(case.answers, explainer.answers(case.items), strict=True):
            try:
                compared += comparison.compare(theirs, ours)
            except AssertionError as error:
                error.add_note(f"{case.name}, Pod {theirs['pod']}")
                raise
    assert compared["Pods"] == case_count * PODS_OF_A_CASE
    # What is left out is so because the plugin is not there.
    left_out = {name.removeprefix(LEFT_OUT) for name in compared if name.startswith(LEFT_OUT)}
    assert left_out <= explainer.missing


def test_all_recordings_are_compared() -> None:
    names = [case.name for family in families() for case in cases(family)]
    assert len(names) == len(set(names)) == 214
