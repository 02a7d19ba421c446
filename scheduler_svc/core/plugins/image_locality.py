"""ImageLocality: Nodes that already have the Pod's images are better.

Source: pkg/scheduler/framework/plugins/imagelocality/image_locality.go, v1.36.3.
"""

from collections.abc import Hashable
from typing import Final

import msgspec
import numpy as np

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import Int64Array, NodeColumns, NodeView
from scheduler_svc.core.framework.interface import (
    MAX_NODE_SCORE,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Status

_MIB: Final = 1024 * 1024
MIN_THRESHOLD_BYTES: Final = 23 * _MIB
MAX_CONTAINER_THRESHOLD_BYTES: Final = 1000 * _MIB


class ImageState(msgspec.Struct, frozen=True):
    """The images of a class, in order, and the sum of bytes that counts as full marks."""

    images: tuple[str, ...]
    max_threshold_bytes: int


class ImageLocality(PreScorePlugin, ScorePlugin):
    """Scores by the size of the images present, less where few Nodes have them."""

    name = "ImageLocality"
    score_scope = Scope.SPEC

    def pre_score(self, pod: PodInfo, cluster: Cluster) -> tuple[Status, ImageState]:
        """Collect the images; never Skip, as upstream scores every Pod."""
        del cluster
        threshold = MAX_CONTAINER_THRESHOLD_BYTES * pod.shape.container_count
        return SUCCESS, ImageState(pod.shape.images, threshold)

    def score(self, state: ImageState, nodes: NodeView) -> Int64Array:
        """Map the scaled sum of sizes from its thresholds to 0 to 100. O(images x holders)."""
        columns = nodes.columns
        sums: Int64Array | None = None
        for image in state.images:
            rows, sizes_bytes = columns.images.holders(image)
            if len(rows):
                sums = np.zeros(columns.capacity, dtype=np.int64) if sums is None else sums
                spread = len(rows) / columns.node_count
                sums[rows] += (sizes_bytes * spread).astype(np.int64)
        if sums is None:
            return np.zeros(nodes.count, dtype=np.int64)
        clipped = np.clip(sums[nodes.rows], MIN_THRESHOLD_BYTES, state.max_threshold_bytes)
        span = state.max_threshold_bytes - MIN_THRESHOLD_BYTES
        return MAX_NODE_SCORE * (clipped - MIN_THRESHOLD_BYTES) // span

    def score_version(self, state: ImageState, columns: NodeColumns) -> Hashable:
        """Change when a Node gains or loses one of the images, or Nodes come or go."""
        version = columns.images.version(state.images)
        return (version, columns.node_count) if any(version) else None
