"""A class of Pods made ready: what PreFilter and PreScore have left to be asked for each Node."""

from collections.abc import Iterator, Sequence

from scheduler_svc.core.framework.interface import (
    ClusterScorePlugin,
    FilterPlugin,
    Plugin,
    ScorePlugin,
    State,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Status


class PreparedClass:
    """What remains to be asked for each Node.

    `rejection` is set when PreFilter turned the class away. `node_names` are the only Nodes
    possible, None for all; `node_names_status` is what all others get, and `restricting`
    names the plugins that left them out. `zero_scores` names those that give every Node a 0.
    `pre_filtered` names those that PreFilter came to before it turned the class away,
    `consulted` are PreFilter and PreScore plugins that did not skip, `use_count` is how many
    attempts it served.
    """

    __slots__ = (
        "_fallible",
        "consulted",
        "filters",
        "node_names",
        "node_names_status",
        "pod",
        "pre_filtered",
        "rejection",
        "restricting",
        "scores",
        "use_count",
        "zero_scores",
    )

    def __init__(self, pod: PodInfo) -> None:
        self.pod = pod
        self.filters: list[tuple[FilterPlugin, State]] = []
        self.scores: list[tuple[ScorePlugin | ClusterScorePlugin, State, int]] = []
        self.zero_scores: list[str] = []
        self.node_names: frozenset[str] | None = None
        self.node_names_status: Status | None = None
        self.restricting: tuple[str, ...] = ()
        self.rejection: Status | None = None
        self.pre_filtered: set[str] = set()
        self.consulted: list[tuple[str, str]] = []
        self.use_count = 0
        # Most plugins cannot fail, or not with this class: which can is found out once.
        self._fallible: Sequence[tuple[Plugin, State]] | None = None

    def evaluations(self) -> Iterator[tuple[str, str]]:
        """Give each plugin that had a say in an attempt of the class, and its extension point."""
        yield from self.consulted
        yield from ((plugin.name, "Filter") for plugin, _ in self.filters)
        yield from ((plugin.name, "Score") for plugin, _, _ in self.scores)

    def failure(self) -> Status | None:
        """Give what went wrong while the Nodes were judged: it ends the attempt."""
        if self._fallible is None:
            asked = (*self.filters, *((plugin, state) for plugin, state, _ in self.scores))
            self._fallible = [(p, state) for p, state in asked if p.may_fail(state)]
        for plugin, state in self._fallible:
            status = plugin.failure(state)
            if status is not None:
                return Status(status.code, status.reasons, plugin.name)
        return None
