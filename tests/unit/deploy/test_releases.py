"""Published programs: which file is taken, and that nothing unverified is."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.programs.catalogue import require
from deploy.programs.errors import SourceError
from deploy.programs.releases import (
    ENVTEST_INDEX,
    EnvtestSource,
    ReleaseSource,
    find_checksum,
    release_file,
)
from deploy.programs.reporting import SilentReporter
from deploy.programs.sources import Cache
from deploy.programs.versions import Version
from tests.unit.deploy.fakes import FakeFetcher

KUBERNETES = Version(1, 36, 3)
SHA256 = "a" * 64


def archive(programs: dict[str, str]) -> bytes:
    """Pack scripts, each printing a text, as .tar.gz."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, says in programs.items():
            content = f"#!/bin/sh\necho '{says}'\n".encode()
            member = tarfile.TarInfo(path)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def envtest(version: str, *, etcd: str = "etcd Version: 3.6.8") -> bytes:
    base = "controller-tools/envtest"
    return archive(
        {
            f"{base}/etcd": etcd,
            f"{base}/kube-apiserver": f"Kubernetes {version}",
            f"{base}/kubectl": f"Client Version: {version}",
        }
    )


def publish(*versions: str, scheme: str = "https") -> FakeFetcher:
    """Give a network with envtest's index and archives of these versions."""
    fetcher = FakeFetcher()
    releases: dict[str, Any] = {}
    for version in versions:
        name = f"envtest-{version}-linux-amd64.tar.gz"
        url = f"{scheme}://example.invalid/{name}"
        fetcher.contents[url] = envtest(version)
        digest = hashlib.sha512(fetcher.contents[url]).hexdigest()
        releases[version] = {name: {"hash": digest, "selfLink": url}}
    fetcher.contents[ENVTEST_INDEX] = yaml.safe_dump({"releases": releases}).encode()
    return fetcher


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    cache = Cache(tmp_path, KUBERNETES)
    cache.directory.mkdir()
    return cache


def envtest_source(cache: Cache, fetcher: FakeFetcher, machine: str = "amd64") -> EnvtestSource:
    return EnvtestSource(cache, fetcher, SilentReporter(), architecture=machine)


def names(cache: Cache) -> set[str]:
    return {path.name for path in cache.directory.iterdir() if path.suffix != ".json"}


@pytest.mark.parametrize(
    ("published", "taken"),
    [
        (["v1.35.9", "v1.36.0", "v1.36.1", "v1.37.0"], Version(1, 36, 1)),
        (["v1.36.3", "v1.36.4"], Version(1, 36, 3)),
    ],
)
def test_envtest_takes_the_version_or_the_newest_of_its_minor(
    published: list[str], taken: Version, cache: Cache
) -> None:
    source = envtest_source(cache, publish(*published))
    binary = source.obtain(require("kube-apiserver", KUBERNETES, exact=False))
    assert binary.version == taken
    assert names(cache) == {"etcd", "kube-apiserver", "kubectl"}
    etcd = cache.obtain(require("etcd", KUBERNETES, exact=False))
    assert etcd.version == Version(3, 6, 8)
    assert etcd.source == f"cached, envtest archive {taken}"


def test_envtest_gives_etcd_as_well(cache: Cache) -> None:
    source = envtest_source(cache, publish("v1.36.0"))
    assert source.obtain(require("etcd", KUBERNETES, exact=False)).version == Version(3, 6, 8)


@pytest.mark.parametrize(
    ("fetcher", "name", "exact", "machine", "why"),
    [
        (publish("v1.36.0"), "kube-apiserver", True, "amd64", "no archive of Kubernetes 1.36.3"),
        (publish("v1.35.0"), "kube-apiserver", False, "amd64", "no archive of Kubernetes 1.36 "),
        (publish("v1.36.0"), "kube-apiserver", False, "arm64", "for linux/arm64"),
        (publish("v1.36.0"), "kwok", False, "amd64", "has no kwok"),
        (publish("v1.36.0", scheme="http"), "etcd", False, "amd64", "no archive"),
        (FakeFetcher(), "etcd", False, "amd64", "404 Not Found"),
        (FakeFetcher({ENVTEST_INDEX: b"[]"}), "etcd", False, "amd64", "not as expected"),
    ],
)
def test_envtest_without_a_fitting_archive(
    fetcher: FakeFetcher, name: str, exact: bool, machine: str, why: str, cache: Cache
) -> None:
    with pytest.raises(SourceError, match=why):
        envtest_source(cache, fetcher, machine).obtain(require(name, KUBERNETES, exact=exact))
    assert names(cache) == set()


def test_envtest_with_a_wrong_checksum_is_refused(cache: Cache) -> None:
    fetcher = publish("v1.36.0")
    url = "https://example.invalid/envtest-v1.36.0-linux-amd64.tar.gz"
    fetcher.contents[url] += b"more"
    with pytest.raises(SourceError, match="refused"):
        envtest_source(cache, fetcher).obtain(require("etcd", KUBERNETES, exact=False))
    assert names(cache) == set()


def test_a_release_is_downloaded_verified_and_unpacked(cache: Cache) -> None:
    requirement = require("etcd", KUBERNETES, exact=False)
    file = release_file(requirement, "arm64")
    assert file.url.endswith("/v3.6.16/etcd-v3.6.16-linux-arm64.tar.gz")
    packed = archive({"etcd-v3.6.16-linux-arm64/etcd": "etcd Version: 3.6.16"})
    sums = f"{SHA256}  other.tar.gz\n{hashlib.sha256(packed).hexdigest()}  {Path(file.url).name}\n"
    fetcher = FakeFetcher({file.url: packed, file.checksum_url: sums.encode()})
    source = ReleaseSource(cache, fetcher, SilentReporter(), architecture="arm64")
    assert source.obtain(requirement).version == Version(3, 6, 16)
    assert names(cache) == {"etcd"}


def test_a_release_with_a_wrong_checksum_is_refused(cache: Cache) -> None:
    requirement = require("kube-scheduler", KUBERNETES, exact=False)
    file = release_file(requirement, "amd64")
    assert file.url == "https://dl.k8s.io/v1.36.3/bin/linux/amd64/kube-scheduler"
    fetcher = FakeFetcher({file.url: b"something else", file.checksum_url: SHA256.encode()})
    source = ReleaseSource(cache, fetcher, SilentReporter(), architecture="amd64")
    with pytest.raises(SourceError, match="refused"):
        source.obtain(requirement)
    assert names(cache) == set()


def test_archives_whose_paths_begin_with_the_directory(cache: Cache) -> None:
    requirement = require("ptp", KUBERNETES, exact=False)
    file = release_file(requirement, "amd64")
    packed = archive({"./ptp": "CNI ptp plugin v1.9.1"})
    described = {
        "assets": [
            {
                "name": Path(file.url).name,
                "digest": f"sha256:{hashlib.sha256(packed).hexdigest()}",
            }
        ]
    }
    fetcher = FakeFetcher({file.url: packed, file.checksum_url: json.dumps(described).encode()})
    source = ReleaseSource(cache, fetcher, SilentReporter(), architecture="amd64")
    assert source.obtain(requirement).version == Version(1, 9, 1)


def test_a_program_that_is_not_published(cache: Cache) -> None:
    source = ReleaseSource(cache, FakeFetcher(), SilentReporter(), architecture="amd64")
    with pytest.raises(SourceError, match="agnhost is not published"):
        source.obtain(require("agnhost", KUBERNETES, exact=False))


def test_a_release_without_a_checksum_is_not_downloaded(cache: Cache) -> None:
    requirement = require("kwok", KUBERNETES, exact=False)
    file = release_file(requirement, "amd64")
    described = json.dumps({"assets": [{"name": "kwok-linux-amd64", "digest": None}]})
    fetcher = FakeFetcher({file.url: b"kwok", file.checksum_url: described.encode()})
    source = ReleaseSource(cache, fetcher, SilentReporter(), architecture="amd64")
    with pytest.raises(SourceError, match="no checksum of kwok-linux-amd64 is published"):
        source.obtain(requirement)
    assert fetcher.fetched == [file.checksum_url]


@pytest.mark.parametrize(
    "text",
    [
        SHA256,
        f"{SHA256}\n",
        f"{SHA256}  program\n",
        f"{SHA256} *program\n",
        f"{'b' * 64}  other\n{SHA256}  program\n",
        json.dumps({"assets": [{"name": "program", "digest": f"sha256:{SHA256}"}]}),
    ],
)
def test_find_checksum(text: str) -> None:
    assert find_checksum(text, "program") == SHA256


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>not found</html>",
        f"{SHA256}  other",
        f"{SHA256[1:]}  program",
        '{"message": "rate limit exceeded"}',
        '{"assets": [{"name": "other", "digest": "sha256:1"}]}',
    ],
)
def test_no_checksum(text: str) -> None:
    with pytest.raises(SourceError, match="no checksum of program"):
        find_checksum(text, "program")
