"""Asks the plugin about Pods, as the framework would: kept evaluations against fresh verdicts."""

from typing import Any

from scheduler_svc.core.affinity_objects import PodAffinity
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.framework.class_cache import ClassCache
from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import Verdict, judge
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_svc.core.pods import PodInfo
from tests.builders import make_cache, make_node_info, make_pod_info, make_profile
from tests.unit.scheduler_svc.core.plugins.inter_pod_affinity.terms import namespace

NAME = "InterPodAffinity"
FAR = ("UnschedulableAndUnresolvable", ["node(s) didn't match pod affinity rules"])
NEAR = ("Unschedulable", ["node(s) didn't match pod anti-affinity rules"])
UNWANTED = ("Unschedulable", ["node(s) didn't satisfy existing pods anti-affinity rules"])

Answer = dict[str, Any]


def node(name: str, zone: str = "", **labels: str) -> NodeInfo:
    """Build a Node of a zone, its name the label `host`."""
    known = {"host": name, **({"zone": zone} if zone else {}), **labels}
    return make_node_info(name, labels=known)


A1, A2, B1, BARE = node("a1", "a"), node("a2", "a"), node("b1", "b"), make_node_info("bare")


NOTHING: Answer = {"a1": None, "a2": None, "b1": None, "bare": None}


def running(app: str, place: str, name: str = "", **wants: PodAffinity) -> PodInfo:
    """Give a Pod of an app that is on a Node."""
    near, away = wants.get("near", PodAffinity()), wants.get("away", PodAffinity())
    name = name or f"{app}-{place}"
    return make_pod_info(name, labels={"app": app}, node=place, near=near, away=away)


def new(app: str = "new", **wants: PodAffinity) -> PodInfo:
    """Give a Pod of an app that is to be placed."""
    near, away = wants.get("near", PodAffinity()), wants.get("away", PodAffinity())
    return make_pod_info("new", labels={"app": app}, near=near, away=away)


class Asked:
    """A cluster of Nodes and Pods, and the plugin in a profile of its own."""

    def __init__(
        self,
        *pods: PodInfo,
        nodes: tuple[NodeInfo, ...] = (A1, A2, B1, BARE),
        plugin: InterPodAffinity | None = None,
        spaces: dict[str, dict[str, str]] | None = None,
    ) -> None:
        self.cache: Cache = make_cache(nodes, pods)
        self.cluster = self.cache.cluster
        for name, labels in (spaces or {}).items():
            self.cluster.objects[ObjectKind.NAMESPACE].upsert(namespace(name, **labels))
        self.plugin = plugin or InterPodAffinity()
        points = ("preFilter", "filter", "preScore", "score")
        self.profile = make_profile({point: [self.plugin] for point in points})
        self.classes = ClassCache(self.profile, self.cluster)

    def __call__(self, pod: PodInfo) -> Answer:
        """Give by Node the score, None where it is skipped, or the code and reasons."""
        columns = self.cluster.columns
        kept = self.classes.evaluation(pod)
        verdict = judge(prepare(self.profile, pod, self.cluster), columns)
        totals = dict(zip(verdict.rows.tolist(), verdict.totals.tolist(), strict=True))
        for row in range(columns.capacity):
            assert kept.totals[row] == totals.get(row, INFEASIBLE)
        again = judge(kept.prepared, columns)
        assert self.by_name(again) == self.by_name(verdict)
        return self.by_name(verdict)

    def by_name(self, verdict: Verdict) -> Answer:
        """Give a verdict by Nodes' names."""
        names = self.cluster.columns.names
        share = verdict.shares.get(NAME)
        answer: Answer = {
            names[row]: None if share is None else int(share[index])
            for index, row in enumerate(verdict.rows)
        }
        for group in verdict.diagnosis.groups:
            assert group.status.plugin == NAME
            for row in group.rows:
                answer[names[row]] = group.status.code.text, list(group.status.reasons)
        return answer
