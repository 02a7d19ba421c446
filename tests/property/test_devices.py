"""Kept answers about devices equal fresh ones after any sequence of events."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.device_objects import Allocation, ResourceClaim, ResourceClaimSpec
from scheduler_svc.core.devices.demands import Claim
from scheduler_svc.core.labels import matches_term
from scheduler_svc.core.plugins.dynamic_resources.class_state import (
    SUFFICIENT,
    ClassState,
    SearchLimits,
)
from tests.builders import make_node_info
from tests.device_builders import (
    DRIVER,
    allocation,
    claim_spec,
    device,
    device_cluster,
    drop,
    first_available,
    make_claim,
    make_slice,
    put,
    request,
    wanted,
)

NAMES = ("n1", "n2", "n3")
POOLS = (*NAMES, "net")
LIMITS = SearchLimits(10_000)
Event = Callable[[Cluster], None]

SPECS = (
    claim_spec(),
    claim_spec(request(count=2), constraints=[{"matchAttribute": f"{DRIVER}/numa"}]),
    claim_spec(request(expression=f'device.attributes["{DRIVER}"].numa == 1')),
    claim_spec(first_available("r", wanted(name="two", count=2), wanted(name="one"))),
    claim_spec(request(allocationMode="All")),
)

devices = st.lists(st.integers(0, 1), max_size=3).map(
    lambda numbers: [device(f"d{i}", numa=numa) for i, numa in enumerate(numbers)]
)


def zone(value: str) -> dict[str, Any]:
    expression = {"key": "zone", "operator": "In", "values": [value]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def set_node(name: str, where: str) -> Event:
    info = make_node_info(name, labels={"zone": where})
    return lambda cluster: void(cluster.columns.set_node(info))


def remove_node(name: str) -> Event:
    return lambda cluster: void(cluster.columns.remove_node(name))


def publish(pool: str, found: list[dict[str, Any]], where: str, count: int) -> Event:
    place: dict[str, Any] = {"nodeName": pool}
    if pool == "net":
        place = {"nodeSelector": zone(where)} if where else {"allNodes": True}
    published = make_slice(pool, found, count=count, **place)
    return lambda cluster: put(cluster, published)


def withdraw(pool: str) -> Event:
    return lambda cluster: drop(cluster, make_slice(pool))


def held(pool: str, name: str) -> ResourceClaim:
    given_device = {"request": "r", "driver": DRIVER, "pool": pool, "device": name}
    status = {"allocation": allocation(given_device)}
    return make_claim(f"held-{pool}-{name}", status=status)


def hold(pool: str, name: str) -> Event:
    return lambda cluster: put(cluster, held(pool, name))


def release(pool: str, name: str) -> Event:
    return lambda cluster: drop(cluster, held(pool, name))


def launch(pool: str, name: str) -> Event:
    found = held(pool, name).status.allocation or Allocation()

    def event(cluster: Cluster) -> None:
        allocated = cluster.devices.allocated
        allocated.land("in flight")
        allocated.launch("in flight", found)

    return event


def void(_value: object) -> None:
    return None


nodes, pools = st.sampled_from(NAMES), st.sampled_from(POOLS)
names, zones = st.sampled_from(("d0", "d1")), st.sampled_from(("a", "b"))
events = st.one_of(
    st.builds(set_node, nodes, zones),
    st.builds(remove_node, nodes),
    st.builds(publish, pools, devices, st.sampled_from(("", "a", "b")), st.integers(1, 2)),
    st.builds(withdraw, pools),
    st.builds(hold, pools, names),
    st.builds(release, pools, names),
    st.builds(launch, pools, names),
)


def state_of(cluster: Cluster, spec: ResourceClaimSpec) -> ClassState:
    demand = cluster.devices.demand(spec)
    return ClassState(cluster.devices, LIMITS, (), (Claim("default/c", "uid-c", demand),))


def answers(state: ClassState, cluster: Cluster) -> dict[str, object]:
    """Give verdicts and scores of the Nodes that are there, and what went wrong."""
    columns = cluster.columns
    view = NodeView(columns, slice(0, len(columns.infos)))
    verdicts, scores = state.verdicts(view), state.scores(view)
    found: dict[str, object] = {
        info.name: (int(verdicts[row]), int(scores[row]) if verdicts[row] == SUFFICIENT else 0)
        for row, info in enumerate(columns.infos)
        if info is not None
    }
    return found if state.failure is None else {"": state.failure.message}


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SPECS), st.lists(st.lists(events, max_size=3), max_size=12))
def test_kept_answers_equal_fresh_ones(spec: ResourceClaimSpec, steps: list[list[Event]]) -> None:
    start = [make_node_info(name, labels={"zone": "a"}) for name in NAMES[:2]]
    local = [make_slice(name, [device("d0", numa=0)], nodeName=name) for name in NAMES[:2]]
    cluster = device_cluster(start, *local)
    kept = state_of(cluster, spec)
    for step in steps:
        for event in step:
            event(cluster)
        if kept.failure is not None:
            # Nothing is kept of a class that could not be judged.
            kept = state_of(cluster, spec)
        assert answers(kept, cluster) == answers(state_of(cluster, spec), cluster)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(SPECS), st.lists(events, max_size=12))
def test_what_is_chosen_is_free_and_reached(spec: ResourceClaimSpec, happened: list[Event]) -> None:
    cluster = device_cluster([make_node_info(name, labels={"zone": "a"}) for name in NAMES])
    for event in happened:
        event(cluster)
    state, columns = state_of(cluster, spec), cluster.columns
    for row, info in enumerate(columns.infos):
        solved = None if info is None else state.solve(row, columns)
        if info is None or solved is None:
            continue
        chosen = [choice.device for part in solved[1] for choice in part]
        assert len({one.id for one in chosen}) == len(chosen)
        for one in chosen:
            assert not cluster.devices.allocated.is_taken(one.id)
            selector = one.spec.node_selector
            terms = () if selector is None else selector.node_selector_terms
            assert one.spec.node_name in ("", info.name)
            assert all(matches_term(term, info.labels, info.name) for term in terms)
