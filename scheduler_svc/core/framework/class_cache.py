"""Evaluations of classes of Pods, kept from cycle to cycle, bounded in bytes."""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Final

import msgspec

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.cluster_evaluation import ClassEvaluation, evaluation_of
from scheduler_svc.core.framework.prepared import PreparedClass, prepare
from scheduler_svc.core.framework.profile import ClassKey, Profile
from scheduler_svc.core.framework.stopwatch import Stopwatch
from scheduler_svc.core.pods import PodInfo

DEFAULT_MAX_BYTES: Final = 96 * 1024 * 1024
_SIZED_EVERY: Final = 64


class ClassCacheStatistics(msgspec.Struct, frozen=True):
    """How many classes are kept, in how many bytes, and how often one was found."""

    class_count: int
    size_bytes: int
    hit_count: int
    miss_count: int


class ClassCache:
    """The evaluations of one profile, least recently used out.

    Preparations name resources by row, so all are dropped when a resource appears that
    no Node or Pod had before.
    """

    def __init__(
        self, profile: Profile, cluster: Cluster, *, max_bytes: int = DEFAULT_MAX_BYTES
    ) -> None:
        self._profile = profile
        self._cluster = cluster
        self._columns = cluster.columns
        self._max_bytes = max_bytes
        self._evaluations: OrderedDict[ClassKey, ClassEvaluation] = OrderedDict()
        self._resource_count = 0
        # Adding up all sizes would cost more than it is worth: all have the columns' length.
        self._largest_bytes = 0
        self._hit_count = self._miss_count = 0
        self._plugin_evaluations: Counter[tuple[str, str]] = Counter()

    def evaluation(self, pod: PodInfo, stopwatch: Stopwatch | None = None) -> ClassEvaluation:
        """Give the evaluation of the Pod's class, up to date with the columns."""
        resource_count = len(self._columns.allocatable)
        if resource_count != self._resource_count:
            self._count_uses()
            self._evaluations.clear()
            self._resource_count = resource_count
        key = self._profile.class_key(pod, self._cluster)
        evaluation = self._evaluations.get(key)
        if evaluation is not None:
            self._hit_count += 1
            self._evaluations.move_to_end(key)
            # States grow slowly, and to ask all plugins of theirs costs a tenth of a decision.
            is_sized = self._hit_count % _SIZED_EVERY == 0
        else:
            self._miss_count += 1
            is_sized = True
            evaluation = evaluation_of(prepare(self._profile, pod, self._cluster, stopwatch))
            self._evaluations[key] = evaluation
        evaluation.refresh(self._columns, stopwatch)
        prepared = evaluation.prepared
        prepared.use_count += 1
        if prepared.failure() is not None:
            # Judged only in part; the next attempt begins from scratch.
            self._count_use(prepared)
            del self._evaluations[key]
        if is_sized:
            self._largest_bytes = max(self._largest_bytes, evaluation.size_bytes)
            while len(self._evaluations) * self._largest_bytes > self._max_bytes:
                _, dropped = self._evaluations.popitem(last=False)
                self._count_use(dropped.prepared)
        return evaluation

    def drain_plugin_evaluations(self) -> Mapping[tuple[str, str], int]:
        """Give how many attempts each plugin had a say in since the last call.

        By (plugin, extension point), and whether or not it had to be asked anew. O(classes).
        """
        self._count_uses()
        counts, self._plugin_evaluations = self._plugin_evaluations, Counter()
        return counts

    def _count_uses(self) -> None:
        for evaluation in self._evaluations.values():
            self._count_use(evaluation.prepared)

    def _count_use(self, prepared: PreparedClass) -> None:
        if prepared.use_count:
            for evaluated in prepared.evaluations():
                self._plugin_evaluations[evaluated] += prepared.use_count
            prepared.use_count = 0

    def statistics(self) -> ClassCacheStatistics:
        """Give the counts so far."""
        return ClassCacheStatistics(
            class_count=len(self._evaluations),
            size_bytes=sum(e.size_bytes for e in self._evaluations.values()),
            hit_count=self._hit_count,
            miss_count=self._miss_count,
        )
