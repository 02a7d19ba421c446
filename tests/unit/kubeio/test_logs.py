import io
import json
import logging

import pytest

from kubeio.logs import V2, V3, LogFormat, configure_logging, fields, verbosity_level

MOMENT = 1_795_987_132.123  # 2026-11-29T21:18:52.123Z

logger = logging.getLogger("test.logs")


def lines_of(format_: LogFormat, *, verbosity: int = 0) -> io.StringIO:
    stream = io.StringIO()
    configure_logging(verbosity=verbosity, format_=format_, stream=stream)
    return stream


def record(level: int, message: str, **values: object) -> logging.LogRecord:
    made = logger.makeRecord("test.logs", level, "f", 1, message, (), None, extra=fields(**values))
    made.created, made.msecs = MOMENT, 123
    return made


def test_text_line_has_time_level_message_and_fields() -> None:
    stream = lines_of(LogFormat.TEXT)
    logger.handle(record(V3, "Attempting to schedule pod", pod="ns/name", uid="6f2c", node="n"))
    assert stream.getvalue() == (
        "2026-11-29T21:18:52.123Z INFO  Attempting to schedule pod  pod=ns/name uid=6f2c node=n\n"
    )


def test_value_of_several_words_is_quoted() -> None:
    stream = lines_of(LogFormat.TEXT)
    logger.handle(record(logging.ERROR, "Failed", err='a "b"\nc', empty="", pair="a=b", word="é"))
    assert stream.getvalue() == (
        '2026-11-29T21:18:52.123Z ERROR Failed  err="a \\"b\\"\\nc" empty="" pair="a=b" word=é\n'
    )


def test_message_cannot_start_a_line_of_its_own() -> None:
    stream = lines_of(LogFormat.TEXT)
    logger.warning("name=%s", "a\n2026 INFO forged")
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().endswith("WARNING name=a\\n2026 INFO forged\n")


def test_traceback_follows_the_line() -> None:
    stream = lines_of(LogFormat.TEXT)
    try:
        raise ValueError("odd")
    except ValueError:
        logger.exception("Failed")
    lines = stream.getvalue().splitlines()
    assert lines[0].endswith("ERROR Failed")
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: odd"


def test_json_line_has_klogs_names_and_the_fields() -> None:
    stream = lines_of(LogFormat.JSON, verbosity=2)
    logger.handle(record(V2, "Bound", pod="ns/name", attempt=2, seconds=0.25))
    assert json.loads(stream.getvalue()) == {
        "ts": "2026-11-29T21:18:52.123Z",
        "level": "info",
        "logger": "test.logs",
        "msg": "Bound",
        "v": 2,
        "pod": "ns/name",
        "attempt": 2,
        "seconds": 0.25,
    }


def test_json_of_a_warning_has_no_verbosity_and_any_value() -> None:
    stream = lines_of(LogFormat.JSON)
    logger.handle(record(logging.WARNING, "Odd", error=ValueError("x")))
    document = json.loads(stream.getvalue())
    assert document["level"] == "warning"
    assert document["error"] == "x"
    assert "v" not in document


def test_json_line_holds_the_traceback() -> None:
    stream = lines_of(LogFormat.JSON)
    try:
        raise ValueError("odd")
    except ValueError:
        logger.exception("Failed")
    assert stream.getvalue().count("\n") == 1
    assert json.loads(stream.getvalue())["stacktrace"].endswith("ValueError: odd")


@pytest.mark.parametrize(("verbosity", "shown"), [(0, []), (2, ["two"]), (3, ["two", "three"])])
def test_verbosity_decides_what_is_shown(verbosity: int, shown: list[str]) -> None:
    stream = lines_of(LogFormat.TEXT, verbosity=verbosity)
    logger.log(V2, "two")
    logger.log(V3, "three")
    assert [line.split()[-1] for line in stream.getvalue().splitlines()] == shown


def test_levels_of_verbosity_lie_between_info_and_debug() -> None:
    assert verbosity_level(0) == logging.INFO
    assert verbosity_level(10) == verbosity_level(99) == logging.DEBUG
    assert verbosity_level(-1) == logging.INFO
