"""What is changed in the files of a node's system, and which images it gets."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

import pytest

from deploy.kind.control_plane_images import (
    PROGRAMS,
    image_specs,
    libraries,
    pause_reference,
)
from deploy.kind.system import (
    container_specification,
    leave_oom_scores_alone,
    without_oom_score,
)
from deploy.programs.errors import DeployError

# As in kind v0.33.0, shortened.
CONTAINERD = """\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.example/pause:3.10"
  restrict_oom_score_adj = false
"""
# As kubeadm v1.36 prints them, with another registry.
LISTED = """\
registry.example/kube-apiserver:v1.36.3
registry.example/kube-controller-manager:v1.36.3
registry.example/kube-scheduler:v1.36.3
registry.example/kube-proxy:v1.36.3
registry.example/coredns/coredns:v1.14.2
registry.example/pause:3.10.2
registry.example/etcd:3.6.8-0
"""


def test_containerd_leaves_oom_scores_alone() -> None:
    assert "  restrict_oom_score_adj = true\n" in leave_oom_scores_alone(CONTAINERD)


def test_an_unknown_configuration_is_refused() -> None:
    with pytest.raises(DeployError, match="restrict_oom_score_adj"):
        leave_oom_scores_alone("version = 4\n")


def test_a_unit_without_its_score() -> None:
    unit = "[Service]\nTasksMax=infinity\nOOMScoreAdjust=-999\n\n[Install]\n"
    assert without_oom_score(unit) == "[Service]\nTasksMax=infinity\n\n[Install]\n"


@pytest.mark.parametrize("hooks", [None, {"createContainer": [{"path": "/other"}]}])
def test_containers_get_the_hook_and_no_limits(hooks: object) -> None:
    specification: dict[str, object] = {"process": {"cwd": "/", "rlimits": [{"soft": 1024}]}}
    if hooks is not None:
        specification["hooks"] = hooks
    changed = json.loads(container_specification(json.dumps(specification)))
    assert changed["process"] == {"cwd": "/"}
    paths = [hook["path"] for hook in changed["hooks"]["createContainer"]]
    assert paths == [*(["/other"] if hooks else []), "/kind/bin/mount-product-files.sh"]


def test_the_sandbox_image_is_the_configured_one() -> None:
    assert pause_reference(CONTAINERD) == "registry.example/pause:3.10"
    assert pause_reference('[x.pinned_images]\n  sandbox = "a/pause:4"\n') == "a/pause:4"
    with pytest.raises(DeployError, match="no sandbox image"):
        pause_reference("version = 2\n")


def test_each_program_is_an_image_under_the_name_that_kubeadm_looks_for(tmp_path: Path) -> None:
    programs = {name: tmp_path / name for name in PROGRAMS}
    proxy_files = {PurePosixPath("/usr/sbin/nft"): tmp_path / "nft"}
    specs = image_specs(LISTED, "registry.example/pause:3.10", programs, tmp_path, proxy_files)
    found = {spec.reference: spec for spec in specs}
    assert set(found) == {
        *(line for line in LISTED.split() if "pause" not in line),
        "registry.example/pause:3.10",
    }
    server = found["registry.example/kube-apiserver:v1.36.3"]
    assert server.files == {
        PurePosixPath("/usr/local/bin/kube-apiserver"): tmp_path / "kube-apiserver"
    }
    assert server.entrypoint == ()
    proxy = found["registry.example/kube-proxy:v1.36.3"]
    assert proxy.files.keys() == {
        PurePosixPath("/usr/local/bin/kube-proxy"),
        PurePosixPath("/usr/sbin/nft"),
    }
    dns = found["registry.example/coredns/coredns:v1.14.2"]
    assert dns.entrypoint == ("/usr/local/bin/coredns",)
    pause = found["registry.example/pause:3.10"]
    assert pause.entrypoint[0] == "/pause"


@pytest.mark.parametrize("listed", [LISTED + "registry.example/new:v1\n", "x/pause:3.10\n"])
def test_other_images_than_the_known_are_refused(listed: str, tmp_path: Path) -> None:
    with pytest.raises(DeployError, match="kubeadm names other images"):
        image_specs(listed, "x/pause:3.10", {}, tmp_path, {})


def test_libraries() -> None:
    listing = (
        "/usr/sbin/nft:\n"
        "\tlinux-vdso.so.1 (0x00007ffd5d7f2000)\n"
        "\tlibnftables.so.1 => /lib/x86_64-linux-gnu/libnftables.so.1 (0x00007f2c1d0e5000)\n"
        "\t/lib64/ld-linux-x86-64.so.2 (0x00007f2c1d1ee000)\n"
        "/usr/bin/static:\n"
        "\tstatically linked\n"
    )
    assert libraries(listing) == [
        "/lib/x86_64-linux-gnu/libnftables.so.1",
        "/lib64/ld-linux-x86-64.so.2",
    ]
