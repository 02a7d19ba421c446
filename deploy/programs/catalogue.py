"""The programs of others that this project uses: one row each, in ``PROGRAMS``.

A row says which Go module and package a program is built from, at which version, which versions are
accepted where one is found, and where its project publishes it. Whatever differs between programs
is here; finding, downloading and building them is the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from deploy.programs.versions import (
    SUPPORTED_BEYOND,
    SUPPORTED_FIRST,
    Requirement,
    Version,
    parse_version,
)


class Skew(Enum):
    """Which versions of one of Kubernetes' programs are accepted (its version skew policy)."""

    SUPPORTED = "any version that Berthmaster supports"
    MINOR = "any patch of the minor version"
    NONE = "the very version"


@dataclass(frozen=True, slots=True)
class Range:
    """Accepted versions of a program that is not Kubernetes': from ``first``, before ``beyond``."""

    first: str
    beyond: str


@dataclass(frozen=True, slots=True)
class Release:
    """Where a project publishes a program; ``{version}``, ``{arch}`` and ``{name}`` are filled in.

    Attributes
    ----------
    url
        The file. ``{machine}`` is its architecture as ``uname`` calls it on amd64.
    checksum_url
        What tells its sha256; ``{url}`` stands for the file's address.
    member
        The program's path in the file, if that is a .tar.gz archive.
    """

    url: str
    checksum_url: str
    member: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """A row of the catalogue.

    Attributes
    ----------
    name
        What the file is called.
    module, package
        The Go module, and the directory of the main package in it; empty for the module's root.
    version
        The version to download or build; empty for the version of Kubernetes that is wanted.
    accepts
        Which others will do where one is found.
    version_variable
        The variable that the linker sets to the version, if the source doesn't have it.
    other_variables
        Others that the linker sets in its releases, with their values.
    asked_with
        Arguments that make it print its version and end.
    tells_version
        False if it has no such arguments: then ``asked_with`` only shows that it runs, and none
        but our own build or download is trusted to be the version.
    release
        None if it is not published as a file.
    """

    name: str
    module: str
    package: str
    version: str
    accepts: Skew | Range
    version_variable: str = ""
    other_variables: tuple[tuple[str, str], ...] = ()
    asked_with: tuple[str, ...] = ("--version",)
    tells_version: bool = True
    release: Release | None = None

    @property
    def import_path(self) -> str:
        """The main package's import path."""
        return f"{self.module}/{self.package}" if self.package else self.module


def _kubernetes(
    name: str, accepts: Skew, *, asked_with: tuple[str, ...] = ("--version",)
) -> Program:
    release = Release("https://dl.k8s.io/v{version}/bin/linux/{arch}/{name}", "{url}.sha256")
    return Program(
        name, KUBERNETES, f"cmd/{name}", "", accepts, asked_with=asked_with, release=release
    )


def _github(project: str, file: str, member: str = "", checksum_file: str = "") -> Release:
    """State a release on GitHub, which tells the sha256 of each file in its description."""
    url = f"https://github.com/{project}/releases/download/v{{version}}"
    described = f"https://api.github.com/repos/{project}/releases/tags/v{{version}}"
    checksum_url = f"{url}/{checksum_file}" if checksum_file else described
    return Release(f"{url}/{file}", checksum_url, member)


KUBERNETES: Final = "k8s.io/kubernetes"
_VERSION_PACKAGE: Final = "k8s.io/component-base/version"
_CONTAINERD: Final = "github.com/containerd/containerd/v2"
_CNI: Final = "github.com/containernetworking/plugins"
_CNI_VERSION: Final = f"{_CNI}/pkg/utils/buildversion.BuildVersion"

# Statically linked, as everything here: these run in containers of another system.
_CONTAINERD_FILE: Final = "containerd-static-{version}-linux-{arch}.tar.gz"
_CONTAINERD_RELEASE: Final = _github("containerd/containerd", _CONTAINERD_FILE, "bin/{name}")
_CNI_RELEASE: Final = _github(
    "containernetworking/plugins", "cni-plugins-linux-{arch}-v{version}.tgz", "{name}"
)


def _containerd(name: str) -> Program:
    accepts = Range("2.3.0", "2.4.0")
    release = _CONTAINERD_RELEASE
    return Program(name, _CONTAINERD, f"cmd/{name}", "2.3.6", accepts, release=release)


def _cni(package: str) -> Program:
    return Program(
        package.rpartition("/")[2],
        _CNI,
        f"plugins/{package}",
        "1.9.1",
        Range("1.5.0", "2.0.0"),
        version_variable=_CNI_VERSION,
        release=_CNI_RELEASE,
    )


_ROWS: Final = (
    # Kubernetes. A scheduler is for comparing with, and has to be the very version.
    _kubernetes("kube-apiserver", Skew.SUPPORTED),
    _kubernetes("kube-controller-manager", Skew.MINOR),
    _kubernetes("kube-scheduler", Skew.NONE),
    _kubernetes("kubectl", Skew.MINOR, asked_with=("version", "--client")),
    _kubernetes("kubelet", Skew.MINOR),
    _kubernetes("kubeadm", Skew.MINOR, asked_with=("version", "-o", "short")),
    _kubernetes("kube-proxy", Skew.MINOR),
    # The image of Kubernetes' own tests: a program for containers that are to do something.
    Program(
        "agnhost",
        KUBERNETES,
        "test/images/agnhost",
        "",
        Skew.MINOR,
        version_variable="main.Version",
    ),
    # The control plane's store, and Nodes without kubelets.
    Program(
        "etcd",
        "go.etcd.io/etcd/server/v3",
        "",
        "3.6.16",
        Range("3.5.0", "4.0.0"),
        release=_github(
            "etcd-io/etcd",
            "etcd-v{version}-linux-{arch}.tar.gz",
            "etcd-v{version}-linux-{arch}/etcd",
            "SHA256SUMS",
        ),
    ),
    Program(
        "kwok",
        "sigs.k8s.io/kwok",
        "cmd/kwok",
        "0.8.0",
        Range("0.8.0", "0.9.0"),
        release=_github("kubernetes-sigs/kwok", "kwok-linux-{arch}"),
    ),
    # What a node of a kind cluster runs. The kubelet wants containerd 2.
    _containerd("containerd"),
    _containerd("containerd-shim-runc-v2"),
    _containerd("ctr"),
    Program(
        "crictl",
        "sigs.k8s.io/cri-tools",
        "cmd/crictl",
        "1.36.0",
        Range("1.34.0", "1.38.0"),
        version_variable="sigs.k8s.io/cri-tools/pkg/version.Version",
        release=_github(
            "kubernetes-sigs/cri-tools", "crictl-v{version}-linux-{arch}.tar.gz", "crictl"
        ),
    ),
    _cni("ipam/host-local"),
    _cni("main/loopback"),
    _cni("main/ptp"),
    _cni("meta/portmap"),
    Program(
        "coredns",
        "github.com/coredns/coredns",
        "",
        "1.14.2",
        Range("1.12.0", "2.0.0"),
        asked_with=("-version",),
        release=_github("coredns/coredns", "coredns_{version}_linux_{arch}.tgz", "coredns"),
    ),
    # What makes such a cluster, and what installs into it.
    Program(
        "kind",
        "sigs.k8s.io/kind",
        "",
        "0.33.0",
        Range("0.33.0", "0.34.0"),
        release=_github("kubernetes-sigs/kind", "kind-linux-{arch}"),
    ),
    Program(
        "helm",
        "helm.sh/helm/v3",
        "cmd/helm",
        "3.22.0",
        Range("3.17.0", "4.0.0"),
        version_variable="helm.sh/helm/v3/internal/version.version",
        # What it takes for the cluster's version where it renders without one: its client-go's.
        other_variables=(
            ("helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor", "1"),
            ("helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor", "37"),
            ("helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor", "1"),
            ("helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor", "37"),
        ),
        asked_with=("version", "--short"),
        release=Release(
            "https://get.helm.sh/helm-v{version}-linux-{arch}.tar.gz",
            "{url}.sha256sum",
            "linux-{arch}/helm",
        ),
    ),
    # What checks the chart.
    Program(
        "kubeconform",
        "github.com/yannh/kubeconform",
        "cmd/kubeconform",
        "0.8.0",
        Range("0.7.0", "0.9.0"),
        version_variable="main.version",
        asked_with=("-v",),
        release=_github("yannh/kubeconform", "kubeconform-linux-{arch}.tar.gz", "kubeconform"),
    ),
    Program(
        "untt",
        "github.com/helm-unittest/helm-unittest",
        "cmd/helm-unittest",
        "1.1.2",
        Range("1.1.2", "1.1.3"),
        asked_with=("--help",),
        tells_version=False,
        release=_github(
            "helm-unittest/helm-unittest",
            "helm-unittest-linux-{arch}-{version}.tgz",
            "untt-linux-{arch}",
        ),
    ),
    Program(
        "helm-docs",
        "github.com/norwoodj/helm-docs",
        "cmd/helm-docs",
        "1.14.2",
        Range("1.14.0", "1.15.0"),
        version_variable="main.version",
        release=_github(
            "norwoodj/helm-docs",
            "helm-docs_{version}_Linux_{machine}.tar.gz",
            "helm-docs",
            "checksums.txt",
        ),
    ),
)

PROGRAMS: Final = {program.name: program for program in _ROWS}


def require(name: str, kubernetes: Version, *, exact: bool) -> Requirement:
    """State which versions of a program go with the Kubernetes version ``kubernetes``.

    Kubernetes' own may differ in the patch, the API server may be any supported one, unless
    ``exact``.

    Raises
    ------
    KeyError
        If ``name`` isn't in the catalogue.
    """
    program = PROGRAMS[name]
    if isinstance(program.accepts, Range):
        first, beyond = parse_version(program.accepts.first), parse_version(program.accepts.beyond)
        return Requirement(name, parse_version(program.version), first, beyond)
    if exact or program.accepts is Skew.NONE:
        return Requirement(name, kubernetes, kubernetes, kubernetes.next_patch)
    if program.accepts is Skew.SUPPORTED:
        return Requirement(name, kubernetes, SUPPORTED_FIRST, SUPPORTED_BEYOND)
    minor = Version(kubernetes.major, kubernetes.minor, 0)
    return Requirement(name, kubernetes, minor, Version(minor.major, minor.minor + 1, 0))


def linker_flags(name: str, version: Version) -> str:
    """Give what the linker is told when a program is built: not its symbols, but its version."""
    program = PROGRAMS[name]
    variables = {program.version_variable: f"v{version}"} if program.version_variable else {}
    variables |= dict(program.other_variables)
    if program.module == KUBERNETES:
        variables |= {
            f"{_VERSION_PACKAGE}.gitVersion": f"v{version}",
            f"{_VERSION_PACKAGE}.gitMajor": str(version.major),
            f"{_VERSION_PACKAGE}.gitMinor": str(version.minor),
        }
    return " ".join(["-s", "-w", *[f"-X {key}={value}" for key, value in variables.items()]])
