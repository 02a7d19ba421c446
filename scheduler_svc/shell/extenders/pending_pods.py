"""The JSON of Pods that extenders will be asked about soon, as the watch told of them.

So they need not be read from the API server, which costs it more than all else that an extender
makes it do. Only so many are kept; who is not among them is read.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import msgspec

from kubeio.changes import Deleted, ReflectorEvent
from scheduler_svc.core.events import Event
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.shell.views.view import View

LIMIT: Final = 2_000
"""Some 10 MiB."""


class _Line(msgspec.Struct):
    object: msgspec.Raw


_decode: Final = msgspec.json.Decoder(_Line).decode


class PendingPods:
    """Keeps each Pod until it is asked about, bound or gone."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[str, bytes]] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def follow(
        self, view: View[PodInfo], is_asked_about: Callable[[PodInfo], bool]
    ) -> View[PodInfo]:
        """Give the view of Pods that keeps here those that are asked about."""

        def note(pod: PodInfo, line: bytes) -> None:
            if pod.node_name or not is_asked_about(pod):
                self._lines.pop(pod.uid, None)
            elif pod.uid in self._lines or len(self._lines) < LIMIT:
                self._lines[pod.uid] = (pod.resource_version, line)

        def to_event(change: ReflectorEvent[PodInfo]) -> Event | None:
            if isinstance(change, Deleted):
                self._lines.pop(change.uid, None)
            return view.to_event(change)

        return View(replace(view.query, note=note), to_event)

    def take(self, uid: str, version: str) -> msgspec.Raw | None:
        """Give a Pod in that very version, and keep it no longer; None if there is none."""
        kept = self._lines.pop(uid, None)
        return _decode(kept[1]).object if kept is not None and kept[0] == version else None
