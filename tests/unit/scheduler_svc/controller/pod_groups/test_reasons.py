"""A group's reason, read from its members' conditions."""

import pytest

from scheduler_svc.controller.pod_groups.reasons import (
    MEMBER_MESSAGE_CHARACTERS,
    group_reason,
    shorten_message,
)

LONG = "0/3 nodes are available: 3 Insufficient cpu. preemption: none; and more; and more"


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        (
            f"pod group train: needs 8, 6 fit: 2 lack nvidia.com/gpu; {LONG}",
            "pod group: needs 8, 6 fit: 2 lack nvidia.com/gpu",
        ),
        ("pod group ml/train: no zone has room", "pod group: no zone has room"),
        ("pod group train: needs 8, 5 are there; ", "pod group: needs 8, 5 are there"),
        ("pod group a: b: c; d", "pod group: b: c"),
        (LONG, LONG),
        ("a pod group train: x", "a pod group train: x"),
        ("", ""),
        ("x" * 300, "x" * MEMBER_MESSAGE_CHARACTERS + "…"),
    ],
)
def test_of_a_message_what_is_about_the_group_is_kept(message: str, kept: str) -> None:
    assert shorten_message(message) == kept


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (["pod group: needs 8, 6 fit"] * 3, "needs 8, 6 fit"),
        # Members are written one after another: for a moment their messages differ.
        (["pod group: old", "pod group: new", "pod group: new"], "new"),
        (["pod group: b", "pod group: a"], "a"),
        (["pod group: of the group", "of a member", "of a member"], "of the group"),
        (["0/3 nodes are available: x"], "1 member does not fit: 0/3 nodes are available: x"),
        (["x", "x", "y"], "3 members do not fit: x"),
        (["", ""], "2 members do not fit"),
    ],
)
def test_most_members_say_why(messages: list[str], reason: str) -> None:
    assert group_reason(messages) == reason
    assert group_reason(reversed(messages)) == reason
