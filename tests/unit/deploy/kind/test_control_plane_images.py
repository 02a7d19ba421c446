"""Which images kubeadm and containerd look for, as they print and are configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.kind.control_plane_images import (
    PROGRAMS,
    image_specs,
    libraries,
    pause_reference,
)
from deploy.programs.errors import DeployError

LISTED = """\
registry.k8s.io/kube-apiserver:v1.36.3
registry.k8s.io/kube-controller-manager:v1.36.3
registry.k8s.io/kube-scheduler:v1.36.3
registry.k8s.io/kube-proxy:v1.36.3
registry.k8s.io/coredns/coredns:v1.14.2
registry.k8s.io/pause:3.10.2
registry.k8s.io/etcd:3.6.8-0
"""
PATHS = {name: Path("/bin") / name for name in PROGRAMS}


def test_they_bear_the_names_that_are_looked_for() -> None:
    pause = "registry.k8s.io/pause:3.10"
    specs = image_specs(LISTED, pause, PATHS, Path("/root"), {})
    references = {spec.reference for spec in specs}
    wanted = {line for line in LISTED.splitlines() if "/pause:" not in line}
    assert references == {*wanted, pause}
    # kubeadm names a command for each but CoreDNS.
    starting = {spec.reference: spec.entrypoint for spec in specs if spec.entrypoint}
    assert starting == {
        pause: ("/pause", "-P"),
        "registry.k8s.io/coredns/coredns:v1.14.2": ("/usr/local/bin/coredns",),
    }


@pytest.mark.parametrize(
    "listed", [LISTED + "registry.k8s.io/novelty:v1\n", LISTED.replace("etcd", "etcd2"), ""]
)
def test_another_list_of_images_is_refused(listed: str) -> None:
    with pytest.raises(DeployError, match="kubeadm names other images than are known"):
        image_specs(listed, "pause:1", PATHS, Path("/root"), {})


@pytest.mark.parametrize(
    "line",
    [
        "      sandbox = 'ignored'\n      sandbox = \"registry.k8s.io/pause:3.10\"",
        '    sandbox_image = "registry.k8s.io/pause:3.10"',
    ],
)
def test_pause_of_either_version_of_the_configuration(line: str) -> None:
    assert pause_reference(f"version = 3\n{line}\n") == "registry.k8s.io/pause:3.10"


def test_a_configuration_without_pause() -> None:
    with pytest.raises(DeployError, match="names no sandbox image"):
        pause_reference("version = 3\n")


def test_libraries_of_what_ldd_prints() -> None:
    listing = """\
/usr/sbin/nft:
\tlinux-vdso.so.1 (0x00007ffd)
\tlibnftables.so.1 => /lib/x86_64-linux-gnu/libnftables.so.1 (0x00007f00)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f01)
/usr/sbin/modprobe:
\tstatically linked
"""
    assert libraries(listing) == [
        "/lib/x86_64-linux-gnu/libnftables.so.1",
        "/lib64/ld-linux-x86-64.so.2",
    ]
