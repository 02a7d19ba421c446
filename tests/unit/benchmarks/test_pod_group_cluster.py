"""What groups and their Pods are, as the API server gets them, and what is wrong with them."""

from collections import defaultdict
from typing import Any

import msgspec

from benchmarks.cluster import Cluster
from benchmarks.pod_group_cluster import (
    POD_GROUP_LABEL,
    Members,
    define_pod_groups,
    faults_of_groups,
)
from benchmarks.shape_checks import Placement
from benchmarks.workloads import load_workloads
from kubeio.errors import NotFoundError
from scheduler_svc.core import group_objects

POOLS = load_workloads().pod_pools


class Recorder:
    """Takes what is created; what is defined is served when it is asked for the second time."""

    def __init__(self) -> None:
        self.created: defaultdict[str, list[Any]] = defaultdict(list)
        self.asked: list[str] = []
        self.client = self

    async def create(self, resource: Any, body: bytes) -> None:
        self.created[resource.collection].append(msgspec.json.decode(body))

    async def get_json(self, path: str, kind: Any) -> None:
        self.asked.append(path)
        if len(self.asked) == 1:
            raise NotFoundError(404, reason="NotFound", request=path)


def members(pod_count: int, member_count: int, pool: str = "plain") -> Members:
    return Members(
        POOLS[pool][0],
        namespace="space",
        scheduler_name="someone",
        pod_count=pod_count,
        member_count=member_count,
    )


def test_members_come_one_group_after_the_other() -> None:
    pods = [(name, msgspec.json.decode(body)) for name, body in members(5, 2).pods()]
    assert [name for name, _ in pods] == [pod["metadata"]["name"] for _, pod in pods]
    labels = [pod["metadata"]["labels"][POD_GROUP_LABEL] for _, pod in pods]
    assert labels == [*["group-00000"] * 2, *["group-00001"] * 2, "group-00002"]
    assert members(5, 2).groups() == {
        "group-00000": ["pod-00000", "pod-00001"],
        "group-00001": ["pod-00002", "pod-00003"],
        "group-00002": ["pod-00004"],
    }
    assert POD_GROUP_LABEL == group_objects.POD_GROUP_LABEL


def test_plain_pods_differ_from_members_in_the_label_alone() -> None:
    (_, plain), (_, member) = (next(iter(members(1, count).pods())) for count in (0, 1))
    with_label, without = msgspec.json.decode(member), msgspec.json.decode(plain)
    assert with_label["metadata"]["labels"].pop(POD_GROUP_LABEL) == "group-00000"
    assert with_label == without
    assert members(1, 0).groups() == {}


async def test_every_member_of_a_group_is_needed() -> None:
    recorder: Any = Recorder()
    await members(5, 2).create_groups(recorder)
    await members(5, 2).create_pods(recorder)
    created = recorder.created
    groups = created["/apis/scheduling.x-k8s.io/v1alpha1/namespaces/space/podgroups"]
    assert [(group["metadata"]["name"], group["spec"]["minMember"]) for group in groups] == [
        ("group-00000", 2),
        ("group-00001", 2),
        ("group-00002", 1),
    ]
    assert len(created["/api/v1/namespaces/space/pods"]) == 5


async def test_groups_are_waited_for_until_they_are_served() -> None:
    recorder: Any = Recorder()
    cluster: Cluster = recorder
    await define_pod_groups(cluster)
    assert recorder.asked == ["/apis/scheduling.x-k8s.io/v1alpha1/podgroups"] * 2
    (definition,) = recorder.created["/apis/apiextensions.k8s.io/v1/customresourcedefinitions"]
    assert definition["metadata"]["name"] == "podgroups.scheduling.x-k8s.io"


def waiting(node: str = "", message: str = "pod group g: needs 2, 1 fit") -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    return {
        "metadata": {"namespace": "waiting", "name": "pod"},
        "spec": {"nodeName": node} if node else {},
        "status": {"conditions": [condition] if message else []},
    }


def test_groups_that_are_as_they_should_be_have_no_fault() -> None:
    placement = Placement(nodes={}, pods=[], pending=[waiting()])
    assert faults_of_groups({"g": ["a", "b"], "h": ["c"]}, {"a": 1, "b": 2}, placement) == []


def test_each_fault_of_groups_is_counted() -> None:
    placement = Placement(nodes={}, pods=[waiting("n")], pending=[waiting(), waiting(message="")])
    assert faults_of_groups({"g": ["a", "b"], "h": ["c"]}, {"a": 1}, placement) == [
        "1 groups have some of their Pods on Nodes",
        "1 Pods of groups that do not fit are on Nodes",
        "1 Pods of groups that do not fit were not told so",
    ]
