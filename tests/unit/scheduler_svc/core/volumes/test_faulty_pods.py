"""Pods whose volumes make no sense, as Pods and claims come and go."""

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.volume_objects import AWSElasticBlockStoreVolumeSource, Volume
from tests.builders import make_node_info
from tests.storage import (
    claiming,
    ephemeral,
    make_claim,
    make_storage_cache,
    pod_with,
    tell,
    untell,
)

NODES = [make_node_info("a"), make_node_info("b")]
FOREIGN = make_claim("p-scratch")
NOT_OWNER = "PVC default/p-scratch was not created for pod default/p (pod is not owner)"
MALFORMED = (
    "converting volume(disk) from inline to csi: failed to translate Kubernetes ID to EBS Volume "
    "ID Invalid format for AWS volume (aws://a/x)"
)


def disk(volume_id: str) -> Volume:
    return Volume(name="disk", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id))


def faults(cluster: Cluster) -> dict[str, str]:
    """Give what is wrong by Node."""
    faulty = cluster.volumes.faulty_pods
    return {cluster.columns.names[row]: faulty.fault(row) for row in faulty.rows}


def test_a_claim_may_turn_out_to_be_another_pods() -> None:
    pod = pod_with(*claiming("data"), ephemeral(), node="a")
    cache = make_storage_cache(NODES, [], [pod])
    cluster = cache.cluster
    assert faults(cluster) == {}
    assert cluster.volumes.faulty_pods.fault(0) == ""
    tell(cluster, FOREIGN)
    assert faults(cluster) == {"a": NOT_OWNER}
    tell(cluster, make_claim("p-scratch", owner="uid-p"))
    assert faults(cluster) == {}
    tell(cluster, FOREIGN)
    untell(cluster, FOREIGN)
    assert faults(cluster) == {}
    tell(cluster, FOREIGN, make_claim("elsewhere"))
    cache.remove(pod.uid)
    assert faults(cluster) == {}
    tell(cluster, make_claim("p-scratch", owner="uid-q"))
    assert faults(cluster) == {}


def test_a_volume_written_into_the_pod_may_be_malformed() -> None:
    sound = pod_with(disk("vol-1"), name="sound", node="b")
    bad, worse = (pod_with(disk("aws://a/x"), name=name, node="a") for name in ("bad", "worse"))
    cache = make_storage_cache(NODES, [], [sound, bad, worse])
    assert faults(cache.cluster) == {"a": MALFORMED}
    cache.remove(bad.uid)
    assert faults(cache.cluster) == {"a": MALFORMED}
    cache.remove(worse.uid)
    assert faults(cache.cluster) == {}


def test_the_first_fault_of_a_pod_is_told() -> None:
    pod = pod_with(disk("vol-1"), ephemeral(), disk("aws://a/x"), node="a")
    cache = make_storage_cache(NODES, [make_claim("p-scratch", owner="uid-p")], [pod])
    assert faults(cache.cluster) == {"a": MALFORMED}
    tell(cache.cluster, FOREIGN)
    assert faults(cache.cluster) == {"a": NOT_OWNER}


def test_two_pods_may_want_the_same_claim() -> None:
    # Of one name, one after the other, before the watch has told of the first one's end.
    pods = [pod_with(ephemeral(), node=node, uid=f"uid-{node}") for node in "ab"]
    cache = make_storage_cache(NODES, [make_claim("p-scratch", owner="uid-a")], pods)
    assert faults(cache.cluster) == {"b": NOT_OWNER}
    cache.remove("uid-a")
    tell(cache.cluster, make_claim("p-scratch", owner="uid-b"))
    assert faults(cache.cluster) == {}


def test_a_claim_may_have_no_name() -> None:
    cache = make_storage_cache(NODES, [], [pod_with(*claiming("data", ""), node="b")])
    assert faults(cache.cluster) == {"b": "PersistentVolumeClaim had no name"}
