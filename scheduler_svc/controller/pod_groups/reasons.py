"""Why a group does not fit, read from what the scheduler wrote on its members.

A member's condition says ``pod group <name>: needs 8, 6 fit: 2 lack nvidia.com/gpu; <more>``.
What stands between the colon and the first ``; `` is about the group, the rest about the
member. Another scheduler's message is about the member alone.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Final

from scheduler_svc.core.group_texts import read_group_message

_OF_GROUP: Final = "pod group: "
MEMBER_MESSAGE_CHARACTERS: Final = 256
"""So much is kept of a message that is about one member."""


def shorten_message(message: str) -> str:
    """Give what is kept of a member's message: a group's reason is begun with ``pod group: ``."""
    told = read_group_message(message)
    if told is not None:
        return sys.intern(f"{_OF_GROUP}{told.reason}")
    if len(message) > MEMBER_MESSAGE_CHARACTERS:
        message = message[:MEMBER_MESSAGE_CHARACTERS] + "…"
    return sys.intern(message)


def group_reason(messages: Iterable[str]) -> str:
    """Say why the group does not fit.

    Parameters
    ----------
    messages
        Of the members that do not fit, as `shorten_message` gives them, in any order.

    Notes
    -----
    Members are written one after another, so their messages may differ for a moment: what
    most of them say counts.
    """
    counts = Counter(messages)
    of_group = {text: count for text, count in counts.items() if text.startswith(_OF_GROUP)}
    if of_group:
        return _most_frequent(of_group).removeprefix(_OF_GROUP)
    total = counts.total()
    text = _most_frequent(counts)
    whom = "1 member does not fit" if total == 1 else f"{total} members do not fit"
    return f"{whom}: {text}" if text else whom


def _most_frequent(counts: dict[str, int]) -> str:
    """Give the most frequent text; of equally frequent ones the first by alphabet."""
    return min(counts, key=lambda text: (-counts[text], text))
