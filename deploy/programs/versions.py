"""Version numbers: what is wanted, what is accepted, and what a program says that it is."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass

from deploy.programs.errors import DeployError, UsageError

DEFAULT_KUBERNETES_VERSION = "1.36.3"

_VERSION = re.compile(r"(?<![\d.])v?(\d+)\.(\d+)\.(\d+)")
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A release number; what follows it, as in ``1.37.0-rc.1``, is not looked at."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def next_patch(self) -> Version:
        """The version after it."""
        return Version(self.major, self.minor, self.patch + 1)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A program that is wanted.

    Attributes
    ----------
    name
        One of the catalogue.
    version
        The version to download or build.
    first, beyond
        Versions from ``first`` to before ``beyond`` are accepted where one is found.
    """

    name: str
    version: Version
    first: Version
    beyond: Version

    def accepts(self, version: Version) -> bool:
        """Tell whether a program of this version will do."""
        return self.first <= version < self.beyond

    @property
    def exact(self) -> bool:
        """Whether nothing but ``version`` will do."""
        return self.first == self.version and self.beyond == self.version.next_patch

    @property
    def accepted(self) -> str:
        """The accepted versions as text."""
        if self.exact:
            return str(self.version)
        return f"{self.first} or newer, before {self.beyond}"


def find_version(text: str) -> Version | None:
    """Find the first version in what a program prints; None if there is none."""
    match = _VERSION.search(text)
    return Version(*map(int, match.groups())) if match else None


def requested_version(given: str | None = None) -> tuple[Version, bool]:
    """Return the Kubernetes version to use, and whether somebody asked for just that one.

    Parameters
    ----------
    given
        A version from an argument; else the variable KUBERNETES_VERSION, else the default.

    Raises
    ------
    UsageError
        If it isn't one of 1.34 to 1.37.
    """
    text = given or os.environ.get("KUBERNETES_VERSION") or ""
    match = _VERSION.fullmatch(text or DEFAULT_KUBERNETES_VERSION)
    version = Version(*map(int, match.groups())) if match else None
    if version is None or not SUPPORTED_FIRST <= version < SUPPORTED_BEYOND:
        raise UsageError(
            f"Kubernetes version {text!r}: not supported; 1.34 to 1.37 are, written like "
            f"{DEFAULT_KUBERNETES_VERSION}"
        )
    return version, bool(text)


def parse_version(text: str) -> Version:
    """Read a version that is written like ``1.36.3``."""
    major, minor, patch = text.split(".")
    return Version(int(major), int(minor), int(patch))


def architecture() -> str:
    """Name this machine's architecture as Go does.

    Raises
    ------
    DeployError
        If this is neither Linux on amd64 nor on arm64.
    """
    machine = platform.machine()
    if platform.system() != "Linux" or machine not in _MACHINES:
        raise DeployError(f"{platform.system()} on {machine}: this runs on Linux, amd64 and arm64")
    return _MACHINES[machine]


SUPPORTED_FIRST = Version(1, 34, 0)
SUPPORTED_BEYOND = Version(1, 38, 0)
