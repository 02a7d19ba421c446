"""Why members of a group find no Node, and what users read of it."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from scheduler_svc.core.failure import Rejectors
from scheduler_svc.core.framework.diagnosis import Diagnosis

_INSUFFICIENT: Final = "Insufficient "
_LONGEST_NAME: Final = 100
_MOST_NAMES: Final = 5


class Hindrance(msgspec.Struct, frozen=True):
    """What stands in the way of Pods alike: `message` for one Pod, and `reason` in a few words.

    `rejectors` is None where something went wrong.
    """

    message: str
    reason: str
    rejectors: Rejectors | None


def rejectors_of(diagnosis: Diagnosis) -> Rejectors:
    """Give the plugins that turned a Pod away."""
    return Rejectors(diagnosis.unschedulable_plugins, diagnosis.pending_plugins)


def hindrance(diagnosis: Diagnosis) -> Hindrance:
    """Sum up what all Nodes say; the reason is that of most of them, the first of equals."""
    return Hindrance(diagnosis.fit_error(), diagnosis.main_reason(), rejectors_of(diagnosis))


def failure(message: str) -> Hindrance:
    """Give the hindrance that something has gone wrong."""
    return Hindrance(message, message, None)


def shortfall(min_count: int, fitting_count: int, hindrances: Sequence[Hindrance]) -> str:
    """Say how many members are needed, how many fit, and what the others lack."""
    text = f"needs {min_count}, {fitting_count} fit"
    counts = Counter(h.reason for h in hindrances)
    parts = [_lacking(reason, count) for reason, count in counts.most_common()]
    return f"{text}: {', '.join(parts)}" if parts else text


def _lacking(reason: str, count: int) -> str:
    if reason.startswith(_INSUFFICIENT):
        return f"{count} {'lacks' if count == 1 else 'lack'} {reason.removeprefix(_INSUFFICIENT)}"
    return f"{count} without a node: {reason}"


def shorten(name: str) -> str:
    """Cut what users have written to what fits into a line."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def enumerated(names: Sequence[str]) -> str:
    """Give the first few names, and how many there are besides."""
    text = ", ".join(map(shorten, names[:_MOST_NAMES]))
    return f"{text} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else text
