"""NodePorts: host ports that are taken."""

import pytest

from scheduler_svc.core.objects import ContainerPort
from scheduler_svc.core.plugins.node_ports import NodePorts
from tests.builders import make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.plugins.asking import (
    NODE_ADD,
    POD_DELETE,
    UNSCHEDULABLE,
    filtered,
    is_queued,
    passing,
    registered,
)

NODES = [make_node_info("a"), make_node_info("b")]
NO = (UNSCHEDULABLE, ["node(s) didn't have free ports for the requested pod ports"])
HTTP = ContainerPort(host_port=80)
HTTP_OF_ONE_ADDRESS = ContainerPort(host_port=80, host_ip="10.0.0.1")
HTTPS = ContainerPort(host_port=443)


def test_a_port_that_is_taken() -> None:
    pod, holder = make_pod_info(ports=[HTTP]), make_pod_info("h", node="a", ports=[HTTPS, HTTP])
    assert filtered(NodePorts(), pod, NODES, [holder]) == {"a": NO, "b": None}


@pytest.mark.parametrize(
    ("wanted", "held", "passes"),
    [
        ([HTTP], [HTTPS], True),
        ([HTTPS, HTTP], [HTTP], False),
        ([HTTP_OF_ONE_ADDRESS], [HTTP], False),
        ([HTTP], [HTTP_OF_ONE_ADDRESS], False),
        ([HTTP_OF_ONE_ADDRESS], [ContainerPort(host_port=80, host_ip="10.0.0.2")], True),
        ([HTTP], [ContainerPort(host_port=80, protocol="UDP")], True),
        ([HTTP], [ContainerPort(host_port=0)], True),
        ([ContainerPort(host_port=0)], [HTTP], True),
        ([], [HTTP], True),
    ],
)
def test_conflicts(wanted: list[ContainerPort], held: list[ContainerPort], passes: bool) -> None:
    holder = make_pod_info("h", node="a", ports=held)
    names = passing(NodePorts(), make_pod_info(ports=wanted), NODES, [holder])
    assert ("a" in names) is passes
    assert "b" in names


@pytest.mark.parametrize(
    ("gone", "queued"),
    [
        (make_pod_info("g", node="a", ports=[HTTP]), True),
        (make_pod_info("g", node="a", ports=[HTTP_OF_ONE_ADDRESS]), True),
        (make_pod_info("g", nominated="a", ports=[HTTP]), True),
        (make_pod_info("g", ports=[HTTP]), False),
        (make_pod_info("g", node="a", ports=[HTTPS]), False),
        (make_pod_info("g", node="a"), False),
    ],
)
def test_a_pod_that_held_a_wanted_port(gone: object, queued: bool) -> None:
    pod = make_pod_info(ports=[HTTP])
    assert is_queued(NodePorts(), POD_DELETE, pod, gone, None) is queued


def test_events() -> None:
    plugin = NodePorts()
    assert registered(plugin) == {"Node add", "Pod delete"}
    assert is_queued(plugin, NODE_ADD, make_pod_info(ports=[HTTP]), None, NODES[0])
