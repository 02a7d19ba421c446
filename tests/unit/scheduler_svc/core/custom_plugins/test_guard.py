"""What a plugin raises is told in one line that names it."""

import asyncio

import pytest

from scheduler_svc.core.custom_plugins.guard import (
    NoAnswerError,
    PlainGuard,
    PluginFailedError,
    cut,
    failure_text,
    shown,
)


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


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError(), "CancelledError"),
        (GeneratorExit(), "GeneratorExit"),
    ],
)
def test_what_would_end_the_process_is_a_failure(error: BaseException, said: str) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(PluginFailedError) as caught:
        PlainGuard().call("P", "filter", fail)
    assert str(caught.value) == f'plugin "P" failed in filter: {said}'


def test_the_operator_may_end_the_process() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PlainGuard().call("P", "filter", interrupt)


def test_a_hang_is_told_by_how_long_was_waited() -> None:
    error = NoAnswerError("no answer within 2 s")
    expected = 'plugin "P" failed in filter: no answer within 2 s'
    assert failure_text("P", "filter", error) == expected


def test_an_error_that_cannot_be_told() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise KeyError

    expected = 'plugin "P" failed in filter: MuteError: its text cannot be told (KeyError)'
    assert failure_text("P", "filter", MuteError()) == expected


def test_texts_are_the_same_each_time() -> None:
    error = ValueError(f"not {object()}")
    expected = 'plugin "P" failed in filter: ValueError: not <object object>'
    assert failure_text("P", "filter", error) == expected
    assert shown([object()]) == "[<object object>]"


def test_texts_are_cut_to_a_length_that_people_read() -> None:
    assert cut("x" * 500) == "x" * 500
    assert cut("x" * 100_000) == "x" * 496 + " ..."
    assert len(failure_text("P", "filter", ValueError("x" * 100_000))) < 600


def test_what_is_no_unicode_can_be_written_all_the_same() -> None:
    assert cut("file \udc80") == "file ?"
