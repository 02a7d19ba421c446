"""The images that a node runs beside Berthmaster's: the control plane, kube-proxy, CoreDNS, pause.

Each holds one program. They bear the names that kubeadm looks for, and are put into the node's
store of images, so that nothing is pulled.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from deploy.kind.archive import ImageSpec, find_linked
from deploy.programs.errors import DeployError

PROGRAMS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "etcd",
    "coredns",
)
PAUSE_PROGRAM = "usr/bin/catatonit"
# What kube-proxy calls.
PROXY_COMMANDS = (
    *("/usr/sbin/iptables", "/usr/sbin/iptables-save", "/usr/sbin/iptables-restore"),
    *("/usr/sbin/ip6tables", "/usr/sbin/ip6tables-save", "/usr/sbin/ip6tables-restore"),
    *("/usr/sbin/nft", "/usr/sbin/conntrack", "/usr/bin/kmod", "/usr/sbin/modprobe"),
)
PROXY_MODULES = "usr/lib/*/xtables/*.so"
_SANDBOX_IMAGE = re.compile(r'^\s*sandbox(?:_image)?\s*=\s*"([^"]+)"', re.MULTILINE)
_LIBRARY = re.compile(r"(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)


def image_specs(
    listed: str,
    pause_reference: str,
    programs: Mapping[str, Path],
    root: Path,
    proxy_files: Mapping[PurePosixPath, Path],
) -> list[ImageSpec]:
    """State the images to make.

    Parameters
    ----------
    listed
        What `kubeadm config images list` prints: their names.
    pause_reference
        The name of the pause image, as containerd is configured.
    programs
        Where on this machine ``PROGRAMS`` are.
    root
        The node's system.
    proxy_files
        What kube-proxy needs beside its program.

    Raises
    ------
    DeployError
        If kubeadm names an image that isn't known here, or not one that is.
    """
    references = {
        reference.rpartition("/")[2].partition(":")[0]: reference for reference in listed.split()
    }
    if references.keys() != {*PROGRAMS, "pause"}:
        raise DeployError(f"kubeadm names other images than are known: {' '.join(references)}")
    specs = [
        ImageSpec(
            pause_reference, {PurePosixPath("/pause"): root / PAUSE_PROGRAM}, ("/pause", "-P")
        )
    ]
    for name in PROGRAMS:
        path = PurePosixPath("/usr/local/bin") / name
        files = {path: programs[name]}
        if name == "kube-proxy":
            files |= proxy_files
        # kubeadm gives a command to all but CoreDNS, which relies on the entry point.
        entrypoint = (str(path),) if name == "coredns" else ()
        specs.append(ImageSpec(references[name], files, entrypoint))
    return specs


def pause_reference(configuration: str) -> str:
    """Read from containerd's configuration which image every Pod's sandbox is of.

    Raises
    ------
    DeployError
        If it names none.
    """
    match = _SANDBOX_IMAGE.search(configuration)
    if match is None:
        raise DeployError("kind's configuration of containerd names no sandbox image")
    return match.group(1)


def find_proxy_files(root: Path) -> dict[PurePosixPath, Path]:
    """Find what kube-proxy needs: the commands that it calls, and their libraries.

    Raises
    ------
    DeployError
        If the libraries can't be found out.
    """
    modules = [f"/{path.relative_to(root)}" for path in sorted(root.glob(PROXY_MODULES))]
    paths = [*PROXY_COMMANDS, *modules]
    done = subprocess.run(
        ["/usr/sbin/chroot", root, "ldd", *paths],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise DeployError(f"ldd in {root}: {done.stderr.strip()}")
    return find_linked(root, [*paths, *sorted(set(libraries(done.stdout)))])


def libraries(listing: str) -> list[str]:
    """Return the paths of libraries in what ldd prints."""
    return _LIBRARY.findall(listing)
