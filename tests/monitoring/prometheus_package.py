"""prometheus and promtool: from PATH, else of the distribution's packages, kept in the cache."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import pytest

from deploy.programs.sources import default_cache_root

PROGRAMS: Final = ("prometheus", "promtool")
"""And the packages that have them."""
ADVICE: Final = "install it: apt install prometheus (Debian, Ubuntu), or put both programs on PATH"
TIMEOUT_SECONDS: Final = 90.0
"""For all of one command: the lists are 14 MB, the package 20 MB."""
APT_OPTIONS: Final = (
    "Acquire::Languages=none",
    "Acquire::Retries=1",
    "Acquire::http::Timeout=10",
    "Acquire::https::Timeout=10",
    "APT::Sandbox::User=",  # as root it would be `_apt`, which may not write into our folder
)


class NotFetchedError(Exception):
    """The package cannot be had here; the text says why, in one line."""


def program(name: str) -> Path:
    """Find one of `PROGRAMS`; skip the test where it is neither installed nor to be fetched."""
    installed = shutil.which(name)
    if installed is not None:
        return Path(installed)
    folder = default_cache_root() / PROGRAMS[0]
    why_not = _why_not_fetched(folder)
    if why_not is not None:
        pytest.skip(f"{name} is not on PATH and cannot be fetched ({why_not}); {ADVICE}")
    return folder / name


def promtool(*arguments: str) -> None:
    """Run promtool, which has to succeed."""
    command = [str(program("promtool")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@functools.cache
def _why_not_fetched(folder: Path) -> str | None:
    """Fetch unless that was done before; None if the programs are there."""
    try:
        if not folder.is_dir():
            fetch(folder)
    except NotFetchedError as error:
        return str(error)
    return None


def fetch(folder: Path) -> None:
    """Make a folder with `PROGRAMS` in it, all of them or none; needs no root and installs nothing.

    apt verifies signatures as always, with lists of its own, since a machine may have none.

    Raises
    ------
    NotFetchedError
        If there is no apt, the archive cannot be reached, or what it has does not run here.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-") as name:
        scratch = Path(name)
        lists, cache, new = scratch / "lists", scratch / "cache", scratch / "programs"
        for needed in (lists / "partial", cache / "archives/partial", new):
            needed.mkdir(parents=True)
        options = (*APT_OPTIONS, f"Dir::State::Lists={lists}", f"Dir::Cache={cache}")
        apt = ("apt-get", "--quiet", *(part for option in options for part in ("-o", option)))
        # It fails for no host that is out of reach, since others may have what is wanted.
        lines = _run("apt-get update", *apt, "update", folder=scratch).splitlines()
        warnings = [line for line in lines if line.startswith("W: ")]
        for each in PROGRAMS:
            path = scratch / "usr/bin" / each
            if not path.exists():  # older packages of Prometheus have promtool in them
                try:
                    _run("apt-get download", *apt, "download", each, folder=scratch)
                except NotFetchedError as error:
                    raise NotFetchedError("; ".join([*warnings[:1], str(error)])) from None
                [package] = scratch.glob(f"{each}_*.deb")
                _run("dpkg-deb", "dpkg-deb", "--extract", str(package), ".", folder=scratch)
            _run(each, str(path), "--version", folder=scratch)
            path.rename(new / each)
        try:
            new.rename(folder)
        except OSError:  # another run was faster
            if not folder.is_dir():
                raise


def _run(what: str, *command: str, folder: Path) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise NotFetchedError(f"{what}: there is no such program") from None
    except subprocess.TimeoutExpired:
        raise NotFetchedError(f"{what}: no end within {TIMEOUT_SECONDS:.0f} s") from None
    if done.returncode != 0:
        last = (done.stdout.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise NotFetchedError(f"{what}: {last}")
    return done.stdout
