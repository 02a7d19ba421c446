"""A machine whose docker, kind, kubectl and helm are scripts that remember what became of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deploy.kind import commands, images
from deploy.kind.host import Host
from deploy.kind.layout import KindDirectory
from deploy.kind.node_image import NodeImage
from deploy.programs.sources import Binary
from deploy.programs.versions import Version

NODES = ("one-control-plane", "one-worker", "one-worker2")
IMAGE_ID = "sha256:0123"

_SCRIPTS = {
    "docker": """
        case "$1" in
          ps) [ ! -e containers ] || cat containers ;;
          unpause|start) sed -i "s/^$2 .*/$2 running/" containers ;;
          exec) [ "$2" != -i ] || cat > /dev/null ;;
          image) [ "$2" != inspect ] || echo sha256:0123 ;;
        esac
    """,
    "kind": """
        case "$1" in
          create)
            echo made > "$KUBECONFIG"
            printf '%s running\\n' $(cat nodes) > containers
            [ ! -e kind-fails ] || { echo 'ERROR: no room'; exit 1; } ;;
          delete) rm -f containers "$KUBECONFIG" ;;
        esac
    """,
    "kubectl": """
        case "$2" in
          nodes) cat nodes.json ;;
          pods) cat pods.json ;;
        esac
    """,
    "helm": "[ ! -e helm-fails ] || { echo 'Error: timed out'; exit 1; }",
}


@dataclass
class Machine:
    """The fake machine: ``root`` has its state, ``directory`` is the cluster's."""

    root: Path
    directory: KindDirectory

    def calls(self, *beginnings: str) -> list[str]:
        """List what was called, of those commands that begin so."""
        path = self.root / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.startswith(beginnings)]

    def forget_calls(self) -> None:
        (self.root / "calls").unlink(missing_ok=True)

    def fails(self, program: str) -> None:
        (self.root / f"{program}-fails").touch()

    def set_containers(self, *states: str) -> None:
        lines = [f"{name} {state}\n" for name, state in zip(NODES, states, strict=True)]
        (self.root / "containers").write_text("".join(lines))

    def set_ready(self, *nodes: str) -> None:
        """Say which nodes are ready."""
        items = [node(name, i, is_ready=name in nodes) for i, name in enumerate(NODES)]
        (self.root / "nodes.json").write_text(json.dumps({"items": items}))

    def set_pods(self, *pods: dict[str, Any]) -> None:
        (self.root / "pods.json").write_text(json.dumps({"items": pods}))


def node(name: str, index: int, *, is_ready: bool) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"podCIDR": f"10.244.{index}.0/24"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": f"172.18.0.{index + 2}"}],
            "conditions": [{"type": "Ready", "status": str(is_ready)}],
        },
    }


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    root = tmp_path / "machine"
    root.mkdir()
    for name, script in _SCRIPTS.items():
        path = root / name
        path.write_text(f'#!/bin/sh\ncd "{root}"\necho "{name} $*" >> calls\n{script}\n')
        path.chmod(0o755)
    (root / "nodes").write_text(" ".join(NODES))

    def obtain(names: Sequence[str], **_: object) -> dict[str, Binary]:
        return {name: Binary(name, root / name, Version(1, 0, 0), "here") for name in names}

    monkeypatch.setenv("PATH", f"{root}:/usr/bin:/bin")
    monkeypatch.setattr(commands, "obtain_binaries", obtain)
    monkeypatch.setattr(commands, "inspect_host", lambda: Host(False, True))
    monkeypatch.setattr(
        commands, "obtain_node_image", lambda *_, **__: NodeImage("berthmaster-node:v1", False)
    )
    monkeypatch.setattr(images, "have_berthmaster", lambda *_, **__: "berthmaster:dev")
    monkeypatch.setattr(images, "have_agnhost", lambda *_: "berthmaster-agnhost:dev")
    made = Machine(root, KindDirectory(tmp_path / "state"))
    made.set_ready(*NODES)
    made.set_pods()
    return made
