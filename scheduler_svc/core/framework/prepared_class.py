"""A class of Pods made ready: what PreFilter and PreScore have left to be asked for each Node."""

from scheduler_svc.core.framework.interface import (
    ClusterScorePlugin,
    FilterPlugin,
    ScorePlugin,
    State,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Status


class PreparedClass:
    """What remains to be asked for each Node.

    `rejection` is set when PreFilter turned the class away. `node_names` are the only Nodes
    possible, None for all; `node_names_status` is what all others get, and `restricting`
    names the plugins that left them out.
    """

    __slots__ = (
        "filters",
        "node_names",
        "node_names_status",
        "pod",
        "rejection",
        "restricting",
        "scores",
    )

    def __init__(self, pod: PodInfo) -> None:
        self.pod = pod
        self.filters: list[tuple[FilterPlugin, State]] = []
        self.scores: list[tuple[ScorePlugin | ClusterScorePlugin, State, int]] = []
        self.node_names: frozenset[str] | None = None
        self.node_names_status: Status | None = None
        self.restricting: tuple[str, ...] = ()
        self.rejection: Status | None = None

    def failure(self) -> Status | None:
        """Give what went wrong while the Nodes were filtered: it ends the attempt."""
        for plugin, state in self.filters:
            status = plugin.failure(state)
            if status is not None:
                return Status(status.code, status.reasons, plugin.name)
        return None
