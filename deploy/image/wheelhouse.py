"""The locked wheels for the image's Python, fetched here: inside, nothing then needs a network.

A container may have no network, and doesn't trust the certificates that this machine trusts. pip
is told each wheel's version and hashes by the lock, here and in the image.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from deploy.image.base import PythonTarget
from deploy.image.logged import run_logged
from deploy.programs.errors import DeployError
from deploy.programs.reporting import Reporter

# What was asked for: a directory with another answer is made anew.
STAMP = "fetched-for.json"
OLDEST_GLIBC_MINOR = 17
# PEP 600's older names of manylinux_2_17, _2_12 and _2_5.
LEGACY_PLATFORMS = ("manylinux2014", "manylinux2010", "manylinux1")


def fetch_wheels(
    locks: Sequence[Path], target: PythonTarget, directory: Path, *, log: Path, reporter: Reporter
) -> None:
    """Have the wheels that the locks name for a Python in a directory; nothing if they are there.

    The directory holds all of them or isn't there, also when this is interrupted.

    Parameters
    ----------
    locks
        Requirement files with hashes, as uv writes them.
    target
        The Python that they are for.
    directory
        Which is replaced if it was for other locks or another Python.
    log, reporter
        Where it is written what pip says, and how far it is.

    Raises
    ------
    DeployError
        If a lock isn't one, or a wheel can't be fetched or isn't what the lock says.
    """
    stamp = _stamp(locks, target)
    if _is_stamped(directory, stamp):
        return
    directory.parent.mkdir(parents=True, exist_ok=True)
    reporter.step("fetching the locked wheels")
    with tempfile.TemporaryDirectory(dir=directory.parent) as scratch:
        new = Path(scratch) / "wheels"
        for number, lock in enumerate(locks):
            wanted = Path(scratch) / f"{number}.txt"
            wanted.write_text("".join(requirements_for(lock.read_text(), target, name=lock.name)))
            run_logged(
                pip_download(wanted, target, new),
                log=log,
                saying="fetching the locked wheels",
                reporter=reporter,
            )
        (new / STAMP).write_text(stamp)
        if directory.exists():
            shutil.rmtree(directory)
        new.replace(directory)
    wheels = list(directory.glob("*.whl"))
    size_bytes = sum(wheel.stat().st_size for wheel in wheels)
    reporter.step(f"fetched {len(wheels)} wheels, {size_bytes / (1 << 20):.0f} MiB")


def requirements_for(lock: str, target: PythonTarget, *, name: str) -> Iterator[str]:
    """Give a lock's entries, each with its hashes, that apply to a Python, without conditions.

    Raises
    ------
    DeployError
        If an entry isn't a requirement.
    """
    entries = lock.replace("\\\n", " ").splitlines()
    for entry in entries:
        text, *hashes = entry.split("--hash=")
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise DeployError(f"{name}: {text.strip()!r}: {error}") from error
        if requirement.marker is None or requirement.marker.evaluate(dict(target.markers)):
            options = " ".join(f"--hash={each.strip()}" for each in hashes)
            yield f"{requirement.name}{requirement.specifier} {options}\n"


def pip_download(requirements: Path, target: PythonTarget, directory: Path) -> list[str | Path]:
    """Return the command with which pip fetches wheels for a Python that isn't its own."""
    version = target.markers["python_version"]
    tag = version.replace(".", "")
    platforms = [text for name in platform_tags(target) for text in ("--platform", name)]
    command: list[str | Path] = [sys.executable, "-m", "pip", "download", *platforms]
    command += ["--python-version", version, "--implementation", "cp"]
    command += ["--abi", f"cp{tag}", "--abi", "abi3", "--abi", "none"]
    command += ["--no-deps", "--only-binary", ":all:", "--disable-pip-version-check"]
    return [*command, "--require-hashes", "--requirement", requirements, "--dest", directory]


def platform_tags(target: PythonTarget) -> list[str]:
    """Name the platforms whose wheels a Python takes, newest first (PEP 600).

    Raises
    ------
    DeployError
        If its C library isn't glibc.
    """
    name, version = target.libc
    machine = target.markers["platform_machine"]
    if name != "glibc":
        raise DeployError(
            f"the base's C library is {name or 'not glibc'}: use one with glibc, such as "
            "python:3.13-slim, or build with `docker build` and a network"
        )
    minor = int(version.split(".")[1])
    tags = [f"manylinux_2_{each}_{machine}" for each in range(minor, OLDEST_GLIBC_MINOR - 1, -1)]
    tags += [f"{each}_{machine}" for each in LEGACY_PLATFORMS]
    return [*tags, f"linux_{machine}", "any"]


def _stamp(locks: Sequence[Path], target: PythonTarget) -> str:
    digests = {lock.name: hashlib.sha256(lock.read_bytes()).hexdigest() for lock in locks}
    about = {"markers": dict(target.markers), "libc": target.libc, "locks": digests}
    return json.dumps(about, indent=2, sort_keys=True) + "\n"


def _is_stamped(directory: Path, stamp: str) -> bool:
    try:
        return (directory / STAMP).read_text() == stamp
    except FileNotFoundError:
        return False
