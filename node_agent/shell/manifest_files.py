"""Manifests on disk, as the kubelet finds them; everything here blocks, for a thread to do.

A path is a folder of manifests or one manifest. Of a folder count all entries whose names do
not begin with a dot, whatever their ending; links are followed, folders in it are not entered.

Source: pkg/kubelet/config/file.go, v1.36.3. Difference: what is no regular file is never
opened, so that a pipe's writer is not woken.
"""

import errno
import os
import stat
from collections.abc import Callable
from enum import StrEnum
from itertools import takewhile
from typing import Final

import msgspec

from node_agent.core.objects import Pod
from node_agent.core.operations import Source
from node_agent.core.static_pods import Origin, Refusal, RefusalReason, static_pod
from node_agent.shell.manifest_text import MAX_BYTES, TOO_BIG, parse_manifest

_KINDS: Final = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class PathKind(StrEnum):
    """What is at the path that manifests are read from."""

    FOLDER = "folder"
    FILE = "file"
    MISSING = "missing"
    UNUSABLE = "unusable"


class Manifest(msgspec.Struct, frozen=True):
    """A file and what came of it; `notice` is "" or tells what of the file was left out."""

    path: str
    outcome: Pod | Refusal
    notice: str = ""


class Listing(msgspec.Struct, frozen=True):
    """What was found at the path; `problem` says why it is `UNUSABLE`."""

    kind: PathKind
    manifests: tuple[Manifest, ...] = ()
    problem: str = ""


def never() -> bool:
    """Go on to the end."""
    return False


def list_manifests(path: str, node_name: str, is_given_up: Callable[[], bool] = never) -> Listing:
    """Read everything at a path. Cost: 2 ms a manifest.

    Parameters
    ----------
    is_given_up
        Asked before each manifest: nobody waits for the listing any more, so the rest is
        left out.
    """
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            names = sorted(name for name in os.listdir(path) if not name.startswith("."))
            wanted = takewhile(lambda _: not is_given_up(), names)
            found = (read_manifest(os.path.join(path, name), node_name) for name in wanted)
            manifests = tuple(manifest for manifest in found if manifest is not None)
            return Listing(PathKind.FOLDER, manifests)
    except FileNotFoundError:
        return Listing(PathKind.MISSING)
    except OSError as error:
        return Listing(PathKind.UNUSABLE, problem=_why(error))
    if not stat.S_ISREG(mode):
        problem = f"{_kind_of(mode)}, neither a folder nor a file"
        return Listing(PathKind.UNUSABLE, problem=problem)
    manifest = read_manifest(path, node_name)
    if manifest is None:
        return Listing(PathKind.MISSING)
    return Listing(PathKind.FILE, (manifest,))


def read_manifest(path: str, node_name: str) -> Manifest | None:
    """Read one manifest; None if it has vanished."""
    try:
        data = _read(path)
    except FileNotFoundError:
        if not os.path.islink(path):
            return None
        data = Refusal(RefusalReason.UNREADABLE, "a link to what does not exist")
    except OSError as error:
        data = Refusal(RefusalReason.UNREADABLE, _why(error))
    parsed = data if isinstance(data, Refusal) else parse_manifest(data)
    if isinstance(parsed, Refusal):
        return Manifest(path, parsed)
    pod = static_pod(parsed.document, Origin(Source.FILE, path), node_name)
    return Manifest(path, pod, parsed.notice)


def _read(path: str) -> bytes | Refusal:
    refusal = _refusal_of(os.stat(path))
    if refusal is not None:
        return refusal
    # Whatever has taken the file's place meanwhile must not hold us.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        refusal = _refusal_of(os.fstat(descriptor))
        if refusal is not None:
            return refusal
        # None comes of a file under /proc that has nothing to tell at the moment.
        return file.read(MAX_BYTES) or b""


def _refusal_of(status: os.stat_result) -> Refusal | None:
    """Say why a file is not read; None where it is."""
    if stat.S_ISDIR(status.st_mode):
        return Refusal(RefusalReason.DIRECTORY, "a folder: those in a manifest folder are skipped")
    if not stat.S_ISREG(status.st_mode):
        return Refusal(
            RefusalReason.NOT_REGULAR, f"{_kind_of(status.st_mode)}: only regular files are read"
        )
    return TOO_BIG if status.st_size >= MAX_BYTES else None


def _kind_of(mode: int) -> str:
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "neither file nor folder")


def _why(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "a link that leads back to itself"
    return (error.strerror or str(error)).lower()
