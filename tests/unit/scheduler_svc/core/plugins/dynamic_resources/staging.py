"""DynamicResources with a cluster, asked as the framework asks."""

from typing import Any

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.diagnosis import diagnose
from scheduler_svc.core.framework.post_filter import FailedAttempt, PostFilterResult
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import judge
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.plugins.dynamic_resources import DynamicResources
from scheduler_svc.core.pods import PodInfo
from tests.builders import make_profile

POINTS = ("preFilter", "filter", "preScore", "score", "postFilter")


class Stage:
    """A cluster and the plugin."""

    def __init__(self, cluster: Cluster, **arguments: Any) -> None:
        self.cluster = cluster
        self.plugin = DynamicResources(**arguments)
        self.plugin.attach(cluster)
        self.profile = make_profile({point: [self.plugin] for point in POINTS})

    def verdict(self, pod: PodInfo) -> dict[str, Any]:
        """Give by Node the score's share, or the reasons against it."""
        prepared = prepare(self.profile, pod, self.cluster)
        if prepared.rejection is not None:
            return {"": prepared.rejection.message}
        columns = self.cluster.columns
        verdict = judge(prepared, columns)
        failure = prepared.failure()
        if failure is not None:
            return {"": failure.message}
        shares = verdict.shares.get(self.plugin.name)
        found: dict[str, Any] = {
            columns.names[row]: None if shares is None else int(shares[index])
            for index, row in enumerate(verdict.rows)
        }
        for group in verdict.diagnosis.groups:
            for row in group.rows:
                found[columns.names[row]] = group.status.message
        return found

    def post_filter(self, pod: PodInfo) -> PostFilterResult:
        """Ask what may be done for a Pod that fits nowhere."""
        prepared = prepare(self.profile, pod, self.cluster)
        cache = Cache(self.cluster)
        attempt = FailedAttempt(
            pod=pod,
            prepared=prepared,
            diagnosis=diagnose(prepared, self.cluster.columns),
            cache=cache,
            nominator=Nominator(self.cluster.columns),
            now=Now(0, 0),
        )
        return self.plugin.post_filter(attempt)
