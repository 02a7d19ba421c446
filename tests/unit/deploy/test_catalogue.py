"""The catalogue of programs: its rows are complete, and say which versions are accepted."""

from __future__ import annotations

import pytest

from deploy.programs.catalogue import KUBERNETES as KUBERNETES_MODULE
from deploy.programs.catalogue import PROGRAMS, Range, require
from deploy.programs.gobuild import describe
from deploy.programs.releases import release_file
from deploy.programs.versions import Version, find_version, parse_version

KUBERNETES = Version(1, 36, 3)


@pytest.mark.parametrize(
    ("name", "exact", "accepted", "refused"),
    [
        ("kube-apiserver", False, ["1.34.0", "1.36.3", "1.37.9"], ["1.33.9", "1.38.0"]),
        ("kube-apiserver", True, ["1.36.3"], ["1.36.2", "1.36.4"]),
        ("kube-controller-manager", False, ["1.36.0", "1.36.9"], ["1.35.9", "1.37.0"]),
        ("kubectl", False, ["1.36.0"], ["1.37.0"]),
        ("kube-scheduler", False, ["1.36.3"], ["1.36.2", "1.36.4"]),
        ("etcd", True, ["3.5.0", "3.6.16"], ["3.4.30", "4.0.0"]),
        ("kwok", True, ["0.8.0", "0.8.7"], ["0.7.0", "0.9.0"]),
        ("kubelet", True, ["1.36.3"], ["1.36.2", "1.36.4"]),
        ("containerd", True, ["2.3.6"], ["1.6.20", "2.4.0"]),
        ("kind", False, ["0.33.0", "0.33.1"], ["0.32.9", "0.34.0"]),
    ],
)
def test_require(name: str, exact: bool, accepted: list[str], refused: list[str]) -> None:
    requirement = require(name, KUBERNETES, exact=exact)
    for text, is_accepted in [(t, True) for t in accepted] + [(t, False) for t in refused]:
        version = find_version(text)
        assert version is not None
        assert requirement.accepts(version) is is_accepted, text


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_built_is_accepted(name: str) -> None:
    requirement = require(name, KUBERNETES, exact=True)
    assert requirement.accepts(requirement.version)
    program = PROGRAMS[name]
    if isinstance(program.accepts, Range):
        assert requirement.version == parse_version(program.version)
    else:
        assert (program.version, requirement.version) == ("", KUBERNETES)
        assert program.module == KUBERNETES_MODULE


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_built_lies_in_its_module(name: str) -> None:
    built = describe(require(name, KUBERNETES, exact=False))
    assert built.package == built.module or built.package.startswith(f"{built.module}/")


@pytest.mark.parametrize("name", [name for name, row in PROGRAMS.items() if row.release])
@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_what_is_downloaded_is_of_the_version_and_encrypted(name: str, architecture: str) -> None:
    requirement = require(name, KUBERNETES, exact=False)
    file = release_file(requirement, architecture)
    for text in (file.url, file.checksum_url, file.member):
        assert "{" not in text
    assert file.url.startswith("https://")
    assert file.checksum_url.startswith("https://")
    assert str(requirement.version) in file.url
    assert str(requirement.version) in file.checksum_url
    assert bool(file.member) == file.url.endswith(("gz",))


@pytest.mark.parametrize(
    ("name", "url", "member"),
    [
        ("kubelet", "https://dl.k8s.io/v1.36.3/bin/linux/arm64/kubelet", ""),
        (
            "ctr",
            (
                "https://github.com/containerd/containerd/releases/download/v2.3.6/"
                "containerd-static-2.3.6-linux-arm64.tar.gz"
            ),
            "bin/ctr",
        ),
        (
            "ptp",
            (
                "https://github.com/containernetworking/plugins/releases/download/v1.9.1/"
                "cni-plugins-linux-arm64-v1.9.1.tgz"
            ),
            "ptp",
        ),
        ("helm", "https://get.helm.sh/helm-v3.22.0-linux-arm64.tar.gz", "linux-arm64/helm"),
    ],
)
def test_release_files(name: str, url: str, member: str) -> None:
    file = release_file(require(name, KUBERNETES, exact=False), "arm64")
    assert (file.url, file.member) == (url, member)


# What the programs print, shortened.
@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.36.3", Version(1, 36, 3)),
        ("containerd github.com/containerd/containerd/v2 2.3.6+unknown", Version(2, 3, 6)),
        ("CNI ptp plugin v1.9.1\nCNI protocol versions supported: 0.1.0, 1.1.0", Version(1, 9, 1)),
        ("CoreDNS-1.14.2\nlinux/amd64, go1.26.8,", Version(1, 14, 2)),
        ("kind version 0.33.0", Version(0, 33, 0)),
    ],
)
def test_versions_are_found_in_what_programs_print(text: str, version: Version) -> None:
    assert find_version(text) == version
