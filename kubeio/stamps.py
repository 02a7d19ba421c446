"""Whether files have changed since they were read."""

from collections.abc import Iterable
from pathlib import Path

FileStamps = dict[str, tuple[int, int, int] | None]
"""Inode, size and time by file name; None for a file that cannot be looked at."""


def file_stamps(names: Iterable[str]) -> FileStamps:
    """Look at files, following links: a swapped symlink changes the inode.

    That is how the kubelet renews the files of a Secret, ConfigMap or token volume, and
    why watching the file itself would not see it.
    """
    stamps: FileStamps = {}
    for name in names:
        try:
            status = Path(name).stat()
        except OSError:
            stamps[name] = None
        else:
            stamps[name] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return stamps
