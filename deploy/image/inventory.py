"""What is in an image: its Python distributions and Debian packages, as its files say.

The files are read out of the image; nothing of it is run, so that it may be for another machine.
"""

from __future__ import annotations

import json
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.message import Message
from email.parser import HeaderParser
from pathlib import PurePosixPath
from typing import IO, Any

from deploy.image.engine import DOCKER, run_docker
from deploy.programs.errors import DeployError

DPKG_STATUS = PurePosixPath("var/lib/dpkg/status")
# Where Debian's images without dpkg keep a file for each package.
DPKG_STATUS_DIRECTORY = PurePosixPath("var/lib/dpkg/status.d")
OS_RELEASES = (PurePosixPath("etc/os-release"), PurePosixPath("usr/lib/os-release"))
_LICENSE_CLASSIFIER = "License :: "
_UNKNOWN = ("", "UNKNOWN")


@dataclass(frozen=True, slots=True, order=True)
class PythonDistribution:
    """An installed distribution.

    ``license_expression`` is SPDX's or empty; ``license_names`` are the author's own words, for
    distributions that have no expression.
    """

    name: str
    version: str
    license_expression: str = ""
    license_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class DebianPackage:
    """An installed package."""

    name: str
    version: str
    architecture: str


@dataclass(slots=True)
class Contents:
    """What the files of an image say is installed; ``os_release`` as in os-release(5)."""

    distributions: list[PythonDistribution] = field(default_factory=list)
    packages: list[DebianPackage] = field(default_factory=list)
    os_release: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Image:
    """An image as the engine describes it."""

    name: str
    identifier: str
    created: datetime
    labels: dict[str, str]
    environment: dict[str, str]


def inspect_image(name: str) -> Image:
    """Ask the engine about an image.

    Raises
    ------
    DeployError
        If it has none of this name.
    """
    about: dict[str, Any] = json.loads(run_docker("image", "inspect", name))[0]
    pairs = (text.partition("=") for text in about["Config"].get("Env") or ())
    return Image(
        name=name,
        identifier=about["Id"],
        created=datetime.fromisoformat(about["Created"]),
        labels=about["Config"].get("Labels") or {},
        environment={variable: value for variable, _, value in pairs},
    )


def read_contents(image: str) -> Contents:
    """Read from an image's files what is installed in it; takes a few seconds.

    Raises
    ------
    DeployError
        If the engine has no such image, or doesn't give its files.
    """
    container = run_docker("container", "create", image)
    try:
        with subprocess.Popen([DOCKER, "export", container], stdout=subprocess.PIPE) as exported:
            try:
                contents = read_archive(exported.stdout) if exported.stdout else Contents()
            except tarfile.TarError as error:
                raise DeployError(f"docker export {image}: {error}") from error
            finally:
                exported.kill()
    finally:
        run_docker("container", "rm", container)
    return contents


def read_archive(archive: IO[bytes]) -> Contents:
    """Read what is installed from a tar archive of an image's files.

    Raises
    ------
    tarfile.TarError
        If it isn't one.
    """
    contents = Contents()
    with tarfile.open(fileobj=archive, mode="r|") as files:
        for member in files:
            if member.isfile() and _tells_something(PurePosixPath(member.name)):
                file = files.extractfile(member)
                if file is not None:
                    _add(contents, PurePosixPath(member.name), file.read().decode())
    contents.distributions.sort()
    contents.packages.sort()
    return contents


def _tells_something(path: PurePosixPath) -> bool:
    return (
        (path.name == "METADATA" and path.parent.suffix == ".dist-info")
        or path in (DPKG_STATUS, *OS_RELEASES)
        or (path.parent == DPKG_STATUS_DIRECTORY and path.suffix != ".md5sums")
    )


def _add(contents: Contents, path: PurePosixPath, text: str) -> None:
    if path.name == "METADATA":
        contents.distributions.append(parse_metadata(text))
    elif path in OS_RELEASES:
        pairs = (line.partition("=") for line in text.splitlines())
        contents.os_release = {name: value.strip("\"'") for name, _, value in pairs if value}
    else:
        contents.packages += parse_status(text)


def parse_metadata(text: str) -> PythonDistribution:
    """Read a distribution's ``METADATA`` (core metadata, version 2.4 and earlier)."""
    headers = HeaderParser().parsestr(text)
    return PythonDistribution(
        name=headers["Name"],
        version=headers["Version"],
        license_expression=headers.get("License-Expression", ""),
        license_names=tuple(_license_names(headers)),
    )


def parse_status(text: str) -> Iterator[DebianPackage]:
    """Read the installed packages from dpkg's ``status``."""
    for paragraph in text.split("\n\n"):
        headers = HeaderParser().parsestr(paragraph.lstrip("\n"))
        # Removed packages stay on the list as long as their configuration does. Images without
        # dpkg have only installed ones, and may not say so.
        is_installed = headers.get("Status", "installed").split()[-1:] == ["installed"]
        if "Package" in headers and is_installed:
            yield DebianPackage(headers["Package"], headers["Version"], headers["Architecture"])


def _license_names(headers: Message) -> Sequence[str]:
    classifiers = [
        text.rpartition(" :: ")[2]
        for text in headers.get_all("Classifier", [])
        if text.startswith(_LICENSE_CLASSIFIER) and text != "License :: OSI Approved"
    ]
    if classifiers:
        return classifiers
    # Some put the whole text of the license there.
    words: str = headers.get("License", "").strip()
    return [] if words in _UNKNOWN else [words.splitlines()[0]]
