"""Kept answers equal fresh ones, whatever happens in between."""

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.device_objects import Allocation
from scheduler_svc.core.devices.demands import Claim
from scheduler_svc.core.plugins.dynamic_resources.class_state import (
    INSUFFICIENT,
    SUFFICIENT,
    ClassState,
    SearchLimits,
)
from tests.builders import make_node_info
from tests.device_builders import (
    allocation,
    claim_spec,
    device,
    device_cluster,
    drop,
    make_claim,
    make_slice,
    put,
    request,
    result,
)

LIMITS = SearchLimits(100_000)
NODES = [make_node_info(f"n{number}") for number in (3, 1, 2)]


def state_of(cluster: Cluster) -> ClassState:
    demand = cluster.devices.demand(claim_spec())
    return ClassState(cluster.devices, LIMITS, (), (Claim("default/c", "uid-c", demand),))


def verdicts(state: ClassState, cluster: Cluster) -> dict[str, int]:
    columns = cluster.columns
    view = NodeView(columns, slice(0, len(columns.infos)))
    return dict(zip(columns.names, state.verdicts(view).tolist(), strict=False))


def local(name: str, *devices: str) -> object:
    return make_slice(name, [device(one) for one in devices], nodeName=name)


def test_answers_follow_devices_slices_and_nodes() -> None:
    cluster = device_cluster(NODES, make_slice("n1", [device("d0")], nodeName="n1"))
    state = state_of(cluster)
    assert verdicts(state, cluster) == {"n3": INSUFFICIENT, "n1": SUFFICIENT, "n2": INSUFFICIENT}
    cluster.devices.allocated.launch("x", _given("d0"))
    assert verdicts(state, cluster)["n1"] == INSUFFICIENT
    cluster.devices.allocated.land("x")
    assert verdicts(state, cluster)["n1"] == SUFFICIENT
    put(cluster, make_slice("n2", [device("d0")], nodeName="n2"))
    assert verdicts(state, cluster)["n2"] == SUFFICIENT
    drop(cluster, make_slice("n1", nodeName="n1"))
    assert verdicts(state, cluster)["n1"] == INSUFFICIENT
    cluster.columns.set_node(make_node_info("n9"))
    put(cluster, make_slice("n9", [device("d0")], nodeName="n9"))
    assert verdicts(state, cluster)["n9"] == SUFFICIENT
    cluster.columns.remove_node("n2")
    assert verdicts(state, cluster)["n2"] == INSUFFICIENT


def _given(name: str) -> Allocation:
    status = {"allocation": allocation(result(name))}
    found = make_claim(status=status).status.allocation
    assert found is not None
    return found


def test_so_many_changes_that_the_first_are_forgotten() -> None:
    cluster = device_cluster(NODES, make_slice("n1", [device("d0")], nodeName="n1"))
    state = state_of(cluster)
    assert verdicts(state, cluster)["n1"] == SUFFICIENT
    cluster.devices.allocated.launch("x", _given("d0"))
    for _ in range(40_000):
        cluster.devices.allocated.launch("y", _given("other"))
        cluster.devices.allocated.land("y")
    assert verdicts(state, cluster)["n1"] == INSUFFICIENT


def test_the_first_node_by_name_tells_what_is_wrong() -> None:
    fault = 'device.attributes["gpu.example"].no == 1'
    cluster = device_cluster(
        NODES, *(make_slice(n, [device("d0")], nodeName=n) for n in ("n1", "n2", "n3"))
    )
    demand = cluster.devices.demand(claim_spec(request(expression=fault)))
    slow = cluster.devices.demand(claim_spec())
    failing = ClassState(cluster.devices, LIMITS, (), (Claim("default/c", "u", demand),))
    columns = cluster.columns
    for row in (0, 1, 2):
        failing.verdicts(NodeView(columns, columns.rows_of((columns.names[row],))))
    assert failing.failure is not None
    text = "claim default/c: selector #0: CEL runtime error: no such key: no"
    assert failing.failure.message == f'running "DynamicResources" filter plugin: {text}'
    late = ClassState(cluster.devices, SearchLimits(0), (), (Claim("default/c", "u", slow),))
    for row in (0, 1, 2):
        late.verdicts(NodeView(columns, columns.rows_of((columns.names[row],))))
    assert late.failure is not None
    text = "node n1: timed out trying to allocate devices"
    assert late.failure.message == f'running "DynamicResources" filter plugin: {text}'
    assert late.solve(columns.rows["n1"], columns) is None


def test_a_node_that_is_not_there_has_no_solution() -> None:
    cluster = device_cluster(NODES)
    row = cluster.columns.row_for("unseen")
    assert state_of(cluster).solve(row, cluster.columns) is None
    assert state_of(cluster).solve(0, cluster.columns) is None


def test_where_no_node_has_been_judged_all_score_0() -> None:
    """As in a profile where the plugin is disabled at Filter."""
    cluster = device_cluster(NODES)
    view = NodeView(cluster.columns, cluster.columns.rows_of(("n1", "n2")))
    assert state_of(cluster).scores(view).tolist() == [0, 0]
