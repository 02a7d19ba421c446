"""What a plugin raises is told in one line that names it."""

import pytest

from scheduler_svc.core.custom_plugins.guard import PlainGuard, PluginFailedError, failure_text


def test_answers_come_through() -> None:
    assert PlainGuard().call("P", "filter", lambda: 7) == 7


def test_what_is_raised_names_the_plugin() -> None:
    with pytest.raises(PluginFailedError) as caught:
        PlainGuard().call("P", "filter", lambda: dict[str, int]()["x"])
    assert str(caught.value) == "plugin \"P\" failed in filter: KeyError: 'x'"
    assert isinstance(caught.value.__cause__, KeyError)


def test_what_is_explained_already_is_left_as_it_is() -> None:
    def fail() -> None:
        raise PluginFailedError("as it is")

    with pytest.raises(PluginFailedError, match=r"^as it is$"):
        PlainGuard().call("P", "filter", fail)


def test_an_error_without_a_text() -> None:
    assert failure_text("P", "score", ValueError()) == 'plugin "P" failed in score: ValueError'
