"""The one task that owns the core: lists go in, reports go out, deadlines are kept.

Like the kubelet's sync loop it takes one list at a time. After a slice of work it lets the
event loop run, so that probes and watches never wait longer.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from node_agent.core.agent import NodeAgent
from node_agent.core.clock import Now
from node_agent.core.events import PodsListed
from node_agent.core.operations import Source
from node_agent.shell.clock import read_now
from node_agent.shell.journal import Journal
from node_agent.shell.update_channel import UpdateChannel

SLICE_SECONDS: Final = 0.005
_SHORTEST_WAIT_SECONDS: Final = 0.001
_STORY_LENGTH: Final = 20


class SyncLoop:
    """Drives a `NodeAgent`.

    Attributes
    ----------
    last_updates
        When each source's last list came in.
    last_round_at
        Monotonic second of the last look for work: a loop that hangs looks no more.
    """

    def __init__(
        self,
        agent: NodeAgent,
        channel: UpdateChannel,
        journal: Journal,
        *,
        read_now: Callable[[], Now] = read_now,
    ) -> None:
        self._agent = agent
        self._channel = channel
        self._journal = journal
        self._read_now = read_now
        self._recent: deque[PodsListed] = deque(maxlen=_STORY_LENGTH)
        self.last_updates: dict[Source, Now] = {}
        self.last_round_at = read_now().monotonic_seconds

    async def run(self) -> None:
        """Work until cancelled; raises what the core raises."""
        while True:
            if self.work():
                await asyncio.sleep(0)
                continue
            event = await self._channel.wait_and_take(self._seconds_to_deadline())
            if event is not None:
                self._handle(event)

    def work(self) -> bool:
        """Do one slice; tell whether something is left to do at once."""
        now = self._read_now()
        self.last_round_at = now.monotonic_seconds
        slice_end = now.monotonic_seconds + SLICE_SECONDS
        while now.monotonic_seconds < slice_end:
            event = self._channel.take()
            if event is None:
                break
            now = self._handle(event)
        deadline = self._agent.next_deadline()
        if deadline is not None and deadline <= now.monotonic_seconds:
            self._journal.note(self._agent.expire(now))
        return len(self._channel) > 0

    @property
    def story(self) -> str:
        """The last lists that were taken, the newest last: for the log of a failure."""
        return "; ".join(f"{one.source}: {len(one.pods)} Pods" for one in self._recent)

    def _handle(self, event: PodsListed) -> Now:
        begin = self._read_now()
        self._recent.append(event)
        self.last_updates[event.source] = event.received
        effects = self._agent.handle(event, begin)
        end = self._read_now()
        self._journal.handled(
            event.source, effects, end.monotonic_seconds - begin.monotonic_seconds
        )
        return end

    def _seconds_to_deadline(self) -> float | None:
        deadline = self._agent.next_deadline()
        if deadline is None:
            return None
        return max(deadline - self._read_now().monotonic_seconds, _SHORTEST_WAIT_SECONDS)
