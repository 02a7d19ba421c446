"""The default normalization: the highest becomes 100, in integers."""

import numpy as np
import pytest

from scheduler_svc.core.framework.normalize import normalize_default, normalize_reversed


@pytest.mark.parametrize(
    ("raw", "scaled", "reversed_"),
    [
        ([0, 0], [0, 0], [100, 100]),
        ([0, 3], [0, 100], [100, 0]),
        ([1, 2, 3], [33, 66, 100], [67, 34, 0]),
        ([7], [100], [0]),
        ([10**12, 1], [100, 0], [0, 100]),
    ],
)
def test_scores_are_scaled(raw: list[int], scaled: list[int], reversed_: list[int]) -> None:
    scores = np.array(raw, dtype=np.int64)
    assert normalize_default(scores, max(raw)).tolist() == scaled
    assert normalize_reversed(scores, max(raw)).tolist() == reversed_
