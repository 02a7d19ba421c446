"""Pods enter the queue past the PreEnqueue plugins of their profile."""

from collections.abc import Sequence
from typing import Self

import pytest

from scheduler_svc.core import pre_enqueue
from scheduler_svc.core.framework.interface import Plugin, PreEnqueuePlugin
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.plugins.priority_sort import PrioritySort
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.pre_enqueue import MEASURED_ENTRIES, PreEnqueueCheck
from scheduler_svc.core.queue import Gate
from scheduler_svc.core.status import SUCCESS, Code, Status
from tests.builders import make_pod_info
from tests.scripted_plugins import named


class Measured:
    """Notes what is measured, by a clock that stands still."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, ...]] = []

    def begin(self, profile: str) -> Self:
        self.notes.append((profile,))
        return self

    def read(self) -> float:
        return 0.0

    def note(
        self, extension_point: str, plugin: str, seconds: float, status: str = "Success"
    ) -> None:
        self.notes.append((extension_point, plugin, status))

    def note_hint(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        self.notes.append((plugin, event, hint))

    def finish(self) -> None:
        self.notes.append(("finished",))


class Entering(PreEnqueuePlugin):
    """PreEnqueue with a fixed answer."""

    def __init__(self, status: Status = SUCCESS) -> None:
        self.status = status

    def pre_enqueue(self, pod: PodInfo) -> Status:
        return self.status


def check(measured: Measured | None, *statuses: Status) -> PreEnqueueCheck:
    plugins = [named(f"P{number}", Entering)(status) for number, status in enumerate(statuses)]
    points: dict[str, Sequence[Plugin]] = {"queueSort": [PrioritySort()], "preEnqueue": plugins}
    return PreEnqueueCheck({"berthmaster": Profile("berthmaster", points, {})}, measured)


def test_the_first_refusal_counts() -> None:
    waits = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("waits",))
    assert check(None, SUCCESS, SUCCESS)(make_pod_info()) is None
    refused = check(None, SUCCESS, waits, Status(Code.ERROR))(make_pod_info())
    assert refused == Gate("P1", "waits")


def test_all_that_were_asked_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pre_enqueue, "MEASURED_ENTRIES", 1)
    measured = Measured()
    check(measured, SUCCESS, Status(Code.PENDING), SUCCESS)(make_pod_info())
    assert measured.notes == [
        ("berthmaster",),
        ("PreEnqueue", "P0", "Success"),
        ("PreEnqueue", "P1", "Pending"),
        ("finished",),
    ]


def test_one_pod_in_ten_is_measured() -> None:
    measured = Measured()
    entering = check(measured, SUCCESS)
    for number in range(25):
        entering(make_pod_info(f"p{number}"))
    assert measured.notes.count(("finished",)) == 2
    assert MEASURED_ENTRIES == 10
