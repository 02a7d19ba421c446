"""Devices that stand for a resource, counted on each Node as things change."""

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.devices.resource_totals import ResourceTotals
from tests.builders import GPU, make_node_info
from tests.device_builders import (
    allocation,
    device,
    device_cluster,
    drop,
    make_claim,
    make_class,
    make_slice,
    put,
    result,
)

NODES = [make_node_info(name, labels={"zone": zone}) for name, zone in (("n1", "a"), ("n2", "b"))]
IN_B = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
ZONE_B = {"nodeSelectorTerms": [IN_B]}
GPUS = make_class("gpus", extendedResourceName=GPU)


def counts(cluster: Cluster) -> dict[str, tuple[int, int]]:
    """Give by Node how many devices it has, and how many of them are taken."""
    totals = ResourceTotals.of(cluster.devices, GPU)
    columns = cluster.columns
    capacity, taken = totals.at(NodeView(columns, slice(0, columns.capacity)))
    rows = {name: row for name, row in columns.rows.items() if columns.live[row]}
    return {name: (int(capacity[row]), int(taken[row])) for name, row in rows.items()}


def test_each_node_has_the_devices_that_it_reaches() -> None:
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
    cluster = device_cluster(
        NODES,
        GPUS,
        make_slice("n1", [device("d0")], nodeName="n1"),
        make_slice("elsewhere", [device("d0")], nodeName="n9"),
        make_slice("net", [device("d0"), device("d1")], allNodes=True),
        make_slice("zonal", [device("d0")], nodeSelector=ZONE_B),
        single,
    )
    # n1: n1, two of net, d0 and d1 of single. n2: two of net, zonal, d1 and d2 of single.
    assert counts(cluster) == {"n1": (5, 0), "n2": (5, 0)}
    cluster.columns.set_node(make_node_info("n1", labels={"zone": "b"}))
    assert counts(cluster) == {"n1": (7, 0), "n2": (5, 0)}


def test_slices_that_are_not_given_from_count_as_well() -> None:
    incomplete = make_slice("a", [device("d0")], nodeName="n1", count=2)
    old = make_slice("old", [device("d0")], pool="p", nodeName="n1")
    new = make_slice("new", [device("d0")], pool="p", nodeName="n1", generation=2)
    nowhere = make_slice("nowhere", [device("d0")])
    cluster = device_cluster(NODES, GPUS, incomplete, old, new, nowhere)
    assert counts(cluster) == {"n1": (4, 0), "n2": (1, 0)}


def test_taken_devices_follow_the_claims() -> None:
    cluster = device_cluster(
        NODES,
        GPUS,
        make_slice("n1", [device("d0"), device("d1")], nodeName="n1"),
        make_slice("net", [device("d0")], allNodes=True),
    )
    claim = make_claim(
        "c", status={"allocation": allocation(result("d1", "n1"), result("d0", "net"))}
    )
    assert counts(cluster) == {"n1": (3, 0), "n2": (1, 0)}
    totals = ResourceTotals.of(cluster.devices, GPU)
    before = totals.version(cluster.columns)
    assert totals.version(cluster.columns) == before
    put(cluster, claim)
    assert counts(cluster) == {"n1": (3, 2), "n2": (1, 1)}
    assert totals.version(cluster.columns) != before
    drop(cluster, claim)
    assert counts(cluster) == {"n1": (3, 0), "n2": (1, 0)}
    put(cluster, claim)
    # Counted from scratch, with the same slices and one more.
    put(cluster, make_slice("n2", [device("d0")], nodeName="n2"))
    assert counts(cluster) == {"n1": (3, 2), "n2": (2, 1)}


def test_a_claim_on_other_devices_changes_nothing() -> None:
    cluster = device_cluster(NODES, GPUS, make_slice("n1", [device("d0")], nodeName="n1"))
    totals = ResourceTotals.of(cluster.devices, GPU)
    before = totals.version(cluster.columns)
    put(cluster, make_claim("c", status={"allocation": allocation(result("d0", "other"))}))
    # Of the same pool, but no longer published.
    put(cluster, make_claim("e", status={"allocation": allocation(result("d7", "n1"))}))
    assert counts(cluster)["n1"] == (1, 0)
    assert totals.version(cluster.columns) == before


def test_only_devices_of_the_class_count() -> None:
    h100 = make_class(
        "gpus",
        'device.attributes["gpu.example"].model == "h100"',
        'device.attributes["gpu.example"].numa == 0',
        extendedResourceName=GPU,
    )
    devices = [
        device("d0", model="h100", numa=0),
        # The first selector has spoken: that the second has no answer does not matter.
        device("d1", model="a100"),
        device("d2", model="h100", numa=1),
    ]
    slice_ = make_slice("n1", devices, nodeName="n1")
    cluster = device_cluster(NODES, h100, slice_)
    assert counts(cluster)["n1"] == (1, 0)
    put(cluster, make_class("gpus", extendedResourceName=GPU))
    assert counts(cluster)["n1"] == (3, 0)
    drop(cluster, h100)
    assert counts(cluster)["n1"] == (0, 0)


def test_where_a_selector_has_no_answer_there_are_none() -> None:
    by_numa = make_class(
        "gpus", 'device.attributes["gpu.example"].numa == 0', extendedResourceName=GPU
    )
    cluster = device_cluster(
        NODES,
        by_numa,
        make_slice("net", [device("d0", numa=0)], allNodes=True),
        make_slice("n2", [device("d0")], nodeName="n2"),
    )
    assert counts(cluster) == {"n1": (1, 0), "n2": (0, 0)}


def test_a_device_is_asked_as_one_that_cannot_be_shared() -> None:
    shared = make_class("gpus", "device.allowMultipleAllocations", extendedResourceName=GPU)
    slice_ = make_slice("n1", [device("d0", allowMultipleAllocations=True)], nodeName="n1")
    cluster = device_cluster(NODES, shared, slice_)
    assert counts(cluster)["n1"] == (0, 0)
    put(cluster, make_class("gpus", "!device.allowMultipleAllocations", extendedResourceName=GPU))
    assert counts(cluster)["n1"] == (1, 0)


def test_a_selector_of_an_unknown_kind_is_passed_over() -> None:
    odd = make_class("gpus", extendedResourceName=GPU, selectors=[{}])
    cluster = device_cluster(NODES, odd, make_slice("n1", [device("d0")], nodeName="n1"))
    assert counts(cluster)["n1"] == (1, 0)


def test_those_who_look_at_one_resource_share_the_totals() -> None:
    cluster = device_cluster(NODES, GPUS)
    totals = ResourceTotals.of(cluster.devices, GPU)
    assert ResourceTotals.of(cluster.devices, GPU) is totals
