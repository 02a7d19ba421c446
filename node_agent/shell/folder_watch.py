"""What the kernel tells of a folder of manifests, or of a single one: inotify.

Source: pkg/kubelet/config/file_linux.go, v1.36.3. Differences: a file is told of when its
writer has closed it, not with every write, so that halves of manifests are not read; and
a folder that was removed and made anew is watched anew, where the kubelet's watch is dead.
"""

import asyncio
import os
from enum import StrEnum
from types import TracebackType
from typing import Final, NamedTuple, Self

from asyncinotify import Event, Inotify, Mask

_CHANGES: Final = Mask.CLOSE_WRITE | Mask.MOVED_TO | Mask.ATTRIB
_DELETIONS: Final = Mask.DELETE | Mask.MOVED_FROM
_ENDINGS: Final = Mask.DELETE_SELF | Mask.MOVE_SELF | Mask.UNMOUNT | Mask.IGNORED
_WATCHED: Final = _CHANGES | _DELETIONS | Mask.CREATE | Mask.DELETE_SELF | Mask.MOVE_SELF


class FileEventKind(StrEnum):
    """`LOST`: the watch has ended; `OVERFLOWN`: events are missing, so list."""

    CHANGED = "changed"
    DELETED = "deleted"
    LOST = "lost"
    OVERFLOWN = "overflown"


class FileEvent(NamedTuple):
    """Something has happened to the file at `path`."""

    kind: FileEventKind
    path: str


class FolderWatch:
    """Watches from its making to `close`.

    Raises
    ------
    OSError
        Where the path cannot be watched: it is missing, forbidden, or the limit of the
        node's watches is reached.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.identity = _identity(path)
        self._inotify = Inotify()
        try:
            self._inotify.add_watch(path, _WATCHED)
        except OSError:
            self._inotify.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Watch no more."""
        self._inotify.close()

    def is_of_path(self) -> bool:
        """Whether the path still leads to what is watched: a link may have been turned."""
        try:
            return _identity(self._path) == self.identity
        except OSError:
            return False

    async def next_event(self, timeout_seconds: float) -> FileEvent | None:
        """Wait for an event that says something; None at the time-out.

        At a time-out an event may be lost that came in that very moment: list then.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                while True:
                    event = self._meaning(await self._inotify.get())
                    if event is not None:
                        return event
        except TimeoutError:
            return None

    def _meaning(self, event: Event) -> FileEvent | None:
        if event.mask & Mask.Q_OVERFLOW:
            return FileEvent(FileEventKind.OVERFLOWN, self._path)
        if event.mask & _ENDINGS:
            return FileEvent(FileEventKind.LOST, self._path)
        if event.name is None and event.mask & Mask.ISDIR:
            return None  # of the folder itself: its rights, say
        path = self._path if event.name is None else os.path.join(self._path, event.name)
        if event.name is not None and event.name.name.startswith("."):
            return None
        if event.mask & _DELETIONS:
            return FileEvent(FileEventKind.DELETED, path)
        # A new file is told of again when it is written; a new link to one is not.
        if event.mask & _CHANGES or not _is_being_written(path):
            return FileEvent(FileEventKind.CHANGED, path)
        return None


def _identity(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _is_being_written(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return not os.path.islink(path) and status.st_nlink == 1
