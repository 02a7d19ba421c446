"""Whatever Pods want of each other, and whatever happens: counts answer as a look at each Pod."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from scheduler_svc.core.affinity_objects import PodAffinity
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.framework.class_cache import ClassCache
from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import Verdict, judge
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Namespace, Node, ObjectMeta, Pod
from scheduler_svc.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_svc.core.pods import PodInfo, PodInterner
from tests.builders import make_cache, make_profile
from tests.property.affinities import SPACES, namespaces, nodes, pods
from tests.reference.cluster import Cluster
from tests.reference.inter_pod_affinity import Rules
from tests.reference.inter_pod_affinity import Verdict as Expected

NAMES = ("n0", "n1", "n2", "n3")
POINTS = ("preFilter", "filter", "preScore", "score")


def by_name(verdict: Verdict, names: list[str]) -> dict[str, Expected]:
    share = verdict.shares.get(InterPodAffinity.name)
    answer: dict[str, Expected] = {
        names[row]: None if share is None else int(share[index])
        for index, row in enumerate(verdict.rows)
    }
    for group in verdict.diagnosis.groups:
        answer |= dict.fromkeys((names[row] for row in group.rows), group.status.reasons[0])
    return answer


@settings(max_examples=300)
@given(
    data=st.data(),
    spaces=namespaces,
    hard_weight=st.sampled_from([0, 1, 40]),
    ignores_others=st.booleans(),
    quirks=st.booleans(),
)
def test_counts_answer_as_a_look_at_each_pod(
    data: st.DataObject,
    spaces: list[Namespace],
    hard_weight: int,
    ignores_others: bool,
    quirks: bool,
) -> None:
    members = [data.draw(nodes(name)) for name in NAMES[: data.draw(st.integers(1, 4))]]
    places = data.draw(st.lists(st.sampled_from((*NAMES, "unseen")), max_size=8))
    running = [data.draw(pods(f"p{i}", node=place)) for i, place in enumerate(places)]
    pod = data.draw(pods("new"))
    plugin = InterPodAffinity(
        hard_pod_affinity_weight=hard_weight,
        ignore_preferred_terms_of_existing_pods=ignores_others,
        upstream_quirks=quirks,
    )
    interner = PodInterner()
    cluster = make_cache(map(NodeInfo.from_node, members), map(interner.intern, running)).cluster
    for space in spaces:
        cluster.objects[ObjectKind.NAMESPACE].upsert(space)
    prepared = prepare(
        make_profile({point: [plugin] for point in POINTS}), interner.intern(pod), cluster
    )
    rules = Rules(
        pod,
        Cluster.of(members, running),
        spaces,
        hard_weight=hard_weight,
        ignores_others=ignores_others,
        quirks=quirks,
    )
    verdict = judge(prepared, cluster.columns)
    assert by_name(verdict, cluster.columns.names) == rules.verdicts()


class AffinityMachine(RuleBasedStateMachine):
    """Drives a cache; the classes of some Pods are asked about after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = make_cache()
        self.cluster = self.cache.cluster
        self.interner = PodInterner()
        self.profile = make_profile({point: [InterPodAffinity()] for point in POINTS})
        self.classes = ClassCache(self.profile, self.cluster)
        self.nodes: dict[str, Node] = {}
        self.spaces: dict[str, Namespace] = {}
        self.running: dict[str, Pod] = {}
        self.pending: list[Pod] = []
        self.created = 0

    def intern(self, pod: Pod) -> PodInfo:
        return self.interner.intern(pod)

    @initialize(pending=st.lists(pods("new"), min_size=2, max_size=3), data=st.data())
    def begin(self, pending: list[Pod], data: st.DataObject) -> None:
        self.pending = pending
        for name in NAMES[:2]:
            self.node_changes(data.draw(nodes(name)))

    @rule(node=st.sampled_from(NAMES).flatmap(nodes))
    def node_changes(self, node: Node) -> None:
        self.nodes[node.metadata.name] = node
        self.cache.set_node(NodeInfo.from_node(node))

    @rule(name=st.sampled_from(NAMES))
    def node_goes(self, name: str) -> None:
        self.cache.remove_node(name)
        self.nodes.pop(name, None)

    @rule(name=st.sampled_from(SPACES), team=st.sampled_from([None, "a", "b"]))
    def namespace_changes(self, name: str, team: str | None) -> None:
        self.spaces[name] = Namespace(
            ObjectMeta(name=name, labels=None if team is None else {"team": team})
        )
        self.cluster.objects[ObjectKind.NAMESPACE].upsert(self.spaces[name])

    @rule(name=st.sampled_from(SPACES))
    def namespace_goes(self, name: str) -> None:
        self.cluster.objects[ObjectKind.NAMESPACE].delete(name)
        self.spaces.pop(name, None)

    @rule(place=st.sampled_from((*NAMES, "unseen")), data=st.data())
    def pod_comes(self, place: str, data: st.DataObject) -> None:
        self.created += 1
        pod = data.draw(pods(f"p{self.created}", node=place))
        self.running[pod.metadata.uid] = pod
        self.cache.upsert(self.intern(pod))

    @precondition(lambda self: self.running)
    @rule(data=st.data(), place=st.sampled_from(NAMES))
    def pod_changes(self, data: st.DataObject, place: str) -> None:
        uid = data.draw(st.sampled_from(sorted(self.running)))
        space = self.running[uid].metadata.namespace
        pod = data.draw(pods(uid.removeprefix("uid-"), node=place, space=space))
        self.running[uid] = pod
        self.cache.upsert(self.intern(pod))

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def pod_goes(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.running)))
        del self.running[uid]
        self.cache.remove(uid)

    @precondition(lambda self: self.running and self.nodes)
    @rule(data=st.data(), place=st.sampled_from(NAMES))
    def pods_are_supposed_to_come_and_go(self, data: st.DataObject, place: str) -> None:
        """A class that is not left alone is judged as if it were so."""
        gone = data.draw(st.sampled_from(sorted(self.running)))
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        guest = data.draw(pods("guest", node=name))
        supposed = [p for uid, p in self.running.items() if uid != gone] + [guest]
        columns = self.cluster.columns
        for pod in self.pending:
            prepared = self.classes.evaluation(self.intern(pod)).prepared
            with self.cache.speculation() as speculation:
                left = self.cache.get(gone)
                assert left is not None
                speculation.remove(left, columns.rows[left.node_name])
                speculation.add(self.intern(guest), columns.rows[name])
                answer = by_name(judge(prepared, columns), columns.names)
            demands = pod.spec.affinity
            near = (demands and demands.pod_affinity) or PodAffinity()
            away = (demands and demands.pod_anti_affinity) or PodAffinity()
            if near.required or away.required:
                expected = self.expected(pod, supposed)
                for node, verdict in answer.items():
                    assert isinstance(verdict, str) == isinstance(expected[node], str)
                    assert verdict == expected[node] or not isinstance(verdict, str)

    @invariant()
    def kept_answers_are_those_of_a_look_at_each_pod(self) -> None:
        self.cache.validate()
        columns = self.cluster.columns
        for pod in self.pending:
            info = self.intern(pod)
            kept = self.classes.evaluation(info)
            verdict = judge(prepare(self.profile, info, self.cluster), columns)
            expected = self.expected(pod, list(self.running.values()))
            assert by_name(verdict, columns.names) == expected
            totals = {name: int(kept.totals[row]) for name, row in columns.rows.items()}
            for name in self.nodes:
                score = expected[name]
                assert totals[name] == (INFEASIBLE if isinstance(score, str) else score or 0)

    def expected(self, pod: Pod, running: list[Pod]) -> dict[str, Expected]:
        cluster = Cluster.of(list(self.nodes.values()), running)
        return Rules(pod, cluster, list(self.spaces.values())).verdicts()


TestAffinityEvents = AffinityMachine.TestCase
TestAffinityEvents.settings = settings(max_examples=60, stateful_step_count=30)
