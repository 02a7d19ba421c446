"""The Debian system that a node of the cluster runs: packages, kind's own files, programs.

It is what kind's base image (images/base/Dockerfile, v0.33.0) and node image are, with these
differences: Debian's bookworm, whose systemd still boots where control groups are of version 1;
no storage provisioner, but a StorageClass for volumes that are made by hand; containerd told to
leave oom_score_adj alone where it has to.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from deploy.image.logged import run_logged
from deploy.kind.host import Host
from deploy.programs.errors import DeployError
from deploy.programs.reporting import Reporter

SUITE = "bookworm"
PACKAGES = (
    *("systemd", "dbus", "bash", "ca-certificates", "curl", "jq", "procps", "util-linux"),
    *("mount", "kmod", "e2fsprogs", "pigz", "libseccomp2", "runc"),
    *("conntrack", "iptables", "nftables", "iproute2", "ethtool"),
    # A program that waits and reaps: what the pause image holds.
    "catatonit",
)
# Where a node has its programs.
PROGRAM_DIRECTORIES = {
    **dict.fromkeys(("containerd", "containerd-shim-runc-v2", "ctr", "crictl"), "usr/local/bin"),
    **dict.fromkeys(("host-local", "loopback", "ptp", "portmap"), "opt/cni/bin"),
    **dict.fromkeys(("kubeadm", "kubelet", "kubectl"), "usr/bin"),
}
_UNITS = "usr/lib/systemd/system"
# What systemd starts by itself, and a container has no use for.
_UNWANTED = (
    f"{_UNITS}/sysinit.target.wants/systemd-tmpfiles-setup.service",
    f"{_UNITS}/multi-user.target.wants/*",
    f"{_UNITS}/local-fs.target.wants/*",
    f"{_UNITS}/sockets.target.wants/*udev*",
    f"{_UNITS}/sockets.target.wants/*initctl*",
    f"{_UNITS}/basic.target.wants/*",
    "etc/systemd/system/*.wants/*",
)
_STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {
        "name": "standard",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def assemble(
    root: Path,
    programs: Mapping[str, Path],
    kind_files: Path,
    *,
    host: Host,
    kubernetes_version: str,
    reporter: Reporter,
    log: Path,
) -> None:
    """Make a node's system of a Debian system in ``root``.

    Parameters
    ----------
    root
        A system with ``PACKAGES``.
    programs
        Where on this machine those of ``PROGRAM_DIRECTORIES`` are.
    kind_files
        The directory images/base/files of kind's source.
    host, kubernetes_version
        For which machine, and e.g. ``1.36.3``.
    reporter, log
        Where progress is written, and what the commands say.
    """
    _copy_kind_files(kind_files, root)
    for name, directory in PROGRAM_DIRECTORIES.items():
        place(programs[name], root / directory / name)
    # kind's units name the path that its own images have it at.
    place(root / "usr/sbin/runc", root / "usr/local/sbin/runc")
    (root / "kind/version").write_text(f"v{kubernetes_version}")
    manifests = root / "kind/manifests"
    manifests.mkdir()
    (manifests / "default-storage.yaml").write_text(yaml.safe_dump(_STORAGE_CLASS))
    (root / "etc/kubernetes/manifests").mkdir(parents=True)
    if not host.may_raise_limits:
        _edit(root / "etc/containerd/config.toml", leave_oom_scores_alone)
        _edit(root / "etc/systemd/system/containerd.service", without_oom_score)
    _set_up_systemd(root, reporter, log)
    specification = root / "etc/containerd/cri-base.json"
    in_system(root, ["ctr", "oci", "spec"], specification, reporter=reporter, log=log)
    _edit(specification, container_specification)


def leave_oom_scores_alone(configuration: str) -> str:
    """Change containerd's configuration so that no container's score is lowered.

    Raises
    ------
    DeployError
        If the configuration isn't as it is known.
    """
    return _replace(
        configuration, "restrict_oom_score_adj = false", "restrict_oom_score_adj = true"
    )


def without_oom_score(unit: str) -> str:
    """Change a unit so that systemd doesn't lower its score."""
    return "".join(
        line for line in unit.splitlines(keepends=True) if not line.startswith("OOMScoreAdjust=")
    )


def container_specification(text: str) -> str:
    """Make the specification that kind gives every container of the one that ctr prints.

    It has a hook of kind that hides what tells of the machine, and no limits of its own.
    """
    specification = json.loads(text)
    hooks = specification.setdefault("hooks", {}).setdefault("createContainer", [])
    hooks.append({"path": "/kind/bin/mount-product-files.sh"})
    specification["process"].pop("rlimits", None)
    return json.dumps(specification)


def place(program: Path, destination: Path) -> None:
    """Copy a program."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(program, destination)
    destination.chmod(0o755)


def in_system(
    root: Path,
    command: list[str],
    output: Path | None = None,
    *,
    reporter: Reporter,
    log: Path,
) -> None:
    """Run a command in the system in ``root``; what it mounts there is gone with it.

    Its standard output goes to ``output``, if given.

    Raises
    ------
    DeployError
        If it fails.
    """
    chroot = ["unshare", "--mount", "--propagation", "private", "chroot", str(root), *command]
    if output is not None:
        chroot = ["sh", "-c", 'out=$1; shift; exec "$@" > "$out"', "sh", str(output), *chroot]
    run_logged(chroot, log=log, saying=f"{command[0]} in the node's system", reporter=reporter)


def _copy_kind_files(files: Path, root: Path) -> None:
    for source in sorted(files.rglob("*")):
        if source.is_file():
            destination = root / source.relative_to(files)
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, destination)
            is_program = destination.parent in (root / "usr/local/bin", root / "kind/bin")
            destination.chmod(0o755 if is_program else 0o644)


def _set_up_systemd(root: Path, reporter: Reporter, log: Path) -> None:
    for pattern in _UNWANTED:
        for path in root.glob(pattern):
            path.unlink()
    with (root / "etc/systemd/journald.conf").open("a") as configuration:
        configuration.write("ReadKMsg=no\n")
    init = root / "usr/sbin/init"
    init.unlink(missing_ok=True)
    init.symlink_to("/usr/lib/systemd/systemd")
    units = ["kubelet.service", "containerd.service", "undo-mount-hacks.service"]
    in_system(root, ["systemctl", "enable", *units], reporter=reporter, log=log)
    # It would register formats of programs with the machine's kernel.
    masked = ["systemctl", "mask", "systemd-binfmt.service"]
    in_system(root, masked, reporter=reporter, log=log)


def _edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text()))


def _replace(text: str, old: str, new: str) -> str:
    if old not in text:
        raise DeployError(f"kind's files have changed: there is no {old!r}")
    return text.replace(old, new)
