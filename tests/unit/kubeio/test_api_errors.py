"""Which error an answer means, and what it says."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from kubeio.errors import (
    ApiError,
    ConflictError,
    ConnectionFailedError,
    ConnectionLostError,
    ForbiddenError,
    GoneError,
    InvalidError,
    MalformedResponseError,
    NotFoundError,
    RequestTimeoutError,
    ServerError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
    from_response,
    from_status,
)

ALREADY_EXISTS = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"pods \\"p1\\" already exists","reason":"AlreadyExists",'
    b'"details":{"name":"p1","kind":"pods"},"code":409}\n'
)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidError),
        (401, UnauthorizedError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (405, ApiError),
        (409, ConflictError),
        (410, GoneError),
        (422, InvalidError),
        (429, TooManyRequestsError),
        (500, ServerError),
        (502, ServerError),
        (503, UnavailableError),
        (504, ServerError),
    ],
)
def test_class_says_the_meaning(status: int, kind: type[ApiError]) -> None:
    error = from_response(status, {}, b"")
    assert type(error) is kind
    assert error.status == status


def test_status_object_is_read() -> None:
    error = from_response(409, {}, ALREADY_EXISTS, request="POST /api/v1/pods")
    assert error.reason == "AlreadyExists"
    assert error.message == 'pods "p1" already exists'
    assert str(error) == 'POST /api/v1/pods: HTTP 409 AlreadyExists: pods "p1" already exists'


@pytest.mark.parametrize(
    "body", [b"<html>\n<b>502</b>\n", b'{"kind":"Pod","message":"secret"}', b"\xff\xfe", b"[]"]
)
def test_body_that_is_no_status_is_shown_on_one_line(body: bytes) -> None:
    error = from_response(502, {}, body)
    assert error.reason == ""
    assert "\n" not in str(error)


def test_long_body_is_cut() -> None:
    error = from_response(500, {}, b"x" * 10**6)
    assert len(str(error)) < 400
    assert str(error).endswith("…")


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, b"", 7.0),
        ({"retry-after": "86400"}, b"", 120.0),
        ({"retry-after": "soon"}, b"", None),
        ({}, b"", None),
        ({}, b'{"kind":"Status","details":{"retryAfterSeconds":3}}', 3.0),
        ({"retry-after": "7"}, b'{"kind":"Status","details":{"retryAfterSeconds":3}}', 7.0),
    ],
)
def test_retry_after(headers: dict[str, str], body: bytes, seconds: float | None) -> None:
    assert from_response(429, headers, body).retry_after_seconds == seconds


def test_retry_after_as_a_date() -> None:
    when = datetime.now(UTC) + timedelta(seconds=60)
    error = from_response(503, {"retry-after": format_datetime(when, usegmt=True)}, b"")
    assert error.retry_after_seconds is not None
    assert 50 < error.retry_after_seconds <= 60


def test_retry_after_in_the_past_is_now() -> None:
    error = from_response(503, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, b"")
    assert error.retry_after_seconds == 0


def test_status_in_a_watch() -> None:
    error = from_status(b'{"kind":"Status","code":410,"reason":"Expired","message":"too old"}')
    assert isinstance(error, GoneError)
    assert error.reason == "Expired"
    assert isinstance(from_status(b'{"kind":"Status","message":"?"}'), ServerError)


def test_errors_say_whether_the_request_may_have_happened() -> None:
    assert not ConnectionFailedError("x").request_may_have_happened
    assert ConnectionLostError("x").request_may_have_happened
    assert not ConnectionLostError("x", sent=False).request_may_have_happened
    assert RequestTimeoutError("x").request_may_have_happened
    assert MalformedResponseError("x").request_may_have_happened
    assert from_response(500, {}, b"").request_may_have_happened
    assert from_response(504, {}, b"").request_may_have_happened
    assert not from_response(409, {}, b"").request_may_have_happened
    assert not from_response(429, {}, b"").request_may_have_happened
