"""The default normalization, which several plugins share.

Source: pkg/scheduler/framework/plugins/helper/normalize_score.go, v1.36.3.
"""

import numpy as np

from scheduler_svc.core.columns import Int64Array
from scheduler_svc.core.framework.interface import MAX_NODE_SCORE


def normalize_default(raw: Int64Array, highest: int) -> Int64Array:
    """Scale scores that are not negative so that the highest becomes 100; all 0 stay 0."""
    if highest == 0:
        return np.zeros_like(raw)
    return MAX_NODE_SCORE * raw // highest


def normalize_reversed(raw: Int64Array, highest: int) -> Int64Array:
    """Scale likewise, but 0 becomes 100 and the highest 0; all 0 become 100."""
    return MAX_NODE_SCORE - normalize_default(raw, highest)
