"""Pods that reach each other without kind's network plugin, whose image would have to be pulled.

Each node gives its Pods addresses of its own range by the plugins ptp and host-local, and has a
route to the range of every other node. Docker may give a node another address when it restarts, so
the routes are by name: a unit of systemd on each node looks the names up again and again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

CONFLIST = "/etc/cni/net.d/10-ptp.conflist"
ROUTES = "/etc/pod-routes"
SCRIPT = "/usr/local/sbin/pod-routes"
# A node that is down has no address: its route stays as it was.
SCRIPT_TEXT = f"""\
while :; do
  while read -r range node; do
    address=$(getent ahostsv4 "$node" | cut -d' ' -f1 | head -n1)
    [ -z "$address" ] || ip route replace "$range" via "$address"
  done < {ROUTES}
  sleep 2
done
"""
UNIT = "pod-routes.service"
UNIT_TEXT = f"""\
[Unit]
Description=Routes to the Pods of the other nodes
After=network.target

[Service]
ExecStart=/bin/sh {SCRIPT}
Restart=always

[Install]
WantedBy=multi-user.target
"""
MTU_BYTES = 1500


def read_pod_ranges(nodes: Mapping[str, Any]) -> dict[str, str] | None:
    """Read from a NodeList each Node's range of Pods' addresses; None until every one has it."""
    ranges = {
        node["metadata"]["name"]: node.get("spec", {}).get("podCIDR") for node in nodes["items"]
    }
    return ranges if all(ranges.values()) else None


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


def routes_of(name: str, ranges: Mapping[str, str]) -> str:
    """List a node's routes to the others' Pods, one ``<range> <node>`` a line."""
    return "".join(
        f"{pod_range} {other}\n" for other, pod_range in sorted(ranges.items()) if other != name
    )
