"""Which tolerations accept which taints."""

import pytest

from scheduler_svc.core.objects import Taint, Toleration
from scheduler_svc.core.taints import is_tolerated, keeps_away, tolerates

TAINT = Taint("team", "NoSchedule", "x")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration("team", "Equal", "x", "NoSchedule"), True),
        (Toleration("team", "", "x", "NoSchedule"), True),
        (Toleration("team", "Equal", "y", "NoSchedule"), False),
        (Toleration("team", "Equal", "", "NoSchedule"), False),
        (Toleration("team", "Exists", "", "NoSchedule"), True),
        (Toleration("team", "Exists", "ignored", "NoSchedule"), True),
        (Toleration("team", "Exists", "", ""), True),
        (Toleration("team", "Exists", "", "NoExecute"), False),
        (Toleration("other", "Exists", "", "NoSchedule"), False),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", "", "PreferNoSchedule"), False),
        (Toleration("team", "Gt", "x", "NoSchedule"), False),
        (Toleration("team", "Lt", "x", "NoSchedule"), False),
    ],
)
def test_one_toleration(toleration: Toleration, expected: bool) -> None:
    assert tolerates(toleration, TAINT) is expected


def test_any_toleration_will_do() -> None:
    other, right = Toleration("other", "Exists"), Toleration("team", "Exists")
    assert is_tolerated(TAINT, [other, right])
    assert not is_tolerated(TAINT, [other])
    assert not is_tolerated(TAINT, [])


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ([], False),
        (["PreferNoSchedule"], False),
        (["NoSchedule"], True),
        (["NoExecute"], True),
        (["PreferNoSchedule", "NoExecute"], True),
    ],
)
def test_which_effects_keep_away(effects: list[str], expected: bool) -> None:
    taints = [Taint("team", effect) for effect in effects]
    assert keeps_away(taints, ()) is expected
    assert not keeps_away(taints, (Toleration("team", "Exists"),))
