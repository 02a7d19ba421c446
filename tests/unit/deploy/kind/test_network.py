"""How Pods are connected: addresses, routes and the CNI configuration."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deploy.kind.network import (
    ROUTES,
    SCRIPT,
    SCRIPT_TEXT,
    UNIT_TEXT,
    network_configuration,
    read_pod_ranges,
    routes_of,
)


def node(name: str, pod_range: str | None) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"podCIDR": pod_range} if pod_range else {}}


def test_each_node_has_a_range_for_its_pods() -> None:
    nodes = [node("a", "10.244.0.0/24"), node("b", "10.244.1.0/24")]
    assert read_pod_ranges({"items": nodes}) == {"a": "10.244.0.0/24", "b": "10.244.1.0/24"}


@pytest.mark.parametrize("incomplete", [node("b", None), {"metadata": {"name": "b"}}])
def test_all_nodes_have_to_have_one(incomplete: dict[str, Any]) -> None:
    assert read_pod_ranges({"items": [node("a", "10.244.0.0/24"), incomplete]}) is None


def test_a_node_has_routes_to_all_others() -> None:
    ranges = {"a": "10.244.0.0/24", "b": "10.244.1.0/24", "c": "10.244.2.0/24"}
    assert routes_of("b", ranges) == "10.244.0.0/24 a\n10.244.2.0/24 c\n"


def test_pods_get_addresses_of_their_node() -> None:
    configuration = json.loads(network_configuration("10.244.1.0/24"))
    ptp, portmap = configuration["plugins"]
    assert ptp["ipam"]["ranges"] == [[{"subnet": "10.244.1.0/24"}]]
    assert ptp["ipam"]["routes"] == [{"dst": "0.0.0.0/0"}]
    assert portmap["capabilities"] == {"portMappings": True}


def test_the_unit_keeps_the_routes_of_the_file() -> None:
    assert f"ExecStart=/bin/sh {SCRIPT}\n" in UNIT_TEXT
    assert "WantedBy=multi-user.target" in UNIT_TEXT


def test_the_script_follows_nodes_that_move(tmp_path: Path) -> None:
    """A node of another address gets a new route; one that is down keeps its own."""
    fakes = {
        "getent": f'[ "$2" = gone ] || cat {tmp_path}/address',
        "ip": f'echo "$*" >> {tmp_path}/calls',
        # In the place of waiting: the node moves, then all has been seen.
        "sleep": f"[ ! -e {tmp_path}/next ] && kill $PPID || mv {tmp_path}/next {tmp_path}/address",
    }
    for name, script in fakes.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    (tmp_path / "address").write_text("172.18.0.2      STREAM a\n172.18.0.2      DGRAM\n")
    (tmp_path / "next").write_text("172.18.0.9      STREAM a\n")
    (tmp_path / "routes").write_text("10.244.0.0/24 a\n10.244.2.0/24 gone\n")
    script = SCRIPT_TEXT.replace(ROUTES, str(tmp_path / "routes"))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["/bin/sh", "-c", script], env=environment, timeout=30, check=False)
    assert done.returncode == -signal.SIGTERM
    assert (tmp_path / "calls").read_text().splitlines() == [
        "route replace 10.244.0.0/24 via 172.18.0.2",
        "route replace 10.244.0.0/24 via 172.18.0.9",
    ]
