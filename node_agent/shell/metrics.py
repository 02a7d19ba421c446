"""What a scrape shows of the shadow, computed from the core at that moment."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

from prometheus_client import Metric

from kubeio.instruments import counter, gauge
from node_agent.core.agent import NodeAgent
from node_agent.core.operations import is_static
from node_agent.core.pod_workers import WorkerState
from node_agent.shell import metric_table as table
from node_agent.shell.pod_source import PodSource, RefusedManifests
from node_agent.shell.sync_loop import SyncLoop

_LIFECYCLES: Final = (WorkerState.SYNC, WorkerState.TERMINATING, WorkerState.TERMINATED)
_CONFIGS: Final = ("desired", "orphan")
_STATIC: Final = ("", "true")


class SourceMetrics:
    """Whether each source is heard of, how old its list is, and what it refuses."""

    def __init__(
        self,
        agent: NodeAgent,
        loop: SyncLoop,
        sources: Sequence[PodSource],
        refused: Mapping[str, RefusedManifests],
    ) -> None:
        self._agent = agent
        self._loop = loop
        self._sources = sources
        self._refused = refused

    def collect(self) -> list[Metric]:
        """Give the families."""
        config = self._agent.config
        unready = config.unready_sources
        errors: dict[tuple[str, str], int] = {}
        refused: dict[tuple[str, str], int] = {}
        for name, manifests in self._refused.items():
            for reason, count in manifests.counts.items():
                errors[name, reason] = count
            for refusal in manifests.by_place.values():
                labels = (name, refusal.reason.value)
                refused[labels] = refused.get(labels, 0) + 1
        return [
            gauge(
                table.SOURCE_READY,
                [((name.value,), float(name not in unready)) for name in config.sources],
            ),
            gauge(
                table.SOURCE_PROBLEM,
                [((one.source.value,), float(one.problem() is not None)) for one in self._sources],
            ),
            gauge(
                table.SOURCE_LAST_UPDATE,
                [
                    ((name.value,), received.wall_seconds)
                    for name, received in self._loop.last_updates.items()
                ],
            ),
            gauge(
                table.SOURCE_PODS,
                [((name.value,), sum(1 for _ in config.pods(name))) for name in config.sources],
            ),
            counter(table.MANIFEST_ERRORS, errors.items()),
            gauge(table.MANIFESTS_REFUSED, refused.items()),
        ]


class ShadowMetrics:
    """The workers and mirrors that the kubelet is likely to have."""

    def __init__(self, agent: NodeAgent) -> None:
        self._agent = agent

    def collect(self) -> list[Metric]:
        """Give the families."""
        known = self._agent.known
        working = {
            (state.value, config, static): 0
            for state, config, static in product(_LIFECYCLES, _CONFIGS, _STATIC)
        }
        for uid, worker in self._agent.workers.workers.items():
            # As in the kubelet, one that waits to start is meant to sync.
            is_waiting = worker.state is WorkerState.WAITING
            state = WorkerState.SYNC if is_waiting else worker.state
            config = _CONFIGS[known.pod(uid) is None]
            working[state.value, config, _STATIC[is_static(worker.pod)]] += 1
        mirrors = sum(1 for _ in known.mirrors())
        orphans = sum(1 for _ in known.orphan_mirrors())
        return [
            gauge(table.WORKING_PODS, working.items()),
            gauge(table.MIRROR_PODS, [(("paired",), mirrors - orphans), (("orphan",), orphans)]),
        ]
