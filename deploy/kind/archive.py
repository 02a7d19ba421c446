"""Container images made without a container: a layer of some files, in `docker save`'s format.

An image depends on nothing but its files and its settings: no times, owners or names of this
machine go in, so the same files give the same image id.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """An image to make.

    Attributes
    ----------
    reference
        Its name and tag.
    files
        Path in the image to file on this machine. Symbolic links are kept as they are; the
        directories above are made.
    entrypoint
        What a container runs if the Pod names no command.
    labels
        Labels of the image.
    """

    reference: str
    files: dict[PurePosixPath, Path]
    entrypoint: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


def write_archive(path: Path, specs: Iterable[ImageSpec], *, architecture: str) -> None:
    """Write images into one archive, to be read by `docker load` or `ctr images import`.

    Parameters
    ----------
    path
        The archive, which is replaced. It is not compressed.
    specs
        The images.
    architecture
        As Go names it, e.g. ``amd64``.
    """
    manifest = []
    with (
        tarfile.open(path, "w") as archive,
        tempfile.TemporaryDirectory(dir=path.parent) as scratch,
    ):
        for spec in specs:
            layer = Path(scratch) / "layer.tar"
            _write_layer(layer, spec.files)
            digest = _digest(layer)
            configuration = json.dumps(
                image_configuration(spec, architecture, digest), sort_keys=True
            ).encode()
            name = hashlib.sha256(configuration).hexdigest()
            archive.add(layer, f"{digest}/layer.tar", filter=_plain)
            _add_bytes(archive, f"{name}.json", configuration)
            manifest.append(
                {
                    "Config": f"{name}.json",
                    "RepoTags": [spec.reference],
                    "Layers": [f"{digest}/layer.tar"],
                }
            )
        _add_bytes(archive, "manifest.json", json.dumps(manifest).encode())


def image_configuration(spec: ImageSpec, architecture: str, layer_digest: str) -> dict[str, Any]:
    """Give an image's configuration, as the OCI image specification has it."""
    return {
        "architecture": architecture,
        "os": "linux",
        "config": {
            "Env": [PATH],
            "Entrypoint": list(spec.entrypoint),
            "Labels": spec.labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
        "history": [{"created_by": "berthmaster deploy.kind"}],
    }


def find_linked(root: Path, paths: Sequence[str]) -> dict[PurePosixPath, Path]:
    """Find files of the system in ``root``, and the symbolic links by which they are reached.

    Parameters
    ----------
    root
        The directory that holds the system.
    paths
        Absolute paths in that system.

    Raises
    ------
    FileNotFoundError
        If one isn't there.
    """
    found: dict[PurePosixPath, Path] = {}
    for path in paths:
        waiting = list(PurePosixPath(path).parts[1:])
        reached = PurePosixPath("/")
        while waiting:
            part = waiting.pop(0)
            if part == "..":
                reached = reached.parent
                continue
            reached = reached / part
            here = root / reached.relative_to("/")
            if here.is_symlink():
                found[reached] = here
                target = PurePosixPath(here.readlink())
                waiting = [*target.parts[target.is_absolute() :], *waiting]
                reached = PurePosixPath("/") if target.is_absolute() else reached.parent
            elif not here.exists():
                raise FileNotFoundError(here)
        found[reached] = root / reached.relative_to("/")
    return found


def _write_layer(path: Path, files: dict[PurePosixPath, Path]) -> None:
    directories = {
        parent for file in files for parent in file.parents if parent != PurePosixPath("/")
    }
    with tarfile.open(path, "w") as layer:
        for directory in sorted(directories - files.keys()):
            entry = tarfile.TarInfo(str(directory.relative_to("/")))
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            layer.addfile(entry)
        for name, source in sorted(files.items()):
            layer.add(source, str(name.relative_to("/")), recursive=False, filter=_plain)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Take from an entry what may differ between machines."""
    entry.mtime = 0
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def _add_bytes(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
