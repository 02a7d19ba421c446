"""How many volumes are on each Node, whatever comes first."""

from typing import Any

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.volume_objects import (
    AWSElasticBlockStoreVolumeSource,
    ISCSIVolumeSource,
    Volume,
)
from scheduler_svc.core.volumes.migration import CSIVolume
from tests.builders import make_node_info
from tests.storage import (
    DRIVER,
    csi,
    make_attachment,
    make_claim,
    make_csi_node,
    make_storage_cache,
    make_storage_cluster,
    make_volume,
    pod_claiming,
    pod_with,
    tell,
    untell,
)

A, B = make_node_info("a"), make_node_info("b")
NEW = CSIVolume(DRIVER, "new")


def volume_of(name: str) -> CSIVolume:
    return CSIVolume(DRIVER, f"h-{name}")


def bound(*names: str) -> list[Any]:
    """Give claims with their volumes, named after them."""
    claims = [make_claim(name, volume=f"pv-{name}") for name in names]
    return [*claims, *(make_volume(f"pv-{name}", csi=csi(f"h-{name}")) for name in names)]


def full(cluster: Cluster, *volumes: CSIVolume) -> set[str]:
    """Name the Nodes that cannot take some volumes."""
    mask = cluster.volumes.attached.exceeding(volumes)
    return {cluster.columns.names[row] for row in mask.nonzero()[0]}


def test_each_volume_counts_once_on_a_node() -> None:
    pods = [
        pod_claiming("x", "y", name="p1", node="a"),
        pod_claiming("x", name="p2", node="a"),
        pod_claiming("x", name="p3", node="b"),
    ]
    cache = make_storage_cache([A, B], bound("x", "y"), pods)
    attached = cache.cluster.volumes.attached
    assert attached.counted(DRIVER) == {"a": 2, "b": 1}
    assert attached.held() == {volume_of("x"): {"a", "b"}, volume_of("y"): {"a"}}
    cache.remove("uid-p1")
    assert attached.counted(DRIVER) == {"a": 1, "b": 1}
    cache.remove("uid-p2")
    cache.remove("uid-p3")
    assert attached.counted(DRIVER) == {}
    assert attached.held() == {}


def test_claims_that_become_bound_while_pods_use_them() -> None:
    pod = pod_claiming("x", "x", name="p1", node="a")
    cluster = make_storage_cluster([A], [], [pod])
    assert cluster.volumes.attached.held() == {}
    tell(cluster, *bound("x"))
    assert cluster.volumes.attached.held() == {volume_of("x"): {"a"}}
    untell(cluster, make_claim("x"))
    assert cluster.volumes.attached.held() == {}


def test_volumes_written_into_pods() -> None:
    disk = Volume(aws_elastic_block_store=AWSElasticBlockStoreVolumeSource("vol-1"))
    faulty = Volume(aws_elastic_block_store=AWSElasticBlockStoreVolumeSource("aws://a/b"))
    other = Volume(iscsi=ISCSIVolumeSource("i"))
    pod = pod_with(disk, faulty, other, name="p1", node="a")
    cluster = make_storage_cluster([A], [], [pod])
    assert cluster.volumes.attached.held() == {CSIVolume("ebs.csi.aws.com", "vol-1"): {"a"}}


def test_what_is_attached_counts_besides_what_pods_use() -> None:
    objects = [
        *bound("x", "y"),
        make_attachment("1", "a", "pv-x"),
        make_attachment("2", "a", "pv-y"),
        make_attachment("3", "b", "pv-y", attacher=""),
        make_attachment("4", "b", None),
        make_attachment("5", "b", "pv-later"),
        make_attachment("6", "gone", "pv-x"),
        make_volume("local"),
        make_attachment("7", "b", "local"),
    ]
    pod = pod_claiming("x", name="p1", node="a")
    cluster = make_storage_cluster([A, B], objects, [pod])
    attached = cluster.volumes.attached
    assert attached.counted(DRIVER) == {"a": 2}
    tell(cluster, make_volume("pv-later", csi=csi("late")))
    assert attached.counted(DRIVER) == {"a": 2, "b": 1}
    untell(cluster, make_attachment("2", "a", "pv-y"), make_attachment("4", "b", None))
    assert attached.counted(DRIVER) == {"a": 1, "b": 1}
    tell(cluster, make_attachment("5", "a", "pv-later"))
    assert attached.counted(DRIVER) == {"a": 2}
    untell(cluster, make_volume("pv-later"))
    assert attached.counted(DRIVER) == {"a": 1}


def test_attachments_and_limits_wait_for_their_node() -> None:
    objects = [*bound("x"), make_attachment("1", "b", "pv-x"), make_csi_node("b", {DRIVER: 1})]
    cache = make_storage_cache([A], objects)
    cluster = cache.cluster
    attached = cluster.volumes.attached
    assert attached.counted(DRIVER) == {}
    assert full(cluster, NEW) == set()
    cache.set_node(B)
    assert attached.counted(DRIVER) == {"b": 1}
    assert full(cluster, NEW) == {"b"}
    assert attached.has_csi_node.tolist()[:2] == [False, True]
    cache.remove_node("b")
    assert attached.counted(DRIVER) == {}
    # Another Node takes the row, then the first one comes back.
    cache.set_node(make_node_info("c"))
    assert full(cluster, NEW) == set()
    cache.set_node(B)
    assert full(cluster, NEW) == {"b"}
    assert attached.counted(DRIVER) == {"b": 1}


def test_a_node_that_moves_to_another_row_unseen() -> None:
    objects = [*bound("x"), make_attachment("1", "a", "pv-x"), make_csi_node("a", {DRIVER: 1})]
    cache = make_storage_cache([A, B], objects)
    cluster = cache.cluster
    assert full(cluster, NEW) == {"a"}
    cache.remove_node("a")
    cache.set_node(make_node_info("c"))
    cache.set_node(A)
    assert full(cluster, NEW) == {"a"}
    assert cluster.volumes.attached.counted(DRIVER) == {"a": 1}


def test_there_may_be_more_nodes_than_there_was_room_for() -> None:
    objects = [*bound("x"), make_csi_node("n0", {DRIVER: 0}), make_csi_node("n200", {DRIVER: 0})]
    cache = make_storage_cache([make_node_info("n0")], objects, [pod_claiming("x", node="n0")])
    assert full(cache.cluster, NEW) == {"n0"}
    for number in range(201):
        cache.set_node(make_node_info(f"n{number}"))
    assert full(cache.cluster, NEW) == {"n0", "n200"}
    assert cache.cluster.volumes.attached.counted(DRIVER) == {"n0": 1}
    assert int(cache.cluster.volumes.attached.has_csi_node.sum()) == 2


def test_everything_is_looked_at_once_the_log_of_changes_is_forgotten() -> None:
    cache = make_storage_cache([A], [make_csi_node("b", {DRIVER: 0})])
    assert full(cache.cluster, NEW) == set()
    for _ in range(70_000):
        cache.columns.spec_log.append(0)
    cache.set_node(B)
    assert full(cache.cluster, NEW) == {"b"}


def test_limits() -> None:
    objects = [*bound("x", "y"), make_csi_node("a", {DRIVER: 2, "other": 0})]
    pod = pod_claiming("x", name="p1", node="a")
    cluster = make_storage_cluster([A, B], objects, [pod])
    assert full(cluster, NEW) == set()
    assert full(cluster, volume_of("x"), NEW) == set()
    assert full(cluster, volume_of("y"), NEW) == {"a"}
    assert full(cluster, CSIVolume("other", "h")) == {"a"}
    assert full(cluster, CSIVolume("unknown", "h")) == set()
    tell(cluster, make_csi_node("a", {DRIVER: None}), make_csi_node("elsewhere", {DRIVER: 0}))
    assert full(cluster, volume_of("y"), NEW, CSIVolume("other", "h")) == set()
    tell(cluster, make_csi_node("a", {DRIVER: 0}))
    # What is there already is no new volume, even beyond the limit.
    assert full(cluster, volume_of("x")) == set()
    untell(cluster, make_csi_node("a"))
    assert full(cluster, NEW) == set()


def test_a_volume_that_is_merely_attached_is_counted_twice() -> None:
    objects = [*bound("x"), make_attachment("1", "a", "pv-x"), make_csi_node("a", {DRIVER: 1})]
    cluster = make_storage_cluster([A], objects)
    assert full(cluster, volume_of("x")) == {"a"}
