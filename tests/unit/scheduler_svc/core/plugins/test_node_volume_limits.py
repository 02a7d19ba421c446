"""NodeVolumeLimits: a Node takes so many volumes of a driver."""

from typing import Any

import pytest

from scheduler_svc.core.framework.cluster_evaluation import evaluation_of
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.plugins.node_volume_limits import NewVolumes, NodeVolumeLimits
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, SUCCESS, Code
from scheduler_svc.core.storage_objects import CSINode
from scheduler_svc.core.volume_objects import (
    AWSElasticBlockStoreVolumeSource,
    ISCSIVolumeSource,
    Volume,
)
from tests.builders import make_node_info, make_profile
from tests.storage import (
    DRIVER,
    claiming,
    csi,
    ephemeral,
    make_attachment,
    make_claim,
    make_class,
    make_csi_node,
    make_storage_cluster,
    make_volume,
    pod_claiming,
    pod_with,
    tell,
    untell,
)
from tests.unit.scheduler_svc.core.plugins.asking import (
    NODE_ADD,
    POD_DELETE,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    is_queued,
    registered,
)
from tests.unit.scheduler_svc.core.plugins.storage_asking import (
    ATTACHMENT_DELETE,
    CLAIM_ADD,
    CLAIM_UPDATE,
    CSI_NODE_ADD,
    CSI_NODE_DELETE,
    CSI_NODE_UPDATE,
    Answer,
)

NODES = [make_node_info("a"), make_node_info("b")]
EXCEEDS = (UNSCHEDULABLE, ["node(s) exceed max volume count"])
LIMITED = make_csi_node("a", {DRIVER: 1})
POD = pod_claiming("data")
BOUND = [make_claim(volume="pv"), make_volume(csi=csi("h"))]
MADE = make_class(provisioner=DRIVER)
ANY_STATE = NewVolumes(make_storage_cluster().volumes, ())


def ebs(volume_id: str) -> Volume:
    return Volume(name="disk", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id))


def answer(pod: PodInfo, *objects: Any, users: list[PodInfo] | None = None) -> Answer:
    cluster = make_storage_cluster(NODES, objects, users or [])
    return Answer(NodeVolumeLimits(), pod, cluster)


def test_a_node_that_is_full() -> None:
    others = [make_claim("other", volume="pv-2"), make_volume("pv-2", csi=csi("h2"))]
    user = pod_claiming("other", name="u", node="a")
    assert answer(POD, LIMITED, *BOUND, *others).nodes == {"a": None, "b": None}
    full = answer(POD, LIMITED, *BOUND, *others, users=[user])
    assert full.nodes == {"a": EXCEEDS, "b": None}
    assert full.failure is None


def test_a_volume_that_is_there_already() -> None:
    user = pod_claiming("data", name="u", node="a")
    assert answer(POD, LIMITED, *BOUND, users=[user]).nodes == {"a": None, "b": None}


def test_volumes_that_are_to_be_made_count_for_their_driver() -> None:
    none = make_csi_node("a", {DRIVER: 0})
    assert answer(POD, none, make_claim(), MADE).nodes == {"a": EXCEEDS, "b": None}
    local = answer(POD, none, make_claim(), make_class())
    assert local.nodes == {"a": None, "b": None}
    two = pod_claiming("data", "logs")
    assert answer(two, LIMITED, make_claim(), make_claim("logs"), MADE).nodes["a"] == EXCEEDS


def test_volumes_that_are_not_counted() -> None:
    none = make_csi_node("a", {DRIVER: 0})
    assert answer(POD, none, make_claim(storage_class=None)).nodes == {"a": None, "b": None}


def test_volumes_written_into_the_pod() -> None:
    none = make_csi_node("a", {"ebs.csi.aws.com": 0})
    assert answer(pod_with(ebs("vol-1")), none).nodes == {"a": EXCEEDS, "b": None}
    other = Volume(iscsi=ISCSIVolumeSource("i"))
    assert answer(pod_with(other), none).status == SKIP
    assert answer(pod_with(), none).status == SKIP


def test_a_claim_that_is_missing() -> None:
    reason = 'looking up PVC default/data: persistentvolumeclaim "data" not found'
    missing = answer(POD)
    assert missing.status == SUCCESS
    assert missing.nodes == dict.fromkeys("ab", (UNRESOLVABLE, [reason]))
    assert missing.failure is None


def test_faults_end_the_attempt_where_they_show() -> None:
    pod = pod_with(ebs("aws://a/x"))
    text = (
        'running "NodeVolumeLimits" filter plugin: converting volume(disk) from inline to csi: '
        "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume "
        "(aws://a/x)"
    )
    assert answer(pod).nodes == {"a": None, "b": None}
    assert answer(pod).failure is None
    faulty = answer(pod, LIMITED)
    assert faulty.nodes == {"a": (Code.ERROR, [text]), "b": None}
    assert faulty.failure is not None
    assert faulty.failure.message == text


def test_a_claim_made_for_another_pod_is_a_fault() -> None:
    pod = pod_with(*claiming("data"), ephemeral(), name="web")
    foreign = answer(pod, *BOUND, make_claim("web-scratch"))
    assert foreign.failure is not None
    assert foreign.failure.message == (
        'running "NodeVolumeLimits" filter plugin: '
        "PVC default/web-scratch was not created for pod default/web (pod is not owner)"
    )
    own = answer(pod, *BOUND, make_claim("web-scratch", owner="uid-web"))
    assert own.nodes == {"a": None, "b": None}


OTHER_CLAIM = make_claim("u-scratch")
MALFORMED = "Invalid format for AWS volume (aws://a/x)"


def faulty_pod(node: str) -> PodInfo:
    """Give a Pod whose claim, u-scratch, may be another Pod's."""
    return pod_with(ephemeral(), name="u", node=node)


def test_a_running_pod_whose_claim_is_another_pods_fails_attempts() -> None:
    text = (
        'running "NodeVolumeLimits" filter plugin: '
        "PVC default/u-scratch was not created for pod default/u (pod is not owner)"
    )
    failing = answer(POD, LIMITED, *BOUND, OTHER_CLAIM, users=[faulty_pod("a")])
    assert failing.nodes == {"a": (Code.ERROR, [text]), "b": None}
    assert failing.failure is not None
    assert failing.failure.message == text
    # Where there are no limits upstream does not look at the Pods.
    elsewhere = answer(POD, LIMITED, *BOUND, OTHER_CLAIM, users=[faulty_pod("b")])
    assert elsewhere.nodes == {"a": None, "b": None}
    # Nor for a Pod that brings no volumes.
    uncounted = answer(POD, LIMITED, make_claim(), OTHER_CLAIM, users=[faulty_pod("a")])
    assert uncounted.nodes == {"a": None, "b": None}


def test_of_several_faults_the_first_nodes_is_told() -> None:
    users = [
        pod_with(ebs("aws://a/x"), name="v", node="b"),
        faulty_pod("a"),
        pod_with(ebs("aws://a/x"), name="w", node="a"),
    ]
    both = answer(POD, LIMITED, make_csi_node("b", {DRIVER: 1}), *BOUND, OTHER_CLAIM, users=users)
    assert [rejection and rejection[0] for rejection in both.nodes.values()] == [Code.ERROR] * 2
    assert both.failure is not None
    assert "u-scratch" in both.failure.message
    assert MALFORMED in str(both.nodes["b"])


def test_nodes_that_are_full_are_told_apart_from_faulty_ones() -> None:
    others = [make_claim("other", volume="pv-2"), make_volume("pv-2", csi=csi("h2"))]
    users = [pod_claiming("other", name="o", node="a"), pod_with(ebs("aws://a/x"), node="b")]
    limited = [LIMITED, make_csi_node("b", {DRIVER: 1})]
    mixed = answer(POD, *limited, *BOUND, *others, users=users)
    assert mixed.nodes["a"] == EXCEEDS
    assert MALFORMED in str(mixed.nodes["b"])


def test_without_quirks_faulty_pods_are_not_counted() -> None:
    objects = [LIMITED, *BOUND, OTHER_CLAIM]
    cluster = make_storage_cluster(NODES, objects, [faulty_pod("a")])
    lenient = Answer(NodeVolumeLimits(upstream_quirks=False), POD, cluster)
    assert lenient.nodes == {"a": None, "b": None}
    assert lenient.failure is None


def test_what_is_wrong_is_forgotten_before_nodes_are_asked_anew() -> None:
    plugin = NodeVolumeLimits()
    cluster = make_storage_cluster(NODES, [LIMITED, *BOUND, OTHER_CLAIM], [faulty_pod("a")])
    prepared = prepare(make_profile({"preFilter": [plugin], "filter": [plugin]}), POD, cluster)
    evaluation = evaluation_of(prepared)
    evaluation.refresh(cluster.columns)
    assert prepared.failure() is not None
    untell(cluster, OTHER_CLAIM)
    evaluation.refresh(cluster.columns)
    assert prepared.failure() is None


def test_what_is_read_is_what_the_volumes_count_as() -> None:
    plugin, cluster = NodeVolumeLimits(), make_storage_cluster(NODES)
    read = [plugin.projection(POD, cluster)]
    tell(cluster, make_claim(), MADE)
    read.append(plugin.projection(POD, cluster))
    tell(cluster, *BOUND)
    read.append(plugin.projection(POD, cluster))
    assert len(set(read)) == 3
    tell(cluster, make_volume(csi=csi("h"), phase="Bound"), make_claim("other"))
    assert plugin.projection(POD, cluster) == read[-1]
    assert plugin.projection(pod_with(), cluster) is None


def test_events() -> None:
    plugin = NodeVolumeLimits()
    assert registered(plugin) == {"Node add", "Pod delete"}
    assert is_queued(plugin, NODE_ADD, POD, None, NODES[0])
    assert is_queued(plugin, CSI_NODE_ADD, POD, None, LIMITED)
    assert is_queued(plugin, CSI_NODE_DELETE, POD, LIMITED, None)


@pytest.mark.parametrize(
    ("new", "queued"),
    [
        (make_csi_node("a", {DRIVER: 2}), True),
        (make_csi_node("a", {DRIVER: None}), True),
        (make_csi_node("a", {}), True),
        (make_csi_node("a", {DRIVER: 1, "other": 5}), False),
        (make_csi_node("a", {DRIVER: 0}), False),
    ],
)
def test_limits_that_call_the_pod(new: CSINode, queued: bool) -> None:
    old = make_csi_node("a", {DRIVER: 1, "unlimited": None})
    assert is_queued(NodeVolumeLimits(), CSI_NODE_UPDATE, POD, old, new) is queued


@pytest.mark.parametrize(
    ("gone", "queued"),
    [
        (pod_claiming("x", name="g", node="a"), True),
        (pod_claiming("x", name="g", nominated="a"), True),
        (pod_claiming("x", name="g"), False),
        (pod_with(ebs("vol-1"), name="g", node="a"), True),
        (pod_with(ephemeral(), name="g", node="a"), True),
        (pod_with(Volume(iscsi=ISCSIVolumeSource("i")), name="g", node="a"), False),
        (pod_with(name="g", node="a"), False),
    ],
)
def test_pods_whose_end_calls_the_pod(gone: PodInfo, queued: bool) -> None:
    assert is_queued(NodeVolumeLimits(), POD_DELETE, POD, gone, None) is queued


@pytest.mark.parametrize(("name", "queued"), [("data", True), ("other", False)])
def test_claims_that_call_the_pod(name: str, queued: bool) -> None:
    for event in (CLAIM_ADD, CLAIM_UPDATE):
        assert is_queued(NodeVolumeLimits(), event, POD, None, make_claim(name)) is queued


@pytest.mark.parametrize(
    ("pod", "queued"),
    [
        (POD, True),
        (pod_with(ephemeral()), True),
        (pod_with(ebs("vol-1")), True),
        (pod_with(Volume(iscsi=ISCSIVolumeSource("i"))), False),
    ],
)
def test_detached_volumes_that_call_the_pod(pod: PodInfo, queued: bool) -> None:
    gone = make_attachment("1", "a", "pv", attacher="ebs.csi.aws.com")
    assert is_queued(NodeVolumeLimits(), ATTACHMENT_DELETE, pod, gone, None) is queued
    other = make_attachment("1", "a", "pv", attacher="other")
    is_claiming = pod is POD or pod.volumes[0].ephemeral is not None
    assert is_queued(NodeVolumeLimits(), ATTACHMENT_DELETE, pod, other, None) is is_claiming


def test_pods_without_volumes_do_not_concern_it() -> None:
    assert NodeVolumeLimits().is_concerned_by(ANY_STATE, pod_claiming("x", node="a"))
    assert not NodeVolumeLimits().is_concerned_by(ANY_STATE, pod_with(node="a"))
