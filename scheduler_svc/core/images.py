"""Which Nodes have which container images, and how large they are there.

Sizes are each Node's own. (Upstream's live cache takes the size from whichever Node
it saw first; its snapshot, as here, from each Node.)
Source: pkg/scheduler/backend/cache/snapshot.go (`getNodeImageStates`), v1.36.3.
"""

from collections.abc import Iterable

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_svc.core.changes import RowArray
from scheduler_svc.core.objects import ContainerImage


class ImageIndex:
    """Rows by image name. Memory: one set entry for each image of each Node."""

    def __init__(self) -> None:
        self._rows: dict[ContainerImage, set[int]] = {}
        self._images: dict[str, list[ContainerImage]] = {}
        self._versions: dict[str, int] = {}

    def replace(
        self, row: int, old: Iterable[ContainerImage], new: Iterable[ContainerImage]
    ) -> None:
        """Bring one Node's images up to date."""
        before, after = _without_repeats(old), _without_repeats(new)
        for image in before - after:
            self._rows[image].discard(row)
            if not self._rows[image]:
                del self._rows[image]
                self._unlist(image)
            self._touch(image)
        for image in after - before:
            rows = self._rows.get(image)
            if rows is None:
                rows = self._rows[image] = set()
                for name in image.names:
                    self._images.setdefault(name, []).append(image)
            rows.add(row)
            self._touch(image)

    def _unlist(self, image: ContainerImage) -> None:
        for name in image.names:
            self._images[name].remove(image)
            if not self._images[name]:
                del self._images[name]

    def _touch(self, image: ContainerImage) -> None:
        for name in image.names:
            self._versions[name] = self._versions.get(name, 0) + 1

    def version(self, names: Iterable[str]) -> tuple[int, ...]:
        """Give a value that differs after any Node has gained or lost one of the images."""
        return tuple(self._versions.get(name, 0) for name in names)

    def holders(self, name: str) -> tuple[RowArray, npt.NDArray[np.float64]]:
        """Give the rows that have image `name`, and its size in bytes on each. O(holders)."""
        sizes = {
            row: image.size_bytes
            for image in self._images.get(name, ())
            for row in self._rows[image]
        }
        rows = np.fromiter(sizes.keys(), dtype=np.intp, count=len(sizes))
        return rows, np.fromiter(sizes.values(), dtype=np.float64, count=len(sizes))

    def held(self, row: int) -> frozenset[ContainerImage]:
        """Give the images of one Node. O(distinct images)."""
        return frozenset(image for image, rows in self._rows.items() if row in rows)


def _without_repeats(images: Iterable[ContainerImage]) -> frozenset[ContainerImage]:
    """Leave each name to the first image of a Node that has it: it counts once."""
    seen: set[str] = set()
    distinct = []
    for image in images:
        names = tuple(name for name in dict.fromkeys(image.names) if name not in seen)
        seen.update(names)
        if names == image.names:
            distinct.append(image)
        elif names:
            distinct.append(msgspec.structs.replace(image, names=names))
    return frozenset(distinct)
