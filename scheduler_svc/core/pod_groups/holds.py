"""Room that is kept for groups: for one that has waited too long, and for members that were lost.

Room is kept by nominating Pods: those of lower and of equal priority leave it free, those of higher
priority do not. There are two reasons, both for a limited time:

* The group at the head of those that do not fit (highest priority, then longest) has been there
  for `head_seconds`. Small Pods would take what comes free before there is enough of it, for
  ever. One group at a time; after `hold_seconds`, or its own scheduleTimeoutSeconds, it goes
  to the end.
* A member of a group that runs is being deleted, and too few are left. Its place is kept for
  `hold_seconds`, so that who replaces it comes before others of the same priority that wait. One
  that is gone at once may have been killed, or have succeeded: no event tells which. Its place is
  kept for `UNSEEN_END_SECONDS` at most, long enough for a controller to replace it.

See k/k and volcano#5805 in `docs/pod-groups.md`. Times are monotonic seconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

import msgspec

from scheduler_svc.core.clock import Now
from scheduler_svc.core.group_objects import GroupName
from scheduler_svc.core.nominations import Nominations
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue.heap import KeyedHeap

UNSEEN_END_SECONDS: Final = 15.0
"""How long the place is kept of a member that nobody has seen being deleted."""
LONGEST_HOLD_SECONDS: Final = 900.0
"""However long a group asks for: a Pod's plugins may let it wait at Permit for as long."""
_PLACE: Final = "place of "


class GroupTiming(msgspec.Struct, frozen=True):
    """How long a group waits at the head before room is kept for it, and how long that is kept."""

    head_seconds: float = 60.0
    hold_seconds: float = 60.0


class _Waiting(msgspec.Struct):
    """A group that does not fit, its priority, and its place in line among those of the same."""

    name: GroupName
    priority: int
    order: int


class _Hold(msgspec.Struct):
    """Whose room is kept, by uid, and until when; `priority` is the group's in the line."""

    pods: dict[str, PodInfo]
    until_seconds: float
    priority: int


class _Place(msgspec.Struct):
    """The place of a lost member, and until when it is kept; None: from the next look on."""

    pod: PodInfo
    until_seconds: float | None


_NO_PLACES: Final[Mapping[str, _Place]] = {}


class Holds:
    """All room that is kept for groups.

    `head` is the group that is next, since `head_since_seconds`; `nominations` are those of all
    Pods.
    """

    def __init__(self, nominations: Nominations, timing: GroupTiming) -> None:
        self.nominations = nominations
        self._nominator = nominations.nominator
        self._timing = timing
        self._line: KeyedHeap[_Waiting] = KeyedHeap(lambda w: (-w.priority, w.order))
        self._order = 0
        self._held: tuple[GroupName, _Hold] | None = None
        self._places: dict[GroupName, dict[str, _Place]] = {}
        self.head: GroupName | None = None
        self.head_since_seconds = 0.0

    @property
    def held_group(self) -> GroupName | None:
        """The group that room is kept for since it waits; None if there is none."""
        return None if self._held is None else self._held[0]

    @property
    def waiting_count(self) -> int:
        """How many groups do not fit."""
        return len(self._line) + (self._held is not None)

    @property
    def held_count(self) -> int:
        """For how many groups room is kept."""
        return len(self._places) + (self._held is not None)

    def keeps_room_for(self, name: GroupName) -> bool:
        """Whether any room is kept for the group."""
        return name in self._places or self.held_group == name

    def kept_rows(self, name: GroupName, rows: Mapping[str, int]) -> list[int]:
        """Give the rows of the places that lost members had; `rows` is by Node."""
        kept = self._places.get(name, _NO_PLACES).values()
        return [rows[p.pod.node_name] for p in kept if p.pod.node_name in rows]

    def wait(self, name: GroupName, priority: int, now: Now) -> None:
        """Take in that a group does not fit."""
        if self.held_group == name:
            return
        waiting = self._line.get(_key(name))
        if waiting is None:
            self._line_up(name, priority)
        elif waiting.priority != priority:
            waiting.priority = priority
            self._line.push(_key(name), waiting)
        self._choose_head(now)

    def _line_up(self, name: GroupName, priority: int) -> None:
        self._order += 1
        self._line.push(_key(name), _Waiting(name, priority, self._order))

    def leave(self, name: GroupName, now: Now) -> None:
        """Take in that a group needs no room kept: it has been placed, or is gone."""
        self.stop_waiting(name, now)
        self.give_places_up(name, now)

    def give_places_up(self, name: GroupName, now: Now) -> None:
        """Keep the places of lost members no more."""
        places = self._places.pop(name, _NO_PLACES)
        self._release([place.pod for place in places.values()], now)

    def stop_waiting(self, name: GroupName, now: Now) -> None:
        """Take in that nobody of a group waits any more; the places of lost members are kept."""
        self._line.remove(_key(name))
        if self._held is not None and self._held[0] == name:
            held, self._held = self._held[1], None
            self._release(held.pods.values(), now)
        self._choose_head(now)

    def _choose_head(self, now: Now) -> None:
        first = self._line.peek()
        head = None if first is None else first.name
        if head != self.head:
            self.head, self.head_since_seconds = head, now.monotonic_seconds

    def due_group(self, now: Now) -> GroupName | None:
        """Give the group that is to have room kept now; None if none is."""
        due_seconds = self._head_deadline()
        if due_seconds is None or now.monotonic_seconds < due_seconds:
            return None
        return self.head

    def _head_deadline(self) -> float | None:
        if self.head is None or self._held is not None:
            return None
        return self.head_since_seconds + self._timing.head_seconds

    def hold(
        self,
        name: GroupName,
        priority: int,
        places: Sequence[tuple[PodInfo, str]],
        limit_seconds: int | None,
        now: Now,
    ) -> None:
        """Keep room for a group that is due: for each of the Pods on the Node named with it.

        Without any, since no Nodes would do, the group only goes to the end. `limit_seconds` is
        what the group says itself.
        """
        self._line.remove(_key(name))
        # Even if it is the only one it waits as long again.
        self.head = None
        if places:
            seconds = self._timing.hold_seconds
            if limit_seconds is not None and limit_seconds > 0:
                seconds = min(limit_seconds, LONGEST_HOLD_SECONDS)
            kept = {pod.uid: pod for pod, _ in places}
            self._held = (name, _Hold(kept, now.monotonic_seconds + seconds, priority))
            for pod, node_name in places:
                self.nominations.set(pod, node_name, now)
        else:
            self._line_up(name, priority)
        self._choose_head(now)

    def keep_place(self, pod: PodInfo, name: GroupName, now: Now) -> None:
        """Keep the place of a member that is being deleted, or is gone, for who replaces it."""
        seconds = self._timing.hold_seconds
        if not pod.is_terminating:
            seconds = min(seconds, UNSEEN_END_SECONDS)
        place = msgspec.structs.replace(pod, uid=f"{_PLACE}{pod.uid}", is_terminating=False)
        places = self._places.setdefault(name, {})
        places[place.uid] = _Place(place, now.monotonic_seconds + seconds)
        self.nominations.set(place, pod.node_name, now)

    def keep_room(self, pod: PodInfo, node_name: str, name: GroupName) -> None:
        """Keep the place of a member that has not got to its Node, until it is tried again."""
        place = msgspec.structs.replace(pod, uid=f"{_PLACE}{pod.uid}", node_name=node_name)
        self._places.setdefault(name, {})[place.uid] = _Place(place, None)
        self._nominator.nominate(place, node_name)

    def withdraw(self, uids: Iterable[str], name: GroupName) -> dict[str, tuple[PodInfo, str]]:
        """Drop what is kept for a group for a moment, so that it is not in its own way.

        `uids` are those of members. Gives what `restore` needs: by uid, Pod and Node.
        """
        nominator = self._nominator
        every = [*uids, *self._places.get(name, _NO_PLACES)]
        dropped: dict[str, tuple[PodInfo, str]] = {}
        for uid in every:
            pod = nominator.nominated(uid)
            if pod is not None:
                dropped[uid] = (pod, nominator.forget(uid))
        return dropped

    def restore(self, dropped: Mapping[str, tuple[PodInfo, str]]) -> None:
        """Keep again what was withdrawn."""
        for pod, node_name in dropped.values():
            self._nominator.nominate(pod, node_name)

    def expire(self, now: Now) -> None:
        """Give up room that has been kept for long enough."""
        seconds = now.monotonic_seconds
        if self._held is not None and self._held[1].until_seconds <= seconds:
            name, hold = self._held
            self._held = None
            self._release(hold.pods.values(), now)
            self._line_up(name, hold.priority)
            self._choose_head(now)
        for name, places in list(self._places.items()):
            over = [uid for uid, place in places.items() if self._is_over(place, seconds)]
            self._release([places.pop(uid).pod for uid in over], now)
            if not places:
                del self._places[name]

    def _is_over(self, place: _Place, now_seconds: float) -> bool:
        if place.until_seconds is None:
            place.until_seconds = now_seconds + self._timing.hold_seconds
        return place.until_seconds <= now_seconds

    def next_deadline(self) -> float | None:
        """Give the second at which a group is due, or room has been kept for long enough."""
        kept = chain.from_iterable(places.values() for places in self._places.values())
        deadlines = [place.until_seconds or 0.0 for place in kept]
        if self._held is not None:
            deadlines.append(self._held[1].until_seconds)
        head = self._head_deadline()
        if head is not None:
            deadlines.append(head)
        return min(deadlines, default=None)

    def _release(self, pods: Iterable[PodInfo], now: Now) -> None:
        for pod in pods:
            self.nominations.end(pod, now)


def _key(name: GroupName) -> str:
    return f"{name.api}/{name.key}"
