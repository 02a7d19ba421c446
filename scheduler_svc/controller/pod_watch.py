"""The watch of Pods that are members of groups, for as long as groups are served."""

from collections.abc import Callable

from kubeio.changes import ReflectorStatistics
from kubeio.client import KubeClient
from kubeio.reflector import Reflector
from kubeio.source import DEFAULT_TIMING, Timing
from scheduler_svc.controller.pod_groups.members import Member, MemberIndex, members_query


class PodWatch:
    """Feeds the index of members.

    Parameters
    ----------
    on_begin
        Called before a list begins from nothing: the index is empty then, and wrong.
    """

    def __init__(
        self,
        client: KubeClient,
        members: MemberIndex,
        on_begin: Callable[[], None],
        *,
        seed: int,
        timing: Timing = DEFAULT_TIMING,
    ) -> None:
        self._client = client
        self._members = members
        self._on_begin = on_begin
        self._seed = seed
        self._timing = timing
        self.reflector: Reflector[Member] | None = None

    @property
    def statistics(self) -> ReflectorStatistics | None:
        """What the watch has lived through; None while there is none."""
        return None if self.reflector is None else self.reflector.statistics

    async def run(self, *, with_built_in: bool) -> None:
        """Watch until cancelled."""
        self._on_begin()
        self._members.clear()
        self.reflector = Reflector(
            self._client,
            members_query(with_built_in=with_built_in),
            self._members.deliver,
            timing=self._timing,
            seed=self._seed,
        )
        try:
            await self.reflector.run()
        finally:
            self.reflector = None
