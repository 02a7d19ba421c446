"""What of this machine decides how the nodes of a cluster are set up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from deploy.image.engine import run_docker

# Bit of CAP_SYS_RESOURCE in a set of capabilities, include/uapi/linux/capability.h.
_SYS_RESOURCE_BIT = 24
# A cluster's nodes take about 60 inotify instances together; Linux allows a user 128.
_INOTIFY_INSTANCES = Path("/proc/sys/fs/inotify/max_user_instances")
_ENOUGH_INSTANCES = 512
_BOUNDING_SET = re.compile(r"^CapBnd:\s*([0-9a-f]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Host:
    """Traits of the machine that runs the nodes.

    Attributes
    ----------
    has_cgroup_v1
        Control groups are mounted as version 1, which Kubernetes 1.35 and later refuse unless told
        otherwise.
    may_raise_limits
        Processes can have CAP_SYS_RESOURCE. Without it nothing may lower its oom_score_adj, as
        containerd, the kubelet and kube-proxy do; that is so in some sandboxes.
    """

    has_cgroup_v1: bool
    may_raise_limits: bool


def inspect_host() -> Host:
    """Look at this machine and its Docker engine.

    Raises
    ------
    DeployError
        If the engine doesn't answer.
    """
    version = run_docker("info", "--format", "{{.CgroupVersion}}")
    return Host(version == "1", may_raise_limits(Path("/proc/self/status").read_text()))


def may_raise_limits(status: str) -> bool:
    """Tell from /proc/<pid>/status whether CAP_SYS_RESOURCE can be had."""
    match = _BOUNDING_SET.search(status)
    return match is None or bool(int(match.group(1), 16) >> _SYS_RESOURCE_BIT & 1)


def inotify_advice(limit: Path = _INOTIFY_INSTANCES) -> str | None:
    """Say how to have more inotify instances, where nodes may have died of too few."""
    try:
        allowed = int(limit.read_text())
    except (OSError, ValueError):
        return None
    if allowed >= _ENOUGH_INSTANCES:
        return None
    return (
        f"If other clusters or many containers run here, fs.inotify.max_user_instances={allowed} "
        f"may be too little: `sudo sysctl fs.inotify.max_user_instances={_ENOUGH_INSTANCES}`"
    )
