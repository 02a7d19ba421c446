"""Nodes in groups that see the same, as slices and labels change."""

from scheduler_svc.core.cluster import Cluster
from tests.builders import make_node_info
from tests.device_builders import device, device_cluster, drop, make_slice, put

NODES = [
    make_node_info(name, labels={"zone": zone})
    for name, zone in (("n1", "a"), ("n2", "b"), ("n3", "b"))
]
ZONE_B = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
    ]
}


def seen(cluster: Cluster) -> dict[str, list[str]]:
    """Give by Node the devices that it may use, in order."""
    grouping = cluster.devices.slices.grouping(cluster.columns)
    found = {}
    for row, info in enumerate(cluster.columns.infos):
        group = grouping.group_of_row[row]
        if info is not None:
            assert group is not None
            found[info.name] = [
                "/".join(one.id[1:])
                for pool in group.pools
                for one in pool.devices
                if one.id not in pool.hidden
            ]
    return found


def test_each_kind_of_slice_is_seen_by_its_nodes() -> None:
    local = make_slice("n1", [device("d0")], nodeName="n1")
    everywhere = make_slice("net", [device("d0")], allNodes=True)
    zonal = make_slice("zonal", [device("d0")], nodeSelector=ZONE_B)
    single = make_slice(
        "single",
        [
            device("d0", nodeName="n1"),
            device("d1", allNodes=True),
            device("d2", nodeSelector=ZONE_B),
            device("d3"),
        ],
        perDeviceNodeSelection=True,
    )
    unknown = make_slice("unknown", [device("d0")])
    cluster = device_cluster(NODES, local, everywhere, zonal, single, unknown)
    assert seen(cluster) == {
        "n1": ["n1/d0", "net/d0", "single/d0", "single/d1"],
        "n2": ["net/d0", "single/d1", "single/d2", "zonal/d0"],
        "n3": ["net/d0", "single/d1", "single/d2", "zonal/d0"],
    }
    grouping = cluster.devices.slices.grouping(cluster.columns)
    assert len(grouping.groups) == 2
    assert grouping.group_of_row[1] is grouping.group_of_row[2]


def test_nothing_is_done_while_nothing_changes() -> None:
    cluster = device_cluster(NODES, make_slice("n1", [device("d0")], nodeName="n1"))
    grouping = cluster.devices.slices.grouping(cluster.columns)
    assert cluster.devices.slices.grouping(cluster.columns) is grouping
    # A Node whose labels stay as they are sees what it saw.
    cluster.columns.set_node(make_node_info("n2", labels={"zone": "b"}, cpu="9"))
    assert cluster.devices.slices.grouping(cluster.columns) is grouping
    cluster.columns.set_node(make_node_info("n2", labels={"zone": "a"}))
    assert cluster.devices.slices.grouping(cluster.columns) is not grouping


def test_slices_and_nodes_come_change_and_go() -> None:
    cluster = device_cluster(NODES[:1], make_slice("n1", [device("d0")], nodeName="n1"))
    assert seen(cluster) == {"n1": ["n1/d0"]}
    cluster.columns.set_node(NODES[1])
    second = make_slice("n2", [device("d0")], nodeName="n2")
    put(cluster, second)
    put(cluster, make_slice("n1", [device("d1")], nodeName="n1"))
    assert seen(cluster) == {"n1": ["n1/d1"], "n2": ["n2/d0"]}
    drop(cluster, second)
    assert seen(cluster) == {"n1": ["n1/d1"], "n2": []}
    cluster.columns.set_node(NODES[2])
    assert seen(cluster) == {"n1": ["n1/d1"], "n2": [], "n3": []}
    cluster.columns.remove_node("n3")
    cluster.columns.remove_node("n2")
    assert seen(cluster) == {"n1": ["n1/d1"]}
    shared = make_slice("net", [device("d0")], allNodes=True)
    put(cluster, shared)
    drop(cluster, shared)
    assert seen(cluster) == {"n1": ["n1/d1"]}


def test_a_change_of_one_node_leaves_what_others_see() -> None:
    cluster = device_cluster(
        NODES, *(make_slice(n, [device("d")], nodeName=n) for n in ("n1", "n2"))
    )
    before = cluster.devices.slices.grouping(cluster.columns)
    put(cluster, make_slice("n2", [device("e")], nodeName="n2"))
    after = cluster.devices.slices.grouping(cluster.columns)
    first, second = before.group_of_row[0], after.group_of_row[0]
    assert first is not None
    assert second is not None
    assert first.pools == second.pools


def test_counters_of_a_pool_are_seen_wherever_it_has_devices() -> None:
    counters = [{"name": "cs", "counters": {"memory": {"value": "80Gi"}}}]
    consuming = device(
        "d0", consumesCounters=[{"counterSet": "cs", "counters": {"memory": {"value": "40Gi"}}}]
    )
    cluster = device_cluster(
        NODES,
        make_slice("counters", pool="p", count=2, nodeName="n1", sharedCounters=counters),
        make_slice("devices", [consuming], pool="p", count=2, nodeName="n1"),
        make_slice("broken", pool="q", nodeName="n1", sharedCounters=counters * 2),
    )
    assert seen(cluster) == {"n1": ["p/d0"], "n2": [], "n3": []}
    grouping = cluster.devices.slices.grouping(cluster.columns)
    others = grouping.group_of_row[1]
    assert others is not None
    # Upstream, too, looks at a pool's counters on every Node, and finds it invalid there.
    assert [pool.is_invalid for pool in others.pools] == [True]
    assert set(grouping.groups_of_pool) == {cluster.devices.allocated.code(("gpu.example", "p"))}


def test_a_pool_that_is_being_replaced_is_seen_by_nobody() -> None:
    old = make_slice("a", [device("d0")], pool="p", count=2, nodeName="n1")
    new = make_slice("b", [device("d0")], pool="p", generation=2, nodeName="n2")
    assert seen(device_cluster(NODES, old, new)) == {"n1": [], "n2": ["p/d0"], "n3": []}
    assert [s.name for s in device_cluster(NODES, old, new).devices.slices.slices()] == ["a", "b"]
