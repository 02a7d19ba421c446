"""Where programs come from without a network: a directory, PATH and the cache.

A source is asked for one program at a time and either gives it or says why not in a line
(``SourceError``); those lines together are the message when no source has it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from deploy.programs.catalogue import PROGRAMS, linker_flags
from deploy.programs.errors import SourceError, UnsuitableError
from deploy.programs.private_files import write_private
from deploy.programs.reporting import Reporter
from deploy.programs.versions import Requirement, Version, find_version

VERSION_TIMEOUT_SECONDS = 10.0
LOCK_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Binary:
    """A program that was found: where, which version, and from which source."""

    name: str
    path: Path
    version: Version
    source: str


class Source(Protocol):
    """A place that may have programs."""

    @property
    def label(self) -> str:
        """What to call it in a message."""

    def obtain(self, requirement: Requirement) -> Binary:
        """Give the program, fetching it if need be.

        Raises
        ------
        SourceError
            If it has no such program or can't be reached.
        """


class AssetsSource:
    """The directory that the variable KUBEBUILDER_ASSETS names."""

    label = "KUBEBUILDER_ASSETS"

    def obtain(self, requirement: Requirement) -> Binary:
        """Give the program from that directory if its version is accepted."""
        directory = os.environ.get("KUBEBUILDER_ASSETS")
        if not directory:
            raise SourceError("not set")
        path = Path(directory).expanduser().absolute() / requirement.name
        if not os.access(path, os.X_OK) or path.is_dir():
            raise SourceError(f"no program {path}")
        return _checked(requirement, path, self.label)


class PathSource:
    """The directories of PATH."""

    label = "PATH"

    def obtain(self, requirement: Requirement) -> Binary:
        """Give the first such program on PATH if its version is accepted."""
        found = shutil.which(requirement.name)
        if found is None:
            raise SourceError(f"no {requirement.name} on it")
        return _checked(requirement, Path(found).absolute(), self.label)


class Cache:
    """Programs downloaded or built before: ``<root>/<kubernetes version>/<name>``.

    Beside each lies ``<name>.json`` with its version, source and checksum, and how it was linked if
    it was built here. A program appears under its name complete or not at all; it is changed only
    for another version, or to be built otherwise.
    """

    def __init__(self, root: Path, kubernetes: Version) -> None:
        self.root = root
        self.directory = root / str(kubernetes)
        self.label = f"cache {self.directory}"

    def obtain(self, requirement: Requirement) -> Binary:
        """Give the program from the cache if its version is accepted."""
        path = self.directory / requirement.name
        try:
            about = json.loads(_about(path).read_text())
            version = find_version(about["version"])
            source = str(about["source"])
        except FileNotFoundError as error:
            raise SourceError(f"no {requirement.name} in it") from error
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SourceError(f"{_about(path)} cannot be read: {error}") from error
        if version is None or not requirement.accepts(version):
            raise UnsuitableError(f"{path} is {version}, wanted is {requirement.accepted}")
        if about.get("linkerFlags", "") not in ("", linker_flags(requirement.name, version)):
            raise UnsuitableError(f"{path} was built in another way than it is now")
        if not os.access(path, os.X_OK):
            raise SourceError(f"{path} is missing or not executable")
        return Binary(requirement.name, path, version, f"cached, {source}")

    def install(
        self,
        name: str,
        new: Path,
        version: Version | None,
        source: str,
        *,
        built_with: str = "",
    ) -> Binary:
        """Move a complete program into the cache; its file must be on the same file system.

        Parameters
        ----------
        name, new
            The program and its file, which is moved.
        version
            What it has to say of itself; None if any version will do. A program that doesn't tell
            its version only has to run.
        source
            Where it comes from, for messages.
        built_with
            The linker flags of our build; "" for what others have built.

        Raises
        ------
        SourceError
            If it doesn't run here or is another version.
        """
        new.chmod(0o755)
        says = ask_version(name, new) if PROGRAMS[name].tells_version else version
        if not PROGRAMS[name].tells_version and _ask(name, new) is None:
            raise SourceError(f"{name} from {source} does not run here")
        if says is None or version not in (None, says):
            wanted = f", not {version}" if version else ""
            raise SourceError(f"{name} from {source} says that it is version {says}{wanted}")
        path = self.directory / name
        with new.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        _about(path).unlink(missing_ok=True)  # never the description of another file
        new.replace(path)
        about = {"version": str(says), "source": source, "sha256": digest}
        if built_with:
            about["linkerFlags"] = built_with
        write_private(_about(path), json.dumps(about, indent=2) + "\n")
        return Binary(name, path, says, source)

    @contextlib.contextmanager
    def lock(self, reporter: Reporter) -> Iterator[None]:
        """Hold the cache's lock, so that no two commands fetch or build the same at once."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(
                self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise SourceError(f"{self.directory} cannot be written: {error}") from error
        try:
            began_seconds = time.monotonic()
            while not _try_lock(descriptor):
                waited_seconds = time.monotonic() - began_seconds
                reporter.progress(
                    f"waiting for another command that fills {self.directory} "
                    f"({waited_seconds:.0f} s)"
                )
                time.sleep(LOCK_POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)


def default_cache_root() -> Path:
    """Name the cache's root: ``$XDG_CACHE_HOME/berthmaster``, by default in ``~/.cache``."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification says to ignore a relative path.
    base = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    return base / "berthmaster"


def ask_version(name: str, path: Path) -> Version | None:
    """Run a program to learn its version; None if it doesn't run or prints none."""
    answer = _ask(name, path)
    return find_version(answer) if answer and PROGRAMS[name].tells_version else None


def _ask(name: str, path: Path) -> str | None:
    """Run a program with the arguments that make it tell its version; None unless it succeeds."""
    try:
        done = subprocess.run(
            [path, *PROGRAMS[name].asked_with],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def _checked(requirement: Requirement, path: Path, source: str) -> Binary:
    version = ask_version(requirement.name, path)
    if version is None:
        raise UnsuitableError(f"{path} does not tell its version")
    if not requirement.accepts(version):
        raise UnsuitableError(f"{path} is {version}, wanted is {requirement.accepted}")
    return Binary(requirement.name, path, version, source)


def _about(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
