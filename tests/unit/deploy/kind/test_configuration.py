"""What kind is told, on machines of each kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.kind.configuration import cluster_configuration
from deploy.kind.host import Host, inotify_advice, may_raise_limits

USUAL = Host(has_cgroup_v1=False, may_raise_limits=True)


def patches(host: Host) -> list[Any]:
    configuration = cluster_configuration(host, with_own_network=True)
    return [yaml.safe_load(text) for text in configuration.get("kubeadmConfigPatches", [])]


@pytest.mark.parametrize("with_own_network", [False, True])
def test_one_control_plane_and_two_workers(with_own_network: bool) -> None:
    configuration = cluster_configuration(USUAL, with_own_network=with_own_network)
    assert [node["role"] for node in configuration["nodes"]] == [
        "control-plane",
        "worker",
        "worker",
    ]
    assert configuration["apiVersion"] == "kind.x-k8s.io/v1alpha4"
    networking = {"disableDefaultCNI": True} if with_own_network else None
    assert configuration.get("networking") == networking


def test_a_usual_machine_needs_no_patches() -> None:
    assert patches(USUAL) == []


def test_old_control_groups_are_accepted() -> None:
    assert patches(Host(has_cgroup_v1=True, may_raise_limits=True)) == [
        {"kind": "KubeletConfiguration", "failCgroupV1": False}
    ]


def test_without_the_capability_nothing_touches_oom_scores() -> None:
    assert patches(Host(has_cgroup_v1=False, may_raise_limits=False)) == [
        {"kind": "KubeletConfiguration", "featureGates": {"KubeletInUserNamespace": True}},
        {"kind": "KubeProxyConfiguration", "oomScoreAdj": 0},
    ]


# Bit 24 is CAP_SYS_RESOURCE (include/uapi/linux/capability.h).
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("Name:\tbash\nCapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n", True),
        ("CapEff:\t000001ffffffffff\nCapBnd:\t000001fffeffffff\n", False),
        ("CapBnd:\t0000000001000000\n", True),
        ("Name:\tbash\n", True),
    ],
)
def test_the_capability_is_looked_for_in_the_bounding_set(status: str, expected: bool) -> None:
    assert may_raise_limits(status) is expected


@pytest.mark.parametrize(
    ("limit", "advice"),
    [("128\n", "fs.inotify.max_user_instances=512`"), ("512\n", None), ("", None), (None, None)],
)
def test_few_inotify_instances(limit: str | None, advice: str | None, tmp_path: Path) -> None:
    path = tmp_path / "max_user_instances"
    if limit is not None:
        path.write_text(limit)
    told = inotify_advice(path)
    assert told is None if advice is None else told is not None and advice in told
