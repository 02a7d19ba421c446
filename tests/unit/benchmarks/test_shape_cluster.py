"""What a shape's Pods and objects are, as the API server gets them."""

from collections import defaultdict
from typing import Any

import msgspec
import pytest

from benchmarks.manifests import node_name
from benchmarks.shape_cluster import PodMaker, ShapeCluster, filled
from benchmarks.workloads import ShapeWorkload, load_workloads

WORKLOADS = load_workloads(quick=True)
PLACE = ("space", "pod-1", "node-1")
SHAPES = {shape.name: shape for shape in WORKLOADS.shapes}


class Recorder:
    """Takes what is created."""

    def __init__(self) -> None:
        self.created: defaultdict[str, list[Any]] = defaultdict(list)

    async def create(self, resource: Any, body: bytes) -> None:
        self.created[resource.collection].append(msgspec.json.decode(body))

    async def create_at(self, path: str, body: bytes) -> None:
        self.created[path].append(msgspec.json.decode(body))

    async def create_nodes(self, pool: Any, count: int) -> None:
        self.created["/api/v1/nodes"] += [{}] * count


async def fill(shape: ShapeWorkload) -> Recorder:
    recorder = Recorder()
    cluster: Any = recorder
    await ShapeCluster(cluster, WORKLOADS, shape, "someone").fill()
    return recorder


def test_names_take_the_places_that_are_kept_for_them() -> None:
    assert filled(b"{namespace}/{pod} on {node}, {pod}", PLACE) == b"space/pod-1 on node-1, pod-1"


@pytest.mark.parametrize("pool", WORKLOADS.pod_pools)
def test_nothing_is_left_to_fill_in(pool: str) -> None:
    maker = PodMaker(WORKLOADS, pool, scheduler_name="someone", is_placed=True)
    body = maker.body(PLACE)
    assert not any(mark in body for mark in (b"{pod}", b"{node}", b"{namespace}"))
    pod = msgspec.json.decode(body)
    assert pod["metadata"]["name"] == "pod-1"
    assert (pod["spec"]["schedulerName"], pod["spec"]["nodeName"]) == ("someone", "node-1")


def test_a_pod_of_a_daemonset_asks_for_its_own_node() -> None:
    maker = PodMaker(WORKLOADS, "on_own_node", scheduler_name="someone")
    spec = msgspec.json.decode(maker.body(PLACE))["spec"]
    assert "nodeName" not in spec
    assert b'"values":["node-1"]' in msgspec.json.encode(spec)


def test_the_templates_of_a_pool_come_in_turn() -> None:
    maker = PodMaker(WORKLOADS, "some_ask_for_managed", scheduler_name="someone")
    asking = [b"example.com/managed" in maker.body(PLACE, index) for index in range(8)]
    assert asking == [True, False, False, False] * 2
    assert maker.body(PLACE) == maker.body(PLACE, 4)


async def test_what_is_there_before_is_on_the_nodes_in_turn() -> None:
    created = (await fill(SHAPES["mixed"])).created
    pods = created["/api/v1/namespaces/placed-0/pods"]
    assert len(pods) == SHAPES["mixed"].placed_count == 2 * SHAPES["mixed"].node_count
    colors_by_node = defaultdict(list)
    for pod in pods:
        colors_by_node[pod["spec"]["nodeName"]].append(pod["metadata"]["labels"].get("color"))
    assert all(len(colors) == len(set(colors)) == 2 for colors in colors_by_node.values())
    assert set(colors_by_node) == {node_name(index) for index in range(500)}


async def test_each_node_and_pod_gets_what_it_needs() -> None:
    shape = SHAPES["csi-volumes"]
    created = (await fill(shape)).created
    assert len(created["/apis/storage.k8s.io/v1/csinodes"]) == shape.node_count
    claims = created["/api/v1/namespaces/placed-0/persistentvolumeclaims"]
    volumes = {each["metadata"]["name"] for each in created["/api/v1/persistentvolumes"]}
    assert {claim["spec"]["volumeName"] for claim in claims} == volumes
    assert len(volumes) == shape.placed_count


async def test_waiting_pods_are_the_schedulers_and_gated() -> None:
    shape = SHAPES["gated-affinity"]
    waiting = (await fill(shape)).created["/api/v1/namespaces/waiting/pods"]
    assert len(waiting) == shape.waiting_count
    assert all(pod["spec"]["schedulingGates"] for pod in waiting)
    assert {pod["spec"]["schedulerName"] for pod in waiting} == {"someone"}


async def test_namespaces_that_selectors_are_for_have_the_label() -> None:
    shape = SHAPES["preferred-affinity-namespaces"]
    namespaces = (await fill(shape)).created["/api/v1/namespaces"]
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in namespaces}
    assert labels["warm-up"] == {}
    assert labels["measured"] == labels["placed-9"] == {"team": "devops"}
