"""NodeAffinity: nodeSelector, required terms, preferred terms, and the profile's own demands."""

import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.interface import Plugin, PreFilterResult
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import judge
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import NodeAffinity as NodeAffinityRules
from scheduler_svc.core.objects import NodeSelectorTerm, Requirement
from scheduler_svc.core.plugins.node_affinity import NodeAffinity
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, SUCCESS, Status
from tests.builders import (
    PodFields,
    make_cluster,
    make_node_info,
    make_pod_info,
    make_profile,
    preferred,
    required,
    term,
    where,
)
from tests.unit.scheduler_svc.core.plugins.asking import (
    NODE_ADD,
    NODE_LABEL,
    UNRESOLVABLE,
    filtered,
    is_queued,
    passing,
    registered,
    scored,
)

A1 = make_node_info("a1", labels={"zone": "a", "gen": "1"})
A2 = make_node_info("a2", labels={"zone": "a", "gen": "2", "disk": "ssd"})
B5 = make_node_info("b5", labels={"zone": "b", "gen": "5"})
BARE = make_node_info("bare")
NODES = [A1, A2, B5, BARE]
ALL = {"a1", "a2", "b5", "bare"}
NO = (UNRESOLVABLE, ["node(s) didn't match Pod's node affinity/selector"])
NO_NUMBER = (
    '[0].matchExpressions[1].values[0]: Invalid value: "many": '
    "for 'Gt', 'Lt' operators, the value must be an integer"
)
NOT_ENFORCED = (UNRESOLVABLE, ["node(s) didn't match scheduler-enforced node affinity"])


def named(*names: str, operator: str = "In") -> Requirement:
    return where("metadata.name", operator, *names)


def pre_filter(pod: PodInfo, added: NodeAffinityRules | None = None) -> PreFilterResult:
    return NodeAffinity(added).pre_filter(pod, Cluster())


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"zone": "a"}, {"a1", "a2"}),
        ({"zone": "a", "disk": "ssd"}, {"a2"}),
        ({"zone": "c"}, set()),
        ({"zone": ""}, set()),
        ({}, ALL),
    ],
)
def test_node_selectors(selector: dict[str, str], expected: set[str]) -> None:
    assert passing(NodeAffinity(), make_pod_info(selector=selector), NODES) == expected


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([term(where("zone", "In", "a"))], {"a1", "a2"}),
        ([term(where("zone", "NotIn", "a"))], {"b5", "bare"}),
        ([term(where("disk", "Exists"))], {"a2"}),
        ([term(where("disk", "DoesNotExist"))], {"a1", "b5", "bare"}),
        ([term(where("gen", "Gt", "1"))], {"a2", "b5"}),
        ([term(where("gen", "Lt", "5"))], {"a1", "a2"}),
        ([term(where("gen", "Gt", "one"))], set()),
        ([term(where("zone", "Gt", "1"))], set()),
        ([term(where("zone", "In", "a"), where("gen", "In", "2"))], {"a2"}),
        ([term(where("gen", "In", "1")), term(where("gen", "In", "5"))], {"a1", "b5"}),
        ([term(fields=[named("a1", operator="NotIn")])], {"a2", "b5", "bare"}),
        ([term(fields=[named("unheard-of", operator="NotIn")])], ALL),
        ([term(fields=[named("a1", "a2")])], set()),
        ([term(fields=[where("metadata.namespace", "In", "a1")])], set()),
        ([term(fields=[where("metadata.namespace", "NotIn", "a1")])], ALL),
        ([term(where("zone", "In", "a"), fields=[named("a1", operator="NotIn")])], {"a2"}),
        ([term()], set()),
        ([term(), term(where("disk", "Exists"))], {"a2"}),
        ([], set()),
    ],
)
def test_required_terms(terms: list[NodeSelectorTerm], expected: set[str]) -> None:
    pod = make_pod_info(affinity=required(*terms))
    assert passing(NodeAffinity(), pod, NODES) & ALL == expected


def test_selector_and_terms_must_both_hold() -> None:
    pod = make_pod_info(selector={"zone": "a"}, affinity=required(term(where("gen", "Gt", "1"))))
    assert filtered(NodeAffinity(), pod, NODES) == {"a1": NO, "a2": None, "b5": NO, "bare": NO}


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ([term(fields=[named("a1")])], {"a1"}),
        ([term(fields=[named("a1")]), term(fields=[named("a2")])], {"a1", "a2"}),
        ([term(fields=[named("a1", "a2"), named("a2", "b5")])], {"a2"}),
        ([term(where("zone", "In", "a"), fields=[named("a1")])], {"a1"}),
        ([term(fields=[named("a1")]), term(where("zone", "In", "a"))], None),
        ([term(fields=[named("a1", operator="NotIn")])], None),
        ([term(fields=[where("metadata.namespace", "In", "a1")])], None),
        ([term()], None),
        ([], None),
    ],
)
def test_terms_may_leave_only_some_nodes(
    terms: list[NodeSelectorTerm], names: set[str] | None
) -> None:
    result = pre_filter(make_pod_info(affinity=required(*terms)))
    assert result.status == SUCCESS
    assert result.node_names == (None if names is None else frozenset(names))


def test_a_term_without_sense_restricts_names_all_the_same() -> None:
    faulty = term(where("gen", "Lt", "-5"), fields=[named("a1"), named("a2")])
    result = pre_filter(make_pod_info(affinity=required(faulty)))
    assert result.status == Status(UNRESOLVABLE, ("pod affinity terms conflict",))
    open_ = pre_filter(make_pod_info(affinity=required(faulty, term(where("gen", "Lt", "few")))))
    assert (open_.status, open_.node_names) == (SUCCESS, None)


def test_names_that_contradict_one_another() -> None:
    conflict = term(fields=[named("a1"), named("a2")])
    result = pre_filter(make_pod_info(affinity=required(conflict, conflict)))
    assert result.status == Status(UNRESOLVABLE, ("pod affinity terms conflict",))


def test_a_pod_with_an_empty_list_of_preferences_is_scored_all_the_same() -> None:
    plugin = NodeAffinity()
    for rules, is_skipped in ((preferred(), False), (NodeAffinityRules(), True)):
        status, _ = plugin.pre_score(make_pod_info(affinity=rules), Cluster())
        assert (status == SKIP) is is_skipped


@pytest.mark.parametrize(
    ("fields", "added", "is_skipped"),
    [
        ({}, None, True),
        ({"affinity": NodeAffinityRules()}, None, True),
        ({"affinity": preferred((1, term(where("zone", "Exists"))))}, None, True),
        ({}, preferred((1, term(where("zone", "Exists")))), True),
        ({"selector": {"zone": "a"}}, None, False),
        ({"affinity": required()}, None, False),
        ({}, required(term(where("zone", "Exists"))), False),
    ],
)
def test_a_pod_without_demands_is_skipped(
    fields: PodFields, added: NodeAffinityRules | None, is_skipped: bool
) -> None:
    assert (pre_filter(make_pod_info(**fields), added).status == SKIP) is is_skipped


def test_the_profile_may_demand_more() -> None:
    plugin = NodeAffinity(required(term(where("zone", "In", "a"))))
    assert filtered(plugin, make_pod_info(selector={"gen": "1"}), NODES) == {
        "a1": None,
        "a2": NO,
        "b5": NOT_ENFORCED,
        "bare": NOT_ENFORCED,
    }
    assert passing(plugin, make_pod_info(), NODES) == {"a1", "a2"}


def test_the_profiles_demand_restricts_no_names() -> None:
    plugin = NodeAffinity(required(term(fields=[named("a1")])))
    assert filtered(plugin, make_pod_info(), [A1, A2]) == {"a1": None, "a2": NOT_ENFORCED}


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param(
            [(30, term(where("zone", "In", "a"))), (10, term(where("gen", "Gt", "1")))],
            {"a1": 75, "a2": 100, "b5": 25, "bare": 0},
            id="weights add up and the most is 100",
        ),
        pytest.param(
            [(1, term(where("zone", "In", "c")))],
            {"a1": 0, "a2": 0, "b5": 0, "bare": 0},
            id="none matches",
        ),
        pytest.param(
            [(50, term(fields=[named("b5")])), (25, term(where("zone", "In", "a")))],
            {"a1": 50, "a2": 50, "b5": 100, "bare": 0},
            id="fields",
        ),
        pytest.param(
            [
                (0, term(where("zone", "In", "a"))),
                (100, term()),
                (1, term(where("zone", "Exists"))),
            ],
            {"a1": 100, "a2": 100, "b5": 100, "bare": 0},
            id="a weight of 0 and an empty term add nothing",
        ),
    ],
)
def test_preferred_terms(
    terms: list[tuple[int, NodeSelectorTerm]], expected: dict[str, int]
) -> None:
    pod = make_pod_info(affinity=preferred(*terms))
    assert scored(NodeAffinity(), pod, NODES) == expected


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            NODES,
            f'running PreScore plugin "NodeAffinity": {NO_NUMBER}',
        ),
        ([], None),
    ],
)
def test_a_faulty_preference_fails_where_there_is_a_choice(
    nodes: list[NodeInfo], message: str | None
) -> None:
    faulty = term(where("gen", "Exists"), where("gen", "Gt", "many"))
    pod = make_pod_info(affinity=preferred((1, faulty), (0, term(where("gen", "Lt", "few")))))
    plugin, cluster = NodeAffinity(), make_cluster(nodes)
    points: dict[str, list[Plugin]] = {
        point: [plugin] for point in ("preFilter", "filter", "preScore", "score")
    }
    prepared = prepare(make_profile(points), pod, cluster)
    judge(prepared, cluster.columns)
    failure = prepared.failure()
    assert (failure.message if failure else None) == message


def test_demands_do_not_fail() -> None:
    state = pre_filter(make_pod_info(selector={"zone": "a"})).state
    assert NodeAffinity().failure(state) is None


def test_the_profiles_preferences_are_added() -> None:
    plugin = NodeAffinity(preferred((10, term(where("disk", "Exists")))))
    assert scored(plugin, make_pod_info(), NODES) == {"a1": 0, "a2": 100, "b5": 0, "bare": 0}
    pod = make_pod_info(affinity=preferred((30, term(where("zone", "In", "b")))))
    assert scored(plugin, pod, NODES) == {"a1": 0, "a2": 33, "b5": 100, "bare": 0}


def test_without_preferences_there_is_no_score() -> None:
    assert scored(NodeAffinity(), make_pod_info(), NODES) is None
    assert scored(NodeAffinity(), make_pod_info(selector={"zone": "a"}), NODES) is None
    assert scored(NodeAffinity(), make_pod_info(affinity=NodeAffinityRules()), NODES) is None


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [(None, A2, True), (None, A1, False), (A1, A2, True), (A2, A2, False), (A2, A1, False)],
)
def test_a_node_that_comes_to_match(old: NodeInfo | None, new: NodeInfo, queued: bool) -> None:
    pod = make_pod_info(selector={"zone": "a"}, affinity=required(term(where("gen", "Gt", "1"))))
    event = NODE_ADD if old is None else NODE_LABEL
    assert is_queued(NodeAffinity(), event, pod, old, new) is queued


def test_a_node_must_come_to_match_the_profiles_demand_too() -> None:
    plugin = NodeAffinity(required(term(where("disk", "Exists"))))
    pod = make_pod_info(selector={"zone": "a"})
    assert not is_queued(plugin, NODE_ADD, pod, None, A1)
    assert is_queued(plugin, NODE_LABEL, pod, A1, A2)
    with_disk = make_node_info("b", labels={"zone": "b", "disk": "ssd"})
    assert not is_queued(plugin, NODE_ADD, pod, None, with_disk)


def test_events() -> None:
    assert registered(NodeAffinity()) == {"Node add", "Node label"}
