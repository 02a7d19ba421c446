"""The Nodes where CSI drivers serve in-tree plugins."""

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.volumes.migration import AWS, GCE
from tests.builders import make_node_info
from tests.storage import make_csi_node, make_storage_cluster


def moved(cluster: Cluster, plugin: str) -> str:
    mask = cluster.volumes.migrating_nodes.mask(plugin)
    return "".join(cluster.columns.names[row] for row in mask.nonzero()[0])


def test_nodes_come_and_go_by_what_their_csi_nodes_say() -> None:
    nodes = [make_node_info(name) for name in "abc"]
    said = [make_csi_node("a", migrated=f"{AWS},{GCE}"), make_csi_node("b", migrated=AWS)]
    cluster = make_storage_cluster(nodes, [*said, make_csi_node("c"), make_csi_node("x")])
    csi_nodes = cluster.objects[ObjectKind.CSI_NODE]
    assert (moved(cluster, AWS), moved(cluster, GCE), moved(cluster, "none")) == ("ab", "a", "")
    csi_nodes.upsert(make_csi_node("a", migrated=GCE))
    csi_nodes.upsert(make_csi_node("c", migrated=AWS))
    assert (moved(cluster, AWS), moved(cluster, GCE)) == ("bc", "a")
    csi_nodes.delete("b")
    assert moved(cluster, AWS) == "c"


def test_a_node_is_found_that_comes_after_its_csi_node() -> None:
    cluster = make_storage_cluster([make_node_info("a")], [make_csi_node("b", migrated=AWS)])
    assert moved(cluster, AWS) == ""
    cluster.columns.set_node(make_node_info("b"))
    assert moved(cluster, AWS) == "b"


def test_what_was_found_is_given_again() -> None:
    cluster = make_storage_cluster([make_node_info("a")], [make_csi_node("a", migrated=AWS)])
    migrating = cluster.volumes.migrating_nodes
    assert migrating.mask(AWS) is migrating.mask(AWS)
