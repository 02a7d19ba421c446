"""What turns one JSON object into another: a merge patch, which cannot leave anything out."""

from collections.abc import Mapping
from typing import Any


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Give the patch (RFC 7386) that makes `after` of `before`; neither holds nulls.

    A plain `after` would leave standing what it no longer has.
    """
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for name, value in after.items():
        known = before.get(name)
        if known == value and name in before:
            continue
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            patch[name] = merge_patch(known, value)
        else:
            patch[name] = value
    return patch
