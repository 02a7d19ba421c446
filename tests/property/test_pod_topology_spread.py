"""However Pods are to be spread, and whatever happens: sums answer as a count of each Pod."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from scheduler_svc.core.affinity_objects import TopologySpreadConstraint
from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.framework.class_cache import ClassCache
from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import Verdict, judge
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Node, ObjectMeta, Pod
from scheduler_svc.core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_svc.core.plugins.pod_topology_spread.rules import SYSTEM_CONSTRAINTS
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.core.workload_objects import LabelsSpec, Service
from tests.builders import make_cache, make_profile
from tests.property.spreads import SPACES, defaults, nodes, pods, services
from tests.reference.cluster import Cluster
from tests.reference.pod_topology_spread import Rules
from tests.reference.pod_topology_spread import Verdict as Expected

NAMES = ("n0", "n1", "n2", "n3")
POINTS = ("preFilter", "filter", "preScore", "score")


def by_name(verdict: Verdict, names: list[str]) -> dict[str, Expected]:
    share = verdict.shares.get(PodTopologySpread.name)
    answer: dict[str, Expected] = {
        names[row]: None if share is None else int(share[index])
        for index, row in enumerate(verdict.rows)
    }
    for group in verdict.diagnosis.groups:
        answer |= dict.fromkeys((names[row] for row in group.rows), group.status.reasons[0])
    return answer


def serve(cache: Cache, number: int, selector: dict[str, str] | None, namespace: str) -> None:
    service = Service(ObjectMeta(name=f"s{number}", namespace=namespace), LabelsSpec(selector))
    cache.cluster.objects[ObjectKind.SERVICE].upsert(service)


@settings(max_examples=200)
@given(
    data=st.data(),
    listed=st.none() | defaults,
    selectors=services,
    quirks=st.booleans(),
)
def test_sums_answer_as_a_count_of_each_pod(
    data: st.DataObject,
    listed: tuple[TopologySpreadConstraint, ...] | None,
    selectors: list[dict[str, str]],
    quirks: bool,
) -> None:
    members = [data.draw(nodes(name)) for name in NAMES[: data.draw(st.integers(1, 4))]]
    places = data.draw(st.lists(st.sampled_from((*NAMES, "unseen")), max_size=10))
    running = [data.draw(pods(f"p{i}", node=place)) for i, place in enumerate(places)]
    pod = data.draw(pods("new", is_spread=True))
    plugin = PodTopologySpread(listed, upstream_quirks=quirks)
    interner = PodInterner()
    cache = make_cache(map(NodeInfo.from_node, members), map(interner.intern, running))
    for number, selector in enumerate(selectors):
        serve(cache, number, selector, pod.metadata.namespace)
    profile = make_profile({point: [plugin] for point in POINTS})
    prepared = prepare(profile, interner.intern(pod), cache.cluster)
    rules = Rules(
        pod,
        Cluster.of(members, running),
        defaults=SYSTEM_CONSTRAINTS if listed is None else listed,
        is_system_defaulted=listed is None,
        selected_by=selectors,
        quirks=quirks,
    )
    verdict = judge(prepared, cache.columns)
    assert by_name(verdict, cache.columns.names) == rules.verdicts()


class SpreadMachine(RuleBasedStateMachine):
    """Drives a cache; the classes of some Pods are asked about after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = make_cache()
        self.cluster = self.cache.cluster
        self.interner = PodInterner()
        self.quirks = True
        self.profile = make_profile({point: [PodTopologySpread()] for point in POINTS})
        self.classes = ClassCache(self.profile, self.cluster)
        self.nodes: dict[str, Node] = {}
        self.services: dict[tuple[str, int], dict[str, str]] = {}
        self.running: dict[str, Pod] = {}
        self.pending: list[Pod] = []
        self.created = 0

    def intern(self, pod: Pod) -> PodInfo:
        return self.interner.intern(pod)

    @initialize(
        pending=st.lists(pods("new", is_spread=True), min_size=2, max_size=2),
        quirks=st.booleans(),
        data=st.data(),
    )
    def begin(self, pending: list[Pod], quirks: bool, data: st.DataObject) -> None:
        self.pending, self.quirks = pending, quirks
        plugin = PodTopologySpread(upstream_quirks=quirks)
        self.profile = make_profile({point: [plugin] for point in POINTS})
        self.classes = ClassCache(self.profile, self.cluster)
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

    @rule(
        number=st.integers(0, 1),
        namespace=st.sampled_from(SPACES),
        selector=st.sampled_from([{"app": "web"}, {"app": "web", "rev": "1"}, {}]),
    )
    def service_changes(self, number: int, namespace: str, selector: dict[str, str]) -> None:
        self.services[namespace, number] = selector
        serve(self.cache, number, selector, namespace)

    @rule(number=st.integers(0, 1), namespace=st.sampled_from(SPACES))
    def service_goes(self, number: int, namespace: str) -> None:
        self.services.pop((namespace, number), None)
        self.cluster.objects[ObjectKind.SERVICE].delete(f"{namespace}/s{number}")

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
        pod = data.draw(pods(uid.removeprefix("uid-"), node=place))
        self.running[uid] = pod
        self.cache.upsert(self.intern(pod))

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def pod_goes(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.running)))
        del self.running[uid]
        self.cache.remove(uid)

    @precondition(lambda self: self.running and self.nodes)
    @rule(data=st.data())
    def pods_are_supposed_to_come_and_go(self, data: st.DataObject) -> None:
        gone = self.running[data.draw(st.sampled_from(sorted(self.running)))]
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        guest = data.draw(pods("guest", node=name))
        columns = self.cluster.columns
        for pod in self.pending:
            prepared = self.classes.evaluation(self.intern(pod)).prepared
            with self.cache.speculation() as speculation:
                left = self.cache.get(gone.metadata.uid)
                assert left is not None
                speculation.remove(left, columns.rows[left.node_name])
                speculation.add(self.intern(guest), columns.rows[name])
                answer = by_name(judge(prepared, columns), columns.names)
            supposed = [(gone, gone.spec.node_name, -1), (guest, name, 1)]
            expected = self.counted(pod, supposed).verdicts()
            reasons = {n: v if isinstance(v, str) else None for n, v in answer.items()}
            assert reasons == {n: v if isinstance(v, str) else None for n, v in expected.items()}

    @invariant()
    def kept_answers_are_those_of_a_count_of_each_pod(self) -> None:
        self.cache.validate()
        columns = self.cluster.columns
        for pod in self.pending:
            info = self.intern(pod)
            kept = self.classes.evaluation(info)
            expected = self.counted(pod, []).verdicts()
            verdict = judge(prepare(self.profile, info, self.cluster), columns)
            assert by_name(verdict, columns.names) == expected
            for name in self.nodes:
                score = expected[name]
                total = int(kept.totals[columns.rows[name]])
                assert total == (INFEASIBLE if isinstance(score, str) else score or 0)

    def counted(self, pod: Pod, supposed: list[tuple[Pod, str, int]]) -> Rules:
        here = pod.metadata.namespace
        return Rules(
            pod,
            Cluster.of(list(self.nodes.values()), list(self.running.values())),
            defaults=SYSTEM_CONSTRAINTS,
            is_system_defaulted=True,
            selected_by=[s for (space, _), s in self.services.items() if space == here],
            supposed=supposed,
            quirks=self.quirks,
        )


TestSpreadEvents = SpreadMachine.TestCase
TestSpreadEvents.settings = settings(max_examples=40, stateful_step_count=25)
