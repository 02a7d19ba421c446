"""How long the Pods of groups take together."""

import pytest

from benchmarks.pod_groups import together


def test_a_group_takes_from_its_first_pod_to_its_last() -> None:
    groups = {"a": ["a-0", "a-1", "a-2"], "b": ["b-0", "b-1"], "none": ["c-0"]}
    bound = {"a-0": 12.0, "a-1": 10.0, "a-2": 10.5, "b-0": 11.0, "b-1": 11.25}
    times = together(groups, bound)
    assert times.count == 2
    assert (times.p50, times.maximum) == pytest.approx((250, 2000))
