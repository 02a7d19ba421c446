"""Published programs: the envtest archive, and the releases that the catalogue names.

Checksums come from what the project publishes beside its files: envtest's index, a ``.sha256`` or
``SHA256SUMS`` file, or the digests that GitHub computes of a release's files.
"""

from __future__ import annotations

import json
import re
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj

import yaml

from deploy.programs.catalogue import PROGRAMS
from deploy.programs.download import Fetcher
from deploy.programs.errors import SourceError
from deploy.programs.private_files import TEMPORARY_PREFIX
from deploy.programs.reporting import Reporter
from deploy.programs.sources import Binary, Cache
from deploy.programs.versions import Requirement, Version, find_version

ENVTEST_INDEX = (
    "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml"
)
ENVTEST_PROGRAMS = ("etcd", "kube-apiserver", "kubectl")
_HEX = re.compile(r"\b[0-9a-fA-F]{64,128}\b")


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """A published file: its address, its checksum's address, and the program's path if packed."""

    url: str
    checksum_url: str
    member: str = ""


class EnvtestSource:
    """The archive of etcd, kube-apiserver and kubectl that is published for tests of controllers.

    Its index names the versions there are, with their sha512. The wanted version is taken, or if
    others are accepted the newest of the same minor version: not every patch is published.
    """

    label = "envtest archive"

    def __init__(
        self, cache: Cache, fetcher: Fetcher, reporter: Reporter, *, architecture: str
    ) -> None:
        self._cache = cache
        self._fetcher = fetcher
        self._reporter = reporter
        self._architecture = architecture

    def obtain(self, requirement: Requirement) -> Binary:
        """Download the archive and put its programs into the cache."""
        if requirement.name not in ENVTEST_PROGRAMS:
            raise SourceError(f"has no {requirement.name}")
        kubernetes = find_version(self._cache.directory.name)
        if kubernetes is None:
            raise SourceError(f"{self._cache.directory} is not named by a version")
        version, url, digest = self._choose(requirement, kubernetes)
        self._reporter.step(f"downloading the envtest archive {version}: {url}")
        with _scratch(self._cache.directory) as scratch:
            archive = scratch / "archive.tar.gz"
            self._fetcher.fetch_file(url, archive, algorithm="sha512", digest=digest)
            binary = None
            for name in ENVTEST_PROGRAMS:
                _extract(archive, f"controller-tools/envtest/{name}", scratch / name)
                installed = self._install(name, scratch / name, requirement, version)
                binary = installed if name == requirement.name else binary
        if binary is None:
            raise SourceError(f"{url} has no {requirement.name} that fits")
        return binary

    def _install(
        self, name: str, path: Path, requirement: Requirement, version: Version
    ) -> Binary | None:
        """Put one of the archive's programs into the cache, unless a better one is there."""
        if name != requirement.name and (self._cache.directory / name).exists():
            return None
        path.chmod(0o755)
        says = version if name != "etcd" else None
        return self._cache.install(name, path, says, f"envtest archive {version}")

    def _choose(self, requirement: Requirement, kubernetes: Version) -> tuple[Version, str, str]:
        try:
            index = yaml.safe_load(self._fetcher.fetch_text(ENVTEST_INDEX))
            candidates = dict(self._candidates(index["releases"]))
        except (yaml.YAMLError, TypeError, KeyError, AttributeError) as error:
            raise SourceError(f"{ENVTEST_INDEX} is not as expected: {error}") from error
        same_minor = [
            version
            for version in candidates
            if (version.major, version.minor) == (kubernetes.major, kubernetes.minor)
            and (version == kubernetes or not requirement.exact)
        ]
        if not same_minor:
            wanted = kubernetes if requirement.exact else f"{kubernetes.major}.{kubernetes.minor}"
            raise SourceError(f"no archive of Kubernetes {wanted} for linux/{self._architecture}")
        version = kubernetes if kubernetes in same_minor else max(same_minor)
        return version, *candidates[version]

    def _candidates(
        self, releases: dict[str, dict[str, dict[str, str]]]
    ) -> Iterator[tuple[Version, tuple[str, str]]]:
        for name, files in releases.items():
            version = find_version(name)
            file = files.get(f"envtest-{name}-linux-{self._architecture}.tar.gz")
            if version is not None and file and file["selfLink"].startswith("https://"):
                yield version, (file["selfLink"], file["hash"])


class ReleaseSource:
    """The releases that the projects publish, one file a program."""

    label = "release downloads"

    def __init__(
        self, cache: Cache, fetcher: Fetcher, reporter: Reporter, *, architecture: str
    ) -> None:
        self._cache = cache
        self._fetcher = fetcher
        self._reporter = reporter
        self._architecture = architecture

    def obtain(self, requirement: Requirement) -> Binary:
        """Download the program, verify it and put it into the cache."""
        file = release_file(requirement, self._architecture)
        digest = find_checksum(
            self._fetcher.fetch_text(file.checksum_url), file.url.rpartition("/")[2]
        )
        self._reporter.step(f"downloading {requirement.name} {requirement.version}: {file.url}")
        with _scratch(self._cache.directory) as scratch:
            downloaded, program = scratch / "download", scratch / requirement.name
            self._fetcher.fetch_file(file.url, downloaded, algorithm="sha256", digest=digest)
            if file.member:
                _extract(downloaded, file.member, program)
            else:
                downloaded.replace(program)
            host = file.url.split("/")[2]
            return self._cache.install(
                requirement.name, program, requirement.version, f"release from {host}"
            )


def release_file(requirement: Requirement, architecture: str) -> ReleaseFile:
    """Name the published file of a program.

    Raises
    ------
    SourceError
        If it isn't published as a file.
    """
    release = PROGRAMS[requirement.name].release
    if release is None:
        raise SourceError(f"{requirement.name} is not published")
    values = {
        "name": requirement.name,
        "version": str(requirement.version),
        "arch": architecture,
        "machine": {"amd64": "x86_64"}.get(architecture, architecture),
    }
    url = release.url.format(**values)
    return ReleaseFile(
        url, release.checksum_url.format(url=url, **values), release.member.format(**values)
    )


def find_checksum(text: str, file_name: str) -> str:
    """Find a file's sha256 in what a project publishes.

    Parameters
    ----------
    text
        A checksum alone, lines of ``<checksum>  <file name>``, or GitHub's description of a
        release, whose assets have a ``digest``.
    file_name
        The file that is meant.

    Raises
    ------
    SourceError
        If there is none.
    """
    if text.lstrip().startswith("{"):
        try:
            digests = {asset["name"]: asset["digest"] for asset in json.loads(text)["assets"]}
        except (ValueError, TypeError, KeyError) as error:
            raise SourceError(f"no checksum of {file_name} is published ({error})") from error
        lines = [f"{str(digest).removeprefix('sha256:')}  {n}" for n, digest in digests.items()]
    else:
        lines = text.splitlines()
    for line in lines:
        words = line.split()
        if words and _HEX.fullmatch(words[0]) and words[1:] in ([], [file_name], [f"*{file_name}"]):
            return words[0]
    raise SourceError(f"no checksum of {file_name} is published")


def _extract(archive: Path, member: str, destination: Path) -> None:
    """Write one file of a .tar.gz archive to ``destination``."""
    try:
        with tarfile.open(archive, "r:gz") as packed:
            paths = {item.name.removeprefix("./"): item for item in packed if item.isfile()}
            content = packed.extractfile(paths[member])
            if content is None:
                raise SourceError(f"{member} in the archive is no file")
            with destination.open("wb") as file:
                copyfileobj(content, file)
    except (tarfile.TarError, EOFError, KeyError, OSError) as error:
        raise SourceError(f"the archive has no readable {member}: {error}") from error


@contextmanager
def _scratch(directory: Path) -> Iterator[Path]:
    """Give a directory for unfinished files, on the same file system, removed afterwards."""
    with tempfile.TemporaryDirectory(dir=directory, prefix=TEMPORARY_PREFIX) as path:
        yield Path(path)
