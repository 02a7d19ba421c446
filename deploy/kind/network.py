"""Pods that reach each other without kind's network plugin, whose image would have to be pulled.

Each node gives its Pods addresses of its own range by the plugins ptp and host-local, and has a
route to the range of every other node. Routes are lost when a node restarts, so a unit of systemd
on the node sets them.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CONFLIST = "/etc/cni/net.d/10-ptp.conflist"
ROUTES = "/etc/pod-routes"
UNIT = "pod-routes.service"
UNIT_TEXT = f"""\
[Unit]
Description=Routes to the Pods of the other nodes
After=network.target

[Service]
Type=oneshot
ExecStart=/bin/sh -euc 'while read -r range node; do ip route replace "$range" via "$node"; \
done < {ROUTES}'
RemainAfterExit=yes

[Install]
WantedBy=multi-user.target
"""
MTU_BYTES = 1500


@dataclass(frozen=True, slots=True)
class NodeAddresses:
    """A node's own address, and the range of its Pods' addresses."""

    internal_ip: str
    pod_range: str


def read_addresses(nodes: Mapping[str, Any]) -> dict[str, NodeAddresses] | None:
    """Read the addresses from a NodeList; None until every Node has all of them."""
    found = {}
    for node in nodes["items"]:
        internal_ips = [
            address["address"]
            for address in node.get("status", {}).get("addresses", [])
            if address["type"] == "InternalIP"
            and ipaddress.ip_address(address["address"]).version == 4
        ]
        pod_range = node.get("spec", {}).get("podCIDR")
        if not internal_ips or not pod_range:
            return None
        found[node["metadata"]["name"]] = NodeAddresses(internal_ips[0], pod_range)
    return found


def network_configuration(pod_range: str) -> str:
    """Write a node's CNI configuration, for Pods with addresses of ``pod_range``."""
    return json.dumps(
        {
            "cniVersion": "0.4.0",
            "name": "pods",
            "plugins": [
                {
                    "type": "ptp",
                    "ipMasq": False,
                    "mtu": MTU_BYTES,
                    "ipam": {
                        "type": "host-local",
                        "dataDir": "/run/cni-ipam-state",
                        "routes": [{"dst": "0.0.0.0/0"}],
                        "ranges": [[{"subnet": pod_range}]],
                    },
                },
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        },
        indent=2,
    )


def routes_of(name: str, nodes: Mapping[str, NodeAddresses]) -> str:
    """List a node's routes to the others' Pods, one ``<range> <node>`` a line."""
    return "".join(
        f"{addresses.pod_range} {addresses.internal_ip}\n"
        for other, addresses in sorted(nodes.items())
        if other != name
    )
