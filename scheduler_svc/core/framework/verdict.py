"""The whole answer about one class of Pods: every Node's status or scores, from scratch.

It asks the same plugins as an `Evaluation` and keeps nothing: for people, for
comparison with other schedulers, and as the yardstick of the patched evaluations.
"""

from collections.abc import Mapping

import msgspec
import numpy as np

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.clock import Now
from scheduler_svc.core.columns import Int64Array, NodeColumns, NodeView
from scheduler_svc.core.framework.diagnosis import Diagnosis, diagnose_all
from scheduler_svc.core.framework.evaluation import INFEASIBLE, TotalArray
from scheduler_svc.core.framework.interface import ClusterScorePlugin, NormalizedScorePlugin
from scheduler_svc.core.framework.nominated import RespectedPods, respected_pods
from scheduler_svc.core.framework.post_filter import (
    FailedAttempt,
    PostFilterResult,
    run_post_filters,
)
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status


class Verdict(msgspec.Struct, frozen=True):
    """Which Nodes are feasible, intp `(F,)`, with each plugin's share of the total, int64 `(F,)`.

    A share is the plugin's score, normalized where it is, times its weight. All other
    Nodes are in the `diagnosis`.
    """

    diagnosis: Diagnosis
    rows: RowArray
    shares: Mapping[str, Int64Array]
    totals: Int64Array

    @property
    def best_rows(self) -> RowArray:
        """All rows with the highest total."""
        if not len(self.rows):
            return self.rows
        best: RowArray = self.rows[self.totals == self.totals.max()]
        return best


def judge(
    prepared: PreparedClass, columns: NodeColumns, respected: RespectedPods | None = None
) -> Verdict:
    """Ask every plugin about every Node. O(plugins x N)."""
    diagnosis, rows = diagnose_all(prepared, columns, respected)
    shares, totals = score(prepared, columns, rows)
    return Verdict(diagnosis, rows, shares, totals)


def score(
    prepared: PreparedClass, columns: NodeColumns, rows: RowArray
) -> tuple[dict[str, Int64Array], Int64Array]:
    """Give each plugin's share and the totals of the feasible Nodes, which `rows` are."""
    view = NodeView(columns, rows)
    shares: dict[str, Int64Array] = {}
    totals = np.zeros(len(rows), dtype=np.int64)
    for plugin, state, weight in prepared.scores if len(rows) else ():
        if isinstance(plugin, ClusterScorePlugin):
            given = plugin.score_feasible(state, view, np.ones(len(rows), dtype=np.bool_))
            if given is not None:
                shares[plugin.name] = given.astype(np.int64) * weight
                totals += shares[plugin.name]
            continue
        scores = plugin.score(state, view)
        if isinstance(plugin, NormalizedScorePlugin):
            scores = plugin.normalize(scores, int(scores.min()), int(scores.max()))
        shares[plugin.name] = scores * weight
        totals += scores * weight
    for name in prepared.zero_scores:
        shares[name] = np.zeros(len(rows), dtype=np.int64)
    return shares, totals


def totals_without(
    prepared: PreparedClass, columns: NodeColumns, totals: TotalArray, blocked: RowArray
) -> TotalArray:
    """Give the totals of an evaluation with some feasible Nodes left out. O(plugins x N)."""
    feasible = totals != INFEASIBLE
    feasible[blocked] = False
    rows: RowArray = np.flatnonzero(feasible)
    result = np.full(len(totals), INFEASIBLE, dtype=np.int64)
    result[rows] = score(prepared, columns, rows)[1]
    return result


class ExplainedAttempt(msgspec.Struct, frozen=True):
    """What an attempt for a Pod would find, and do if it found nothing.

    `failure` is what went wrong in a plugin, which ends an attempt; `post_filter` is None
    unless it was asked for and came into it: no Node fits.
    """

    prepared: PreparedClass
    verdict: Verdict
    failure: Status | None = None
    post_filter: PostFilterResult | None = None


def explain_attempt(
    profile: Profile,
    pod: PodInfo,
    cache: Cache,
    nominator: Nominator,
    now: Now,
    *,
    with_post_filter: bool = False,
    seed: int = 0,
) -> ExplainedAttempt:
    """Make an attempt that leaves everything as it is; every Node is judged from scratch."""
    cache.cluster.wall_seconds = now.wall_seconds
    prepared = prepare(profile, pod, cache.cluster)
    verdict = judge(prepared, cache.columns, respected_pods(pod, cache, nominator))
    failure = prepared.failure()
    if prepared.rejection is not None and prepared.rejection.code is Code.ERROR:
        failure = prepared.rejection
    result = None
    wanted = with_post_filter and bool(profile.post_filter)
    if wanted and failure is None and not len(verdict.rows):
        attempt = FailedAttempt(
            pod=pod,
            prepared=prepared,
            diagnosis=verdict.diagnosis,
            cache=cache,
            nominator=nominator,
            now=now,
            seed=seed,
        )
        result = run_post_filters(profile.post_filter, attempt)
    return ExplainedAttempt(prepared, verdict, failure, result)
