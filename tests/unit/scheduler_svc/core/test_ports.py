"""Host ports: who conflicts with whom, counted for each Node."""

import numpy as np
import pytest

from scheduler_svc.core.pods import HostPort
from scheduler_svc.core.ports import EVERY_ADDRESS, PortIndex, conflicts

HTTP: HostPort = ("TCP", 80, EVERY_ADDRESS)
HTTP_A: HostPort = ("TCP", 80, "10.0.0.1")
HTTP_B: HostPort = ("TCP", 80, "10.0.0.2")
HTTPS: HostPort = ("TCP", 443, EVERY_ADDRESS)
UDP: HostPort = ("UDP", 80, EVERY_ADDRESS)


def is_free(index: PortIndex, *wanted: HostPort, rows: int = 3) -> list[bool]:
    mask = index.free(wanted, slice(0, rows))
    return [True] * rows if mask is None else mask.tolist()


@pytest.mark.parametrize(
    ("wanted", "held", "expected"),
    [
        (HTTP, HTTP, True),
        (HTTP, HTTP_A, True),
        (HTTP_A, HTTP, True),
        (HTTP_A, HTTP_A, True),
        (HTTP_A, HTTP_B, False),
        (HTTP, HTTPS, False),
        (HTTP, UDP, False),
    ],
)
def test_conflicts(wanted: HostPort, held: HostPort, expected: bool) -> None:
    assert conflicts([wanted], [held]) is expected
    assert conflicts(iter([HTTPS, wanted]), iter([UDP, held])) is (expected or held == HTTPS)
    index = PortIndex(1)
    index.add(0, [held], 1)
    assert is_free(index, wanted, rows=1) == [not expected]


def test_nothing_wanted_or_held_is_free_everywhere() -> None:
    index = PortIndex(3)
    assert index.free([HTTP], slice(0, 3)) is None
    index.add(0, [HTTP], 1)
    assert index.free([], slice(0, 3)) is None
    assert index.free([HTTPS], slice(0, 3)) is None


def test_a_node_must_have_all_ports_free() -> None:
    index = PortIndex(3)
    index.add(0, [HTTP], 1)
    index.add(1, [HTTPS], 1)
    assert is_free(index, HTTP, HTTPS) == [False, False, True]
    assert is_free(index, HTTP_A) == [False, True, True]
    mask = index.free([HTTP, HTTPS], np.array([2, 0]))
    assert mask is not None
    assert mask.tolist() == [True, False]


def test_a_port_that_two_pods_share_is_free_when_both_are_gone() -> None:
    index = PortIndex(1)
    index.add(0, [HTTP], 1)
    index.add(0, [HTTP], 1)
    assert index.held(0) == {HTTP: 2}
    index.add(0, [HTTP], -1)
    assert is_free(index, HTTP_A, rows=1) == [False]
    index.add(0, [HTTP], -1)
    assert is_free(index, HTTP_A, rows=1) == [True]
    assert index.held(0) == {}


def test_a_port_that_is_forgotten_is_free_whoever_holds_it() -> None:
    index = PortIndex(2)
    before = index.forgotten
    for row in (0, 0, 1):
        index.add(row, [HTTP_A], 1)
    index.forget(0, [HTTP_A], -1)
    assert is_free(index, HTTP_A, rows=2) == [True, False]
    # At all addresses: there the other one's is still taken.
    assert is_free(index, HTTP, rows=2) == [True, False]
    index.add(0, [HTTP], 1)
    assert is_free(index, HTTP, rows=2) == [False, False]
    assert is_free(index, HTTP_A, rows=2) == [False, False]
    index.add(0, [HTTP], -1)
    index.forget(0, [HTTP_A], 1)
    assert is_free(index, HTTP_A, rows=2) == [False, False]
    index.forget(0, [HTTP_A], -1)
    index.restore(before)
    assert is_free(index, HTTP_A, rows=2) == [False, False]


def test_the_index_grows() -> None:
    index = PortIndex(1)
    index.add(0, [HTTP_A], 1)
    index.grow(3)
    index.add(2, [HTTP_B, UDP], 1)
    assert is_free(index, HTTP) == [False, True, False]
    assert index.held(0) == {HTTP_A: 1}
    assert index.held(2) == {HTTP_B: 1, UDP: 1}
