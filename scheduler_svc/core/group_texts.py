"""What is said of a group on each of its members, and read from there again.

The condition of every member begins with `pod group <name>: `, then comes the group's own reason
up to a semicolon, which its status repeats. What follows is of the members.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

# A group's name has neither a colon nor a space.
_OF_GROUP: Final = re.compile(r"pod group (?P<name>[^\s:]+): (?P<reason>.*?)(?:; |$)", re.DOTALL)


class GroupText(NamedTuple):
    """Of which group a text is, by its name alone, and the group's own reason."""

    name: str
    reason: str


def group_message(group_name: str, reason: str, details: Iterable[str] = ()) -> str:
    """Give the text of the members' condition and event: the group's reason, then details."""
    return "; ".join((f"pod group {group_name}: {reason}", *dict.fromkeys(details)))


def read_group_message(message: str) -> GroupText | None:
    """Give what such a text says of a group; None if it is of something else."""
    found = _OF_GROUP.match(message)
    return None if found is None else GroupText(found["name"], found["reason"])
