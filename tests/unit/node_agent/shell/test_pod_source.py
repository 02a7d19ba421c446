"""How places are shown: everything can be written, and nothing secret is."""

import os

import pytest

from node_agent.shell.pod_source import shown_place, shown_url


def test_a_path_of_any_bytes_can_be_written() -> None:
    assert shown_place("/etc/ä") == "/etc/ä"
    assert shown_place(os.fsdecode(b"/etc/\xff")) == "/etc/\\xff"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/pods", "https://host/pods"),
        ("https://user:secret@host:8443/pods", "https://host:8443/pods"),
        ("https://secret@host/pods?token=secret", "https://host/pods"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert shown_url(url) == shown
