"""Why members of a group find no Node, and what users read of it.

The condition of every member begins with `pod group <name>: `, then comes the group's own reason
up to a semicolon, which its status repeats.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
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


def group_message(group_name: str, reason: str, details: Iterable[str] = ()) -> str:
    """Give the text of the members' condition and event: the group's reason, then details."""
    return "; ".join((f"{_prefix(group_name)}{reason}", *dict.fromkeys(details)))


def group_reason(group_name: str, message: str) -> str:
    """Give the group's reason in such a text; "" if it is of something else."""
    prefix = _prefix(group_name)
    if not message.startswith(prefix):
        return ""
    return message.removeprefix(prefix).partition("; ")[0]


def _prefix(group_name: str) -> str:
    return f"pod group {group_name}: "
