"""The choice among the best Nodes."""

from collections import Counter

import numpy as np

from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.framework.select import select_row


def select(*totals: int, seed: int = 0, uid: str = "uid") -> int | None:
    return select_row(np.array(totals, dtype=np.int64), seed=seed, uid=uid)


def test_the_highest_total_wins() -> None:
    assert select(INFEASIBLE, 3, 7, 5) == 2
    assert select(INFEASIBLE, 0) == 1


def test_there_may_be_none() -> None:
    assert select(INFEASIBLE, INFEASIBLE) is None


def test_equals_are_chosen_by_seed_and_uid_alone() -> None:
    totals = (5, 9, INFEASIBLE, 9, 9)
    chosen = [select(*totals, seed=seed, uid=f"uid-{i}") for seed in range(3) for i in range(100)]
    again = [select(*totals, seed=seed, uid=f"uid-{i}") for seed in range(3) for i in range(100)]
    assert chosen == again
    assert set(chosen) == {1, 3, 4}
    assert chosen[:100] != chosen[100:200]


def test_equals_get_about_as_many_pods() -> None:
    counts = Counter(select(1, 1, 1, 1, uid=f"uid-{i}") for i in range(1000))
    # 250 each on average, with a standard deviation of 14.
    assert all(200 < count < 300 for count in counts.values())
