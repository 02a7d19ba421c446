"""The image of the cluster's nodes: kind's own where images can be pulled, else one made here.

Its own image is of Kubernetes 1.37 and holds a network plugin and a storage provisioner. Ours is
made of Debian's packages, programs from the Go module proxy and kind's own files, in about four
minutes, once: its tag is a digest of all that goes in.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.controlplane.statelock import StateLock
from deploy.image.debian import bootstrap
from deploy.image.engine import has_image, import_image, pull_image
from deploy.kind import archive, control_plane_images, system
from deploy.kind.host import Host
from deploy.programs import interrupts
from deploy.programs.binaries import obtain_binaries
from deploy.programs.catalogue import require
from deploy.programs.errors import DeployError
from deploy.programs.gomodules import fetch_module
from deploy.programs.private_files import TEMPORARY_PREFIX
from deploy.programs.reporting import Reporter
from deploy.programs.sources import default_cache_root
from deploy.programs.versions import architecture, requested_version

# The image that kind 0.33.0 takes by itself.
STOCK_IMAGE = (
    "kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5"
)
_CODE = ("archive.py", "control_plane_images.py", "node_image.py", "system.py")
BUILT_IMAGE = "berthmaster-node"
# Not from PATH: in a container a program has to be statically linked.
SOURCES_OF_PROGRAMS = ("cache", "download", "build")
OTHER_BUILD_TIMEOUT_SECONDS = 1800.0
STORE_READY_SECONDS = 30.0
# containerd as a store of images: none of what runs containers.
_STORE_CONFIGURATION = """\
version = 3
disabled_plugins = [
  "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime",
  "io.containerd.nri.v1.nri",
]
"""


@dataclass(frozen=True, slots=True)
class NodeImage:
    """An image for nodes, and whether it is kind's own, with a network plugin in it."""

    reference: str
    is_stock: bool


def obtain_node_image(
    host: Host, reporter: Reporter, *, kubernetes_version: str | None = None, built: bool = False
) -> NodeImage:
    """Have an image for nodes: pulled, made before, or made now.

    Parameters
    ----------
    host
        The machine that runs the nodes.
    reporter
        Where progress is written.
    kubernetes_version
        The version to use and no other; None for KUBERNETES_VERSION, or what is usual.
    built
        Don't try to pull one.

    Raises
    ------
    DeployError
        If it can neither be pulled nor made.
    """
    version, is_chosen = requested_version(kubernetes_version)
    # Its containerd's unit lowers oom_score_adj, which has to be possible.
    if not built and host.may_raise_limits:
        stock = f"kindest/node:v{version}" if is_chosen else STOCK_IMAGE
        why_not = None if has_image(stock) else pull_image(stock, reporter)
        if why_not is None:
            reporter.step(f"node image {stock}")
            return NodeImage(stock, is_stock=True)
        reporter.step(f"{stock} can't be pulled ({why_not}): the node image is made here")
    return NodeImage(_have_built(host, str(version), reporter), is_stock=False)


def image_tag(
    host: Host, kubernetes_version: str, programs: Mapping[str, Path], kind_version: str
) -> str:
    """Give the tag of an image: the version, and a digest of all that goes in.

    Reads all the programs: about a second. What Debian's mirror has that day doesn't count.
    """
    inputs = {
        "host": asdict(host),
        "kind": kind_version,
        "suite": system.SUITE,
        "packages": system.PACKAGES,
        "programs": {name: _digest(path) for name, path in sorted(programs.items())},
        # How it is put together.
        "code": [_digest(Path(__file__).with_name(name)) for name in _CODE],
    }
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    return f"{BUILT_IMAGE}:v{kubernetes_version}-{digest[:12]}"


def _have_built(host: Host, version: str, reporter: Reporter) -> str:
    names = [*system.PROGRAM_DIRECTORIES, *control_plane_images.PROGRAMS]
    binaries = obtain_binaries(
        names,
        kubernetes_version=version,
        reporter=reporter,
        kinds=SOURCES_OF_PROGRAMS,
        tells_found=False,
    )
    programs = {name: binary.path for name, binary in binaries.items()}
    kind_version = require("kind", binaries["kubelet"].version, exact=False).version
    reference = image_tag(host, version, programs, str(kind_version))
    if has_image(reference):
        reporter.step(f"node image {reference}: made before")
        return reference
    directory = default_cache_root() / "node-image"
    directory.mkdir(parents=True, exist_ok=True)
    with StateLock(directory / "lock") as lock:
        _wait_for(lock, reporter)
        for left in directory.glob(f"{TEMPORARY_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        if not has_image(reference):
            log = directory / "build.log"
            log.write_bytes(b"")
            kind_source = fetch_module("sigs.k8s.io/kind", kind_version, reporter)
            with tempfile.TemporaryDirectory(dir=directory, prefix=TEMPORARY_PREFIX) as scratch:
                build = _Build(Path(scratch), programs, host, version, reporter, log)
                build.run(reference, kind_source / "images/base/files")
    reporter.step(f"node image {reference}: made")
    return reference


@dataclass(frozen=True, slots=True)
class _Build:
    """One image being made in a directory of its own."""

    scratch: Path
    programs: Mapping[str, Path]
    host: Host
    version: str
    reporter: Reporter
    log: Path

    def run(self, reference: str, kind_files: Path) -> None:
        root = self.scratch / "root"
        bootstrap(root, system.SUITE, system.PACKAGES, reporter=self.reporter, log=self.log)
        self.reporter.step("setting up the node's system")
        system.assemble(
            root,
            self.programs,
            kind_files,
            host=self.host,
            kubernetes_version=self.version,
            reporter=self.reporter,
            log=self.log,
        )
        self.reporter.step("making the images of the control plane")
        images = root / "images.tar"
        archive.write_archive(images, self._images(root), architecture=architecture())
        with self._image_store(root):
            command = ["ctr", "-n", "k8s.io", "images", "import", "--no-unpack", "/images.tar"]
            system.in_system(root, command, reporter=self.reporter, log=self.log)
        images.unlink()
        self.reporter.step(f"giving the system to Docker as {reference}")
        changes = ("ENV container=docker", 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]')
        import_image(root, reference, changes=changes)

    def _images(self, root: Path) -> list[archive.ImageSpec]:
        names = self.scratch / "images.txt"
        system.in_system(
            root,
            ["kubeadm", "config", "images", "list", "--kubernetes-version", self.version],
            names,
            reporter=self.reporter,
            log=self.log,
        )
        configuration = (root / "etc/containerd/config.toml").read_text()
        return control_plane_images.image_specs(
            names.read_text(),
            control_plane_images.pause_reference(configuration),
            self.programs,
            root,
            control_plane_images.find_proxy_files(root),
        )

    @contextmanager
    def _image_store(self, root: Path) -> Iterator[None]:
        """Run containerd in the node's system, to fill its store of images."""
        configuration = root / "store.toml"
        configuration.write_text(_STORE_CONFIGURATION)
        with self.log.open("ab") as log, interrupts.deferred():
            child = subprocess.Popen(
                [
                    *("unshare", "--mount", "--propagation", "private", "chroot", root),
                    *("/usr/local/bin/containerd", "--config", "/store.toml"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            self._wait_for_store(child, root / "run/containerd/containerd.sock")
            yield
        finally:
            with interrupts.deferred():
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGTERM)
                    child.wait()
        configuration.unlink()
        shutil.rmtree(root / "run/containerd", ignore_errors=True)

    def _wait_for_store(self, child: subprocess.Popen[bytes], socket: Path) -> None:
        deadline_seconds = time.monotonic() + STORE_READY_SECONDS
        while not socket.exists():
            if child.poll() is not None or time.monotonic() > deadline_seconds:
                raise DeployError(
                    f"containerd does not start in the node's system (log {self.log})"
                )
            time.sleep(0.05)


def _wait_for(lock: StateLock, reporter: Reporter) -> None:
    deadline_seconds = time.monotonic() + OTHER_BUILD_TIMEOUT_SECONDS
    while not lock.acquire("image", timeout_seconds=1.0):
        if time.monotonic() > deadline_seconds:
            raise DeployError("another command makes the node image, and doesn't end")
        reporter.progress("waiting for another command that makes the node image")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
