"""What is said of a group on its members, and read from there again."""

from scheduler_svc.core.group_texts import GroupText, group_message, read_group_message


def test_details_come_once_each_after_the_reason() -> None:
    text = group_message("gang", "needs 2, 1 fit", ["0/1 nodes", "0/1 nodes"])
    assert text == "pod group gang: needs 2, 1 fit; 0/1 nodes"


def test_the_reason_is_found_again() -> None:
    text = group_message("gang", "needs 2, 1 fit: 1 lacks cpu", ["0/1 nodes", "more"])
    assert read_group_message(text) == GroupText("gang", "needs 2, 1 fit: 1 lacks cpu")
    assert read_group_message("pod group gang: needs 2") == GroupText("gang", "needs 2")
    assert read_group_message("0/1 nodes are available") is None
