"""Sorted as Go sorts: what is expected was given by Go's own `sort.Slice` (1.26)."""

import json
import zlib
from collections.abc import Callable

import pytest

from scheduler_svc.core.preemption.go_sort import go_sorted

INPUTS: dict[str, tuple[int, Callable[[int], int]]] = {
    "up": (60, lambda i: i),
    "down": (60, lambda i: -i),
    "same": (40, lambda i: 0),
    "organ pipe": (100, lambda i: min(i, 100 - i)),
    "few": (200, lambda i: i * 7919 % 5),
    "mixed": (300, lambda i: i * 7919 % 101),
    "nearly in order": (80, lambda i: i if i % 31 else 80 - i),
    "short": (13, lambda i: i * 5 % 13 // 2),
    "saw": (120, lambda i: i % 10),
}


@pytest.mark.parametrize(
    ("name", "stable", "restless"),
    [
        ("up", 239880253, 239880253),
        ("down", 2053785743, 2053785743),
        ("same", 1839179499, 3048186482),
        ("organ pipe", 3080064585, 1191852498),
        ("few", 3114019437, 3751713871),
        ("mixed", 3193502066, 1661147939),
        ("nearly in order", 114423088, 1745168326),
        ("short", 2235316947, 2471023749),
        ("saw", 410992827, 1869539401),
    ],
)
def test_the_order_is_that_of_go(name: str, stable: int, restless: int) -> None:
    """`restless`: of even keys that tie each is less than the other, so that there is no order."""
    count, key = INPUTS[name]

    def less(i: int, j: int) -> bool:
        return key(i) < key(j)

    def restless_less(i: int, j: int) -> bool:
        return key(i) < key(j) or (key(i) == key(j) and key(i) % 2 == 0)

    for compare, expected in ((less, stable), (restless_less, restless)):
        order = go_sorted(list(range(count)), compare)
        assert zlib.crc32(json.dumps(order).encode()) == expected


@pytest.mark.parametrize("count", [0, 1, 12, 13, 49, 50, 400, 3000])
def test_the_worst_input_is_sorted_as_well(count: int) -> None:
    """What is compared is decided as late as can be, so that each pivot is a bad one."""
    undecided = count
    values = [undecided] * count
    decided = candidate = 0

    def less(i: int, j: int) -> bool:
        nonlocal decided, candidate
        if values[i] == values[j] == undecided:
            values[i if i == candidate else j] = decided
            decided += 1
        if values[i] == undecided:
            candidate = i
        elif values[j] == undecided:
            candidate = j
        return values[i] < values[j]

    order = go_sorted(list(range(count)), less)
    assert sorted(order) == list(range(count))
    found = [values[i] for i in order]
    assert found == sorted(found)
    again = go_sorted(list(range(count)), lambda i, j: values[i] < values[j])
    assert [values[i] for i in again] == found
