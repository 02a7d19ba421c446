"""Tells a group of Pods that was tried from one that cannot be yet, by the reason that is given."""

import re
from typing import Final

# As `scheduler_svc.core.group_members.GroupMembers.obstacle` says it.
_MISSING: Final = re.compile(r"PodGroup \S+ does not exist")
_INCOMPLETE: Final = re.compile(r"needs \d+ Pods, has \d+")


def is_missing(reason: str) -> bool:
    """Whether the group does not exist."""
    return _MISSING.fullmatch(reason) is not None


def is_obstacle(reason: str) -> bool:
    """Whether no member is tried yet: the group does not exist, or has too few Pods."""
    return is_missing(reason) or _INCOMPLETE.fullmatch(reason) is not None
