"""The facts of a Node that scheduling reads."""

import msgspec
import pytest

from scheduler_svc.core.errors import InputError
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import ContainerImage, Node, ObjectMeta, Taint
from tests.builders import GPU, make_node, make_node_info

JSON = b"""{
    "metadata": {"name": "n1", "uid": "u", "labels": {"zone": "a"}, "annotations": {"x": "y"}},
    "spec": {
        "unschedulable": true,
        "podCIDR": "10.0.0.0/24",
        "taints": [{"key": "team", "value": "x", "effect": "NoSchedule", "timeAdded": null}]
    },
    "status": {
        "capacity": {"cpu": "8"},
        "allocatable": {"cpu": "3920m", "memory": "8Gi", "pods": "110", "storage": "9"},
        "images": [{"names": ["app:1"], "sizeBytes": 5}]
    }
}"""


def test_facts_of_a_node_as_the_api_tells_it() -> None:
    assert NodeInfo.from_node(msgspec.json.decode(JSON, type=Node)) == NodeInfo(
        name="n1",
        labels={"zone": "a"},
        taints=(Taint("team", "NoSchedule", "x"),),
        unschedulable=True,
        allocatable=(("cpu", 3920), ("memory", 8 * 2**30), ("pods", 110)),
        images=(ContainerImage(("app:1",), 5),),
    )


def test_amounts_are_rounded_up_and_those_that_are_not_counted_left_out() -> None:
    node = make_node_info(
        pods="2.5",
        cpu="0.0001",
        memory="1.5",
        offers={"ephemeral-storage": "1Ki", GPU: 3, "requests.example.com/gpu": 1},
    )
    assert node.allocatable == (
        ("cpu", 1),
        ("ephemeral-storage", 1024),
        (GPU, 3),
        ("memory", 2),
        ("pods", 3),
    )


def test_a_bare_node_has_nothing() -> None:
    assert NodeInfo.from_node(Node(ObjectMeta("bare"))) == NodeInfo("bare", {})


def test_equal_facts_are_equal_whatever_else_changed() -> None:
    former = make_node("n", labels={"zone": "a"})
    newer = msgspec.structs.replace(
        former, metadata=msgspec.structs.replace(former.metadata, resource_version="2")
    )
    assert NodeInfo.from_node(former) == NodeInfo.from_node(newer)


def test_a_quantity_that_cannot_be_read_is_said() -> None:
    with pytest.raises(InputError, match="'many' is no quantity"):
        make_node_info(cpu="many")
