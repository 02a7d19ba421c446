"""Pulls are read from the texts that kubelet 1.36.3 writes."""

import pytest

from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.marks import MarkKind
from node_agent.core.journey.pulls import (
    KubeletEvent,
    Pull,
    bound_mark,
    first_pulls,
    go_duration_nanoseconds,
    images_pulled,
    kubelet_event,
    pull_nanoseconds,
)
from tests.unit.node_agent.core.journey.stages import nanoseconds, stamp

WAITED = (
    'Successfully pulled image "nginx:1.29" in 1.234s (2.5s including waiting). '
    "Image size: 72324501 bytes."
)
PRESENT = 'Container image "nginx:1.29" already present on machine and can be accessed by the pod'


def pulled(container: str, seconds: float, message: str = WAITED) -> KubeletEvent:
    return kubelet_event("Pulled", message, f"spec.containers{{{container}}}", stamp(seconds))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0s", 0),
        ("345ms", 345_000_000),
        ("1.5s", 1_500_000_000),
        ("1m2.5s", 62_500_000_000),
        ("2h0m0.000000001s", 7_200_000_000_001),
        ("12µs", 12_000),
        ("12us", 12_000),
        ("7ns", 7),
        ("1.25ms", 1_250_000),
        ("", None),
        ("1", None),
        ("-1s", None),
        ("1.s", None),
        ("1s ago", None),
    ],
)
def test_durations_as_go_writes_them(text: str, expected: int | None) -> None:
    assert go_duration_nanoseconds(text) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (WAITED, 2_500_000_000),
        ('Successfully pulled image "a" in 42ms', 42_000_000),
        ('Successfully pulled image "a" in a while', 0),
        (PRESENT, 0),
        ("", 0),
    ],
)
def test_how_long_a_pull_took(message: str, expected: int) -> None:
    assert pull_nanoseconds(message) == expected


@pytest.mark.parametrize(
    ("field_path", "container"),
    [
        ("spec.containers{app}", "app"),
        ("spec.initContainers{init}", "init"),
        ("spec.ephemeralContainers{debug}", "debug"),
        ("", ""),
        ("spec", ""),
    ],
)
def test_which_container_an_event_is_about(field_path: str, container: str) -> None:
    event = kubelet_event("Started", "m", field_path, stamp(3))
    assert event == KubeletEvent("Started", "m", container, nanoseconds(3))


def test_the_first_pull_of_each_container() -> None:
    events = [
        pulled("b", 9, PRESENT),
        pulled("a", 7),
        pulled("b", 5),
        kubelet_event("Pulling", "x", "spec.containers{c}", stamp(1)),
        kubelet_event("Pulled", WAITED, "spec.containers{d}", None),
    ]
    assert first_pulls(events) == {
        "a": Pull(nanoseconds(7), 5 * NANOSECONDS // 2, "a"),
        "b": Pull(nanoseconds(5), 5 * NANOSECONDS // 2, "b"),
    }


def test_images_are_there_once_each_container_has_its_own() -> None:
    pulls = first_pulls([pulled("a", 7), pulled("b", 5)])
    expected = {MarkKind.IMAGES_PULLED_EVENTS: nanoseconds(7)}
    assert images_pulled(pulls, ("a", "b")) == expected
    assert images_pulled(pulls, ("a", "b", "c")) == {}
    assert images_pulled(pulls, ()) == {}


def test_the_event_of_a_binding_tells_microseconds() -> None:
    coarse = kubelet_event("Scheduled", "m", "", stamp(1))
    fine = kubelet_event("Scheduled", "m", "", None, "2026-06-01T12:00:01.250001Z")
    assert bound_mark([pulled("a", 1), coarse]) == {}
    assert bound_mark([coarse, fine]) == {MarkKind.BOUND_EVENTS: nanoseconds(1.250001)}
