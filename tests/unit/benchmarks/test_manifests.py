import msgspec

from benchmarks.manifests import ReplicaSetPods, as_stored, node_manifest, plain_pod
from benchmarks.workloads import NodeShape, PodRequests, PodTemplate, load_workloads
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Node, Pod
from scheduler_svc.core.pods import PodInfo, PodInterner

TEMPLATE = PodTemplate(requests=PodRequests(milli_cpu=100, mebibytes=500), class_step_milli_cpu=1)


def decode_pod(manifest: object) -> Pod:
    return msgspec.json.decode(msgspec.json.encode(manifest), type=Pod)


def test_a_node_has_its_shape_a_zone_and_its_own_hostname() -> None:
    shape = NodeShape(
        allocatable={"cpu": "32", "memory": "64Gi", "pods": "110"},
        labels={"disk": "ssd"},
        taints=({"key": "spot", "effect": "NoSchedule"},),
    )
    raw = msgspec.json.encode(node_manifest(4, [shape]))
    node = NodeInfo.from_node(msgspec.json.decode(raw, type=Node))
    assert node.name == "node-00004"
    assert dict(node.allocatable) == {"cpu": 32_000, "memory": 64 * 2**30, "pods": 110}
    assert node.labels["kubernetes.io/hostname"] == "node-00004"
    assert node.labels["topology.kubernetes.io/zone"] == "zone-1"
    assert node.labels["disk"] == "ssd"
    assert [taint.key for taint in node.taints] == ["spot"]


def test_a_plain_pod_asks_for_what_its_template_says() -> None:
    manifest = plain_pod("p", TEMPLATE, namespace="n", scheduler_name="s")
    pod = decode_pod(manifest)
    resources = pod.spec.containers[0].resources
    assert resources is not None
    assert resources.requests == {"cpu": "100m", "memory": "500Mi"}
    assert (pod.metadata.namespace, pod.spec.scheduler_name) == ("n", "s")


def intern_pods(*class_indices: int) -> list[PodInfo]:
    interner = PodInterner()
    pods = ReplicaSetPods([TEMPLATE], scheduler_name="s")
    return [
        interner.intern(decode_pod(as_stored(pods.pod(class_index), index=index)))
        for index, class_index in enumerate(class_indices)
    ]


def test_pods_of_one_class_differ_in_names_only_and_classes_in_requests() -> None:
    first, other, again = intern_pods(0, 1, 0)
    assert first.shape is again.shape
    assert first.shape is not other.shape
    assert len({first.name, other.name, again.name}) == 3
    assert len({first.uid, other.uid, again.uid}) == 3


def test_every_pod_has_a_token_volume_of_its_own_and_an_owner() -> None:
    pods = ReplicaSetPods([TEMPLATE], scheduler_name="s")
    one, two = pods.pod(0), pods.pod(0)
    assert one["spec"]["volumes"][1]["name"] != two["spec"]["volumes"][1]["name"]
    assert one["metadata"]["ownerReferences"] == two["metadata"]["ownerReferences"]
    assert one["spec"]["containers"][0]["volumeMounts"][1]["name"].startswith("kube-api-access-")


def test_a_bound_pod_names_its_node() -> None:
    pods = ReplicaSetPods([TEMPLATE], scheduler_name="s")
    assert pods.pod(0, node_name="node-1")["spec"]["nodeName"] == "node-1"
    assert "nodeName" not in pods.pod(0)["spec"]


def test_templates_are_laid_over_and_keep_the_default_tolerations() -> None:
    template = PodTemplate(
        requests=PodRequests(milli_cpu=1, mebibytes=1),
        spec={"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "spot"}]},
    )
    spec = ReplicaSetPods([template], scheduler_name="s").pod(0)["spec"]
    assert spec["nodeSelector"] == {"disk": "ssd"}
    assert [toleration["key"] for toleration in spec["tolerations"]] == [
        "spot",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]


def test_the_mixed_pool_is_decoded_as_it_is_written() -> None:
    templates = load_workloads().pod_pools["mixed"]
    pods = ReplicaSetPods(templates, scheduler_name="s")
    decoded = [decode_pod(pods.pod(class_index)) for class_index in range(10)]
    affinities = [pod.spec.affinity for pod in decoded if pod.spec.affinity is not None]
    assert len(affinities) == 2
    node_affinity = affinities[0].node_affinity
    assert node_affinity is not None
    assert node_affinity.required is not None
    expression = node_affinity.required.node_selector_terms[0].match_expressions[0]
    assert expression.values == ("zone-0", "zone-1")
    assert node_affinity.preferred is not None
    assert node_affinity.preferred[0].weight == 50
    assert sum(pod.spec.node_selector == {"disk": "ssd"} for pod in decoded) == 2
