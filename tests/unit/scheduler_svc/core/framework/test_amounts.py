"""Percentages are exact, whichever way they are computed."""

import numpy as np
import pytest

from scheduler_svc.core.columns import CPU_ROW, MEMORY_ROW, NodeView
from scheduler_svc.core.framework.amounts import percent
from scheduler_svc.core.quantity import MAX_AMOUNT
from tests.builders import make_columns, make_node_info

# The largest amount that is divided in floating point is 2^53 / 100 - 1.
LIMIT = 2**53 // 100


@pytest.mark.parametrize("largest", [1000, LIMIT - 1, LIMIT, MAX_AMOUNT])
def test_quotients_are_those_of_integers(largest: int) -> None:
    offered = [0, 1, 3, 7, 333, 999, largest // 3, largest - 1, largest]
    nodes = [make_node_info(f"n{i}", memory=amount) for i, amount in enumerate(offered)]
    view = NodeView(make_columns(nodes), slice(0, len(nodes)))
    for numerator in range(101):
        # Around each whole percentage, where rounding could go wrong.
        for offset in (-1, 0, 1):
            parts = [max(0, min(a, a * numerator // 100 + offset)) for a in offered]
            result = percent(np.array([parts]), view, slice(MEMORY_ROW, MEMORY_ROW + 1))
            expected = [100 * part // max(a, 1) for part, a in zip(parts, offered, strict=True)]
            assert result.tolist() == [expected]


def test_rows_may_be_listed() -> None:
    columns = make_columns([make_node_info("n", cpu=2, memory=1000)])
    view = NodeView(columns, np.array([0]))
    result = percent(np.array([[500], [500]]), view, [MEMORY_ROW, CPU_ROW])
    assert result.tolist() == [[50], [25]]
