"""For any cluster the search over columns finds the victims that are found Node by Node."""

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scheduler_svc.core.affinity_objects import LabelSelector
from scheduler_svc.core.cache import Cache, describe
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.disruption_objects import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from scheduler_svc.core.framework.nominated import respected_pods
from scheduler_svc.core.framework.post_filter import FailedAttempt
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import judge
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.objects import ContainerPort, Node, ObjectMeta, Pod
from scheduler_svc.core.pods import PodInterner
from scheduler_svc.core.preemption import Budgets, Search
from scheduler_svc.core.status import Code
from tests.builders import at, make_cache, make_node, make_pod
from tests.property.profiles import full_profile
from tests.reference.cluster import Cluster, HostedNode
from tests.reference.preemption import Rejection, Victims, rejection, victims_on

NODES = ("n0", "n1", "n2")


@st.composite
def pods(draw: st.DrawFn, name: str, *, node: str = "") -> Pod:
    """Give a Pod."""
    port = draw(st.sampled_from([0, 0, 80, 81]))
    made = make_pod(
        name,
        node=node,
        priority=draw(st.integers(0, 3)) if node else draw(st.integers(1, 4)),
        labels=draw(st.sampled_from([None, {"app": "web"}, {"app": "db"}])),
        requests={"cpu": draw(st.sampled_from(["0", "1", "2", "3"]))},
        ports=[ContainerPort(host_port=port)],
        is_terminating=bool(node) and draw(st.sampled_from([False, False, False, True])),
    )
    hour = draw(st.integers(0, 3)) if node else None
    start_time = None if not hour else f"2026-01-01T0{hour}:00:00Z"
    return msgspec.structs.replace(
        made, status=msgspec.structs.replace(made.status, start_time=start_time)
    )


@st.composite
def budgets(draw: st.DrawFn) -> list[PodDisruptionBudget]:
    """Give some budgets."""
    made = []
    for number in range(draw(st.integers(0, 3))):
        app = draw(st.sampled_from([None, {}, {"app": "web"}, {"app": "db"}]))
        disrupted = draw(st.lists(st.sampled_from([f"p{i}" for i in range(12)]), max_size=2))
        made.append(
            PodDisruptionBudget(
                ObjectMeta(f"b{number}", draw(st.sampled_from(["default", "default", "other"]))),
                PodDisruptionBudgetSpec(None if app is None else LabelSelector(app)),
                PodDisruptionBudgetStatus(draw(st.integers(0, 2)), dict.fromkeys(disrupted, "")),
            )
        )
    return made


class Case(msgspec.Struct):
    """A cluster, the Pod that is to be placed, and those that are nominated, with their Nodes."""

    nodes: list[Node]
    running: list[Pod]
    pod: Pod
    nominated: list[tuple[Pod, str]]
    budgets: list[PodDisruptionBudget]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Give a crowded cluster."""
    count = draw(st.integers(0, 12))
    return Case(
        nodes=[
            make_node(name, pods=draw(st.sampled_from(["2", "4", "110"])), cpu=4) for name in NODES
        ],
        running=[draw(pods(f"p{i}", node=draw(st.sampled_from(NODES)))) for i in range(count)],
        pod=draw(pods("new")),
        nominated=[
            (draw(pods(f"n{i}")), draw(st.sampled_from([*NODES, "unknown"])))
            for i in range(draw(st.integers(0, 3)))
        ],
        budgets=draw(budgets()),
    )


class Ours:
    """The same in the core."""

    def __init__(self, case: Case) -> None:
        interner = PodInterner()
        self.cache: Cache = make_cache(
            map(NodeInfo.from_node, case.nodes), map(interner.intern, case.running)
        )
        self.pod = interner.intern(case.pod)
        self.nominator = Nominator(self.cache.columns)
        for other, node_name in case.nominated:
            self.nominator.nominate(interner.intern(other), node_name)
        store = self.cache.cluster.objects[ObjectKind.POD_DISRUPTION_BUDGET]
        for budget in case.budgets:
            store.upsert(budget)
        self.prepared = prepare(full_profile(), self.pod, self.cache.cluster)
        respected = respected_pods(self.pod, self.cache, self.nominator)
        self.verdict = judge(self.prepared, self.cache.columns, respected)

    def attempt(self) -> FailedAttempt:
        return FailedAttempt(
            pod=self.pod,
            prepared=self.prepared,
            diagnosis=self.verdict.diagnosis,
            cache=self.cache,
            nominator=self.nominator,
            now=at(0),
        )

    def rejections(self) -> dict[str, Rejection]:
        names = self.cache.columns.names
        return {
            names[row]: (group.status.code.text, list(group.status.reasons))
            for group in self.verdict.diagnosis.groups
            for row in group.rows.tolist()
        }


def hosted(case: Case) -> Sequence[HostedNode]:
    return Cluster.of(case.nodes, case.running).nodes


def nominations(case: Case) -> dict[str, list[Pod]]:
    return {name: [pod for pod, node in case.nominated if node == name] for name in NODES}


@given(cases())
def test_nodes_are_judged_with_nominated_pods_and_without(case: Case) -> None:
    ours = Ours(case)
    expected = {
        node.name: found
        for node in hosted(case)
        if (found := rejection(case.pod, node, nominations(case))) is not None
    }
    assert ours.rejections() == expected
    ours.cache.validate()


@given(cases())
def test_victims_are_those_found_node_by_node(case: Case) -> None:
    ours = Ours(case)
    columns = ours.cache.columns
    before = describe(columns)
    rows = ours.verdict.diagnosis.rows_with(Code.UNSCHEDULABLE, columns)
    result = Search(ours.attempt(), Budgets(case.budgets)).run(rows, max(len(rows), 1))
    found: dict[str, Victims | Rejection] = {
        columns.names[c.row]: Victims(tuple(v.name for v in c.victims), c.violation_count)
        for c in result.candidates
    }
    for group in result.groups:
        for row in group.rows.tolist():
            found[columns.names[row]] = (group.status.code.text, list(group.status.reasons))
    candidates = {columns.names[row] for row in rows.tolist()}
    expected = {
        node.name: victims_on(case.pod, node, nominations(case), case.budgets)
        for node in hosted(case)
        if node.name in candidates
    }
    assert found == expected
    assert describe(columns) == before
    ours.cache.validate()
