"""How Pods are connected: addresses, routes and the CNI configuration."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deploy.kind.network import (
    ROUTES,
    UNIT_TEXT,
    NodeAddresses,
    network_configuration,
    read_addresses,
    routes_of,
)


def node(name: str, *addresses: str, pod_range: str | None) -> dict[str, Any]:
    listed = [{"type": "InternalIP", "address": address} for address in addresses]
    return {
        "metadata": {"name": name},
        "spec": {"podCIDR": pod_range} if pod_range else {},
        "status": {"addresses": [{"type": "Hostname", "address": name}, *listed]},
    }


def test_addresses_are_of_the_node_and_of_its_pods() -> None:
    first = node("a", "fc00::2", "172.18.0.2", pod_range="10.244.0.0/24")
    second = node("b", "172.18.0.3", pod_range="10.244.1.0/24")
    assert read_addresses({"items": [first, second]}) == {
        "a": NodeAddresses("172.18.0.2", "10.244.0.0/24"),
        "b": NodeAddresses("172.18.0.3", "10.244.1.0/24"),
    }


@pytest.mark.parametrize(
    "incomplete",
    [
        node("b", "172.18.0.3", pod_range=None),
        node("b", pod_range="10.244.1.0/24"),
        {"metadata": {"name": "b"}},
    ],
)
def test_all_nodes_have_to_have_them(incomplete: dict[str, Any]) -> None:
    complete = node("a", "172.18.0.2", pod_range="10.244.0.0/24")
    assert read_addresses({"items": [complete, incomplete]}) is None


def test_a_node_has_routes_to_all_others() -> None:
    nodes = {
        "a": NodeAddresses("172.18.0.2", "10.244.0.0/24"),
        "b": NodeAddresses("172.18.0.3", "10.244.1.0/24"),
        "c": NodeAddresses("172.18.0.4", "10.244.2.0/24"),
    }
    assert routes_of("b", nodes) == "10.244.0.0/24 172.18.0.2\n10.244.2.0/24 172.18.0.4\n"


def test_pods_get_addresses_of_their_node() -> None:
    configuration = json.loads(network_configuration("10.244.1.0/24"))
    ptp, portmap = configuration["plugins"]
    assert ptp["ipam"]["ranges"] == [[{"subnet": "10.244.1.0/24"}]]
    assert ptp["ipam"]["routes"] == [{"dst": "0.0.0.0/0"}]
    assert portmap["capabilities"] == {"portMappings": True}


def test_the_unit_sets_the_routes_of_the_file() -> None:
    command = next(line for line in UNIT_TEXT.splitlines() if line.startswith("ExecStart="))
    assert command.endswith(f"done < {ROUTES}'")
    assert "WantedBy=multi-user.target" in UNIT_TEXT
