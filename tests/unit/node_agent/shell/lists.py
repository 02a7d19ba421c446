"""Takes what a source hands over."""

import asyncio

from node_agent.core.events import PodsListed
from tests.faultproxy import wait_until

SECONDS = 20.0


class Lists:
    """All lists so far, as the names of their Pods; `emit` is given to a source."""

    def __init__(self) -> None:
        self.events: list[PodsListed] = []

    async def emit(self, event: PodsListed) -> None:
        self.events.append(event)

    @property
    def names(self) -> list[list[str]]:
        """The names of the Pods of each list."""
        return [[pod.metadata.name for pod in event.pods] for event in self.events]

    def last_images(self) -> dict[str, str]:
        """Give the images of the last list by the name of their Pod."""
        return {pod.metadata.name: pod.spec.containers[0].image for pod in self.events[-1].pods}

    async def wait_for(self, *names: str) -> None:
        """Wait until the last list has exactly these Pods."""
        expected = sorted(names)
        await wait_until(
            lambda: self.events and sorted(self.names[-1]) == expected,
            what=f"a list of {expected}; lists so far: {self.names}",
            deadline_seconds=SECONDS,
        )


async def stop(task: asyncio.Task[None]) -> None:
    """End a source's task; whatever it raised fails the test."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled():
        task.result()
