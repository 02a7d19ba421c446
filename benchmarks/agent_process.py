"""The node agent, started as a DaemonSet's Pod starts it, and what its log tells of Pods."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.service_account import as_in_a_pod
from deploy.controlplane import ControlPlane

NODE_NAME: Final = "bench-node"
READY: Final = "All sources of Pods have been heard of"
_ADDED: Final = "SyncLoop ADD"


class AgentContestant:
    """Runs ``berthmaster agent`` for one Node, without a kubelet to ask."""

    name = "agent"
    scheduler_name = ""

    def command(self, plane: ControlPlane) -> Sequence[str | Path]:
        """Give its command line; writes what a Pod has of its ServiceAccount."""
        manifests = plane.directory.component_kubeconfigs / "manifests"
        manifests.mkdir(parents=True, exist_ok=True)
        return (
            *as_in_a_pod(plane, "agent"),
            *("--node-name", NODE_NAME, "--static-pod-path", manifests),
            *("--bind-address", "127.0.0.1", "--secure-port", "0"),
            *("-v", "2", "--log-format", "json"),
        )


class _Line(msgspec.Struct):
    ts: str = ""
    msg: str = ""
    pods: str = ""


def is_ready(log: Path) -> bool:
    """Whether the agent has heard of all its sources."""
    return any(line.msg == READY for line in _lines(log))


def seen_at_seconds(log: Path) -> dict[str, float]:
    """Give the Unix time, in steps of a millisecond, at which each Pod was added, by name."""
    seen: dict[str, float] = {}
    for line in _lines(log):
        if line.msg != _ADDED:
            continue
        at_seconds = datetime.fromisoformat(line.ts).timestamp()
        for key in line.pods.strip("[]").split(","):
            seen.setdefault(key.rpartition("/")[2], at_seconds)
    return seen


def _lines(log: Path) -> list[_Line]:
    lines = []
    for text in log.read_bytes().splitlines():
        try:
            lines.append(msgspec.json.decode(text, type=_Line))
        except msgspec.DecodeError:
            continue  # the last line, half written
    return lines
