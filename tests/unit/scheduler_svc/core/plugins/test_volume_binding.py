"""VolumeBinding: Pods go where their volumes can be, and wait until they have them."""

from typing import Any

import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.framework.interface import PreBindWork
from scheduler_svc.core.plugins.volume_binding import VolumeBinding
from scheduler_svc.core.status import SKIP, SUCCESS, Code, Status
from scheduler_svc.core.storage_objects import VolumeIDSource
from scheduler_svc.core.volumes.writes import VolumeWrites
from tests.builders import make_node_info
from tests.storage import (
    HOSTNAME,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_storage_cluster,
    make_volume,
    pod_claiming,
    pod_with,
    tell,
    untell,
)
from tests.unit.scheduler_svc.core.plugins.asking import (
    NODE_ADD,
    NODE_LABEL,
    POD_DELETE,
    UNRESOLVABLE,
    is_queued,
    registered,
)
from tests.unit.scheduler_svc.core.plugins.storage_asking import (
    CAPACITY_ADD,
    CAPACITY_UPDATE,
    CLAIM_ADD,
    CLAIM_UPDATE,
    CLASS_ADD,
    CLASS_UPDATE,
    CSI_NODE_ADD,
    CSI_NODE_UPDATE,
    DRIVER_DELETE,
    DRIVER_UPDATE,
    VOLUME_ADD,
    VOLUME_UPDATE,
    Answer,
)

NODES = [make_node_info(name, labels={HOSTNAME: name}) for name in ("a", "b")]
POD = pod_claiming("data")
UNREACHABLE = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
AWS = "kubernetes.io/aws-ebs"


def cluster_of(*objects: Any) -> Cluster:
    return make_storage_cluster(NODES, objects)


def test_pods_without_claims_are_skipped() -> None:
    cluster = cluster_of()
    assert Answer(VolumeBinding(), pod_with(), cluster).status == SKIP
    assert VolumeBinding().projection(pod_with(), cluster) is None


def test_claims_that_cannot_be_bound() -> None:
    answer = Answer(VolumeBinding(), POD, cluster_of())
    reason = 'persistentvolumeclaim "data" not found'
    assert answer.status == Status(UNRESOLVABLE, (reason,))


def test_nodes_and_all_that_stands_in_the_way() -> None:
    pod = pod_claiming("data", "more")
    objects = [
        make_claim(volume="pv"),
        make_volume("pv", on="a", claim="data"),
        make_claim("more"),
        make_class(),
    ]
    none = Answer(VolumeBinding(), pod, cluster_of(*objects))
    assert none.nodes == {
        "a": (UNRESOLVABLE, [NO_VOLUME]),
        "b": (UNRESOLVABLE, [UNREACHABLE, NO_VOLUME]),
    }
    some = Answer(VolumeBinding(), pod, cluster_of(*objects, make_volume("disk")))
    assert some.nodes == {"a": None, "b": (UNRESOLVABLE, [UNREACHABLE])}
    assert some.failure is None


def test_what_is_read_shows_a_volume_that_comes() -> None:
    plugin, cluster = VolumeBinding(), cluster_of(make_claim(), make_class())
    before = plugin.projection(POD, cluster)
    tell(cluster, make_volume())
    assert plugin.projection(POD, cluster) != before


def faulty(*nodes: str) -> Cluster:
    disk = make_volume("pv", aws_elastic_block_store=VolumeIDSource("aws://a/x"))
    csi_nodes = [make_csi_node(name, migrated=AWS) for name in nodes]
    return cluster_of(make_claim(volume="pv"), disk, *csi_nodes)


def test_faults_end_the_attempt_where_they_show() -> None:
    text = (
        'running "VolumeBinding" filter plugin: could not translate pv: failed to translate '
        "Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://a/x)"
    )
    answer = Answer(VolumeBinding(), POD, faulty("b"))
    assert answer.nodes == {"a": None, "b": (Code.ERROR, [text])}
    assert answer.failure is not None
    assert answer.failure.message == text
    assert Answer(VolumeBinding(), POD, faulty()).failure is None


def test_the_fault_of_the_first_node_by_name_that_was_asked_about() -> None:
    plugin, cluster = VolumeBinding(), faulty("b", "a")
    state = plugin.pre_filter(POD, cluster).state
    assert plugin.failure(state) is None
    columns = cluster.columns
    plugin.filter(state, NodeView(columns, columns.rows_of([])))
    assert plugin.failure(state) is None
    plugin.filter(state, NodeView(columns, columns.rows_of(["b"])))
    assert plugin.failure(state) is not None


def test_what_was_found_is_not_looked_for_twice() -> None:
    plugin = VolumeBinding()
    objects = [make_claim(), make_class(), make_volume("pv", on="a")]
    cluster, other = cluster_of(*objects), cluster_of(*objects)
    found = plugin.pre_filter(POD, cluster).state
    assert plugin.pre_filter(POD, cluster).state is found
    assert plugin.pre_filter(POD, other).state is not found
    for number in range(65):
        tell(cluster, make_claim(f"c{number}"))
        plugin.pre_filter(pod_claiming(f"c{number}", name=f"p{number}"), cluster)
    assert plugin.pre_filter(POD, cluster).state is not found


def test_faults_are_looked_at_anew() -> None:
    plugin, cluster = VolumeBinding(), faulty("b")
    state = plugin.pre_filter(POD, cluster).state
    plugin.filter(state, NodeView(cluster.columns, slice(0, 2)))
    assert plugin.pre_filter(POD, cluster).state is not state


def test_no_node_is_preferred() -> None:
    plugin, cluster = VolumeBinding(), cluster_of()
    assert plugin.pre_score(POD, cluster) == (SKIP, None)
    assert plugin.score(None, NodeView(cluster.columns, slice(0, 2))).tolist() == [0, 0]


def reserved(plugin: VolumeBinding, cluster: Cluster, node: str = "a") -> VolumeWrites:
    assert plugin.reserve(POD, node, cluster) == SUCCESS
    work = plugin.pre_bind(POD, node, cluster)
    assert isinstance(work, PreBindWork)
    assert work.timeout_seconds == 600
    assert work.timeout_error == "binding volumes: context deadline exceeded"
    writes: VolumeWrites = work.payload
    return writes


@pytest.mark.parametrize(
    "pod_and_objects",
    [
        (pod_with(), []),
        (POD, [make_claim(volume="pv"), make_volume("pv")]),
    ],
)
def test_nothing_is_reserved_where_every_claim_has_its_volume(pod_and_objects: Any) -> None:
    pod, objects = pod_and_objects
    plugin, cluster = VolumeBinding(), cluster_of(*objects)
    assert plugin.reserve(pod, "a", cluster) == SUCCESS
    assert plugin.pre_bind(pod, "a", cluster) == SKIP
    plugin.unreserve(pod, "a", cluster)


def test_a_claim_that_has_gone_since_the_filter() -> None:
    plugin = VolumeBinding()
    assert plugin.reserve(POD, "a", cluster_of()).code is UNRESOLVABLE


def test_a_volume_is_kept_until_it_is_given_back() -> None:
    plugin = VolumeBinding()
    cluster = cluster_of(make_claim(), make_claim("other"), make_class(), make_volume("pv", on="a"))
    other = pod_claiming("other", name="q")
    assert Answer(plugin, other, cluster).nodes["a"] is None
    before = plugin.projection(other, cluster)
    writes = reserved(plugin, cluster)
    assert [keep.volume.name for keep in writes.keep] == ["pv"]
    assert plugin.projection(other, cluster) != before
    assert Answer(plugin, other, cluster).nodes["a"] == (UNRESOLVABLE, [NO_VOLUME])
    plugin.unreserve(POD, "a", cluster)
    assert Answer(plugin, other, cluster).nodes["a"] is None
    assert plugin.pre_bind(POD, "a", cluster) == SKIP


def test_the_claims_volume_is_waited_for() -> None:
    plugin = VolumeBinding(bind_timeout_seconds=600)
    cluster = cluster_of(make_claim(), make_class(provisioner="csi"))
    [select] = reserved(plugin, cluster).select
    assert (select.claim.name, select.node_name) == ("data", "a")
    assert plugin.pre_bind_progress(POD, "a", cluster).code is Code.WAIT
    awaited = plugin.awaited_objects(POD, "a", cluster)
    assert set(awaited) == {(ObjectKind.PERSISTENT_VOLUME_CLAIM, "default/data")}
    annotations = {"volume.kubernetes.io/selected-node": "a"}
    tell(cluster, make_volume("pv"), make_claim(volume="pv", annotations=annotations))
    assert plugin.pre_bind_progress(POD, "a", cluster) == SUCCESS
    # There is nothing left to give back.
    plugin.unreserve(POD, "a", cluster)
    assert not is_queued(plugin, POD_DELETE, POD, POD, None)


def test_errors_while_waiting() -> None:
    plugin = VolumeBinding()
    cluster = cluster_of(make_claim(), make_class(provisioner="csi"))
    reserved(plugin, cluster)
    untell(cluster, make_claim())
    text = (
        "binding volumes: failed to check provisioning pvc: "
        'persistentvolumeclaims "default/data" not found'
    )
    assert plugin.pre_bind_progress(POD, "a", cluster) == Status(Code.ERROR, (text,))
    gone = Status(Code.ERROR, ('binding volumes: failed to get node "x": node "x" not found',))
    plugin.unreserve(POD, "a", cluster)
    tell(cluster, make_claim())
    reserved(plugin, cluster)
    assert plugin.pre_bind_progress(POD, "x", cluster).code is gone.code


def test_events() -> None:
    assert registered(VolumeBinding()) == {"Node add", "Node label", "Pod delete"}
    for event in (NODE_ADD, NODE_LABEL):
        assert is_queued(VolumeBinding(), event, POD, None, NODES[0])
    for event in (VOLUME_ADD, VOLUME_UPDATE):
        assert is_queued(VolumeBinding(), event, POD, make_volume(), make_volume())


def test_what_a_pod_gives_back_calls_the_others() -> None:
    plugin = VolumeBinding()
    cluster = cluster_of(make_claim(), make_class(), make_volume("pv"))
    waiting = pod_claiming("other", name="q")
    assert not is_queued(plugin, POD_DELETE, waiting, POD, None)
    reserved(plugin, cluster)
    plugin.unreserve(POD, "a", cluster)
    assert is_queued(plugin, POD_DELETE, waiting, POD, None)
    for number in range(64):
        pod = pod_claiming("data", name=f"later-{number}")
        plugin.reserve(pod, "a", cluster)
        plugin.unreserve(pod, "a", cluster)
    assert not is_queued(plugin, POD_DELETE, waiting, POD, None)


@pytest.mark.parametrize(
    ("event", "old", "new", "queued"),
    [
        (CLAIM_ADD, None, make_claim(), True),
        (CLAIM_UPDATE, make_claim(), make_claim(volume="pv"), True),
        (CLAIM_ADD, None, make_claim("other"), False),
        (CLASS_ADD, None, make_class(), True),
        (CLASS_UPDATE, make_class(), make_class(topologies=[{"zone": ["a"]}]), True),
        (CLASS_UPDATE, make_class(), make_class(), False),
        (CSI_NODE_ADD, None, make_csi_node("a"), True),
        (CSI_NODE_UPDATE, make_csi_node("a"), make_csi_node("a", migrated=AWS), True),
        (CSI_NODE_UPDATE, make_csi_node("a"), make_csi_node("a", {"d": 1}), False),
        (DRIVER_UPDATE, make_driver(), make_driver(tells_capacity=False), True),
        (DRIVER_UPDATE, make_driver(), make_driver(tells_capacity=None), True),
        (DRIVER_UPDATE, make_driver(), make_driver(), False),
        (DRIVER_UPDATE, make_driver(tells_capacity=False), make_driver(), False),
        (DRIVER_DELETE, make_driver(), None, True),
        (DRIVER_DELETE, make_driver(tells_capacity=False), None, False),
        (CAPACITY_ADD, None, make_capacity(), True),
        (CAPACITY_UPDATE, make_capacity(), make_capacity(capacity="1Gi"), True),
        (CAPACITY_UPDATE, make_capacity(capacity="1Gi"), make_capacity(capacity="2Gi"), True),
        (CAPACITY_UPDATE, make_capacity(capacity="2Gi"), make_capacity(capacity="1Gi"), False),
        (CAPACITY_UPDATE, make_capacity(capacity="2Gi"), make_capacity(), False),
    ],
)
def test_storage_objects_that_call_the_pod(event: Any, old: Any, new: Any, queued: bool) -> None:
    assert is_queued(VolumeBinding(), event, POD, old, new) is queued
