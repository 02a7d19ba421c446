"""One error tree for everything that can go wrong between us and the API server.

`TransportError`: no complete answer. `ApiError`: the server answered, and the
class says what by HTTP meaning, not by number. Callers that write care about one
more thing: may the request have been carried out all the same? Every error says
so in `request_may_have_happened`; if it may, look before you repeat.

Texts are short: a body is cut, since an answer that is no ``Status`` (a proxy's
page, say) can be long and can hold what does not belong into a log.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

SHOWN_BODY_CHARACTERS: Final = 300
RETRY_AFTER_LIMIT_SECONDS: Final = 120.0
"""A longer Retry-After is cut: nobody may silence us for an hour."""


class StatusDetails(msgspec.Struct, rename="camel", frozen=True):
    """``Status.details``: the part we read."""

    retry_after_seconds: float = 0.0


class Status(msgspec.Struct, rename="camel", frozen=True):
    """A ``metav1.Status``: the API server's word on a call that failed."""

    kind: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


_status_decoder: Final = msgspec.json.Decoder(Status)


class KubeError(Exception):
    """A call to the API server did not give what was asked.

    Attributes
    ----------
    request_may_have_happened
        True where the server may have carried the request out although we hold no
        proof of it.
    retry_after_seconds
        What the server asked us to wait, at most `RETRY_AFTER_LIMIT_SECONDS`; None
        where it said nothing.
    """

    request_may_have_happened: bool = False
    retry_after_seconds: float | None = None


class TransportError(KubeError):
    """No complete answer came."""


class ConnectionFailedError(TransportError):
    """No connection could be made, so nothing was sent: name, TCP or TLS."""


class NotSentError(TransportError):
    """The caller no longer wanted the request by the time that it could be sent."""


class ConnectionLostError(TransportError):
    """The connection ended before the whole answer was read.

    Parameters
    ----------
    sent
        Whether any byte of the request had been handed to the connection.
    """

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent
        self.request_may_have_happened = sent


class RequestTimeoutError(TransportError):
    """The answer did not come in time; `sent` as in `ConnectionLostError`."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent
        self.request_may_have_happened = sent


class WatchSilentError(RequestTimeoutError):
    """A watch has brought no byte for its idle time-out; that proves no failure of anything."""


class MalformedResponseError(KubeError):
    """An answer came that is not what the API promises: no JSON, or another shape."""

    request_may_have_happened = True


class ApiError(KubeError):
    """The server answered with a status of 400 or more.

    Attributes
    ----------
    status
        HTTP status.
    reason
        ``Status.reason`` (``AlreadyExists``, ``Expired``…), "" where there is none.
    message
        ``Status.message``, or the start of a body that is no Status.
    """

    def __init__(
        self,
        status: int,
        *,
        reason: str = "",
        message: str = "",
        retry_after_seconds: float | None = None,
        request: str = "",
    ) -> None:
        where = f"{request}: " if request else ""
        why = f" {reason}" if reason else ""
        super().__init__(f"{where}HTTP {status}{why}: {message or 'no message'}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds


class InvalidError(ApiError):
    """400 or 422: the server refuses the request as it is written."""


class UnauthorizedError(ApiError):
    """401: it does not know who we are (the credentials were read again already)."""


class ForbiddenError(ApiError):
    """403: it knows us and says no: RBAC, admission or quota."""


class NotFoundError(ApiError):
    """404: no such object, or no such resource."""


class ConflictError(ApiError):
    """409: exists already, changed meanwhile, or a precondition does not hold."""


class GoneError(ApiError):
    """410: the resourceVersion or the continue token is too old."""


class TooManyRequestsError(ApiError):
    """429: it is busy (or a disruption budget says no); wait before the next try."""


class ServerError(ApiError):
    """5xx: it failed, perhaps after it had written."""

    request_may_have_happened = True


class UnavailableError(ServerError):
    """503: it, or what it needs, is not there now."""


_BY_STATUS: Final[dict[int, type[ApiError]]] = {
    400: InvalidError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: InvalidError,
    429: TooManyRequestsError,
    503: UnavailableError,
}


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, *, request: str = ""
) -> ApiError:
    """Make the error that an answer means.

    Parameters
    ----------
    status
        HTTP status, 300 or more.
    headers
        By lower-case name; ``retry-after`` is read.
    body
        A ``metav1.Status`` or anything else, of any length.
    request
        What was asked (``POST /api/v1/…``), for the text.
    """
    told = _decode_status(body)
    retry_after = _retry_after_seconds(headers.get("retry-after"))
    if told is None:
        return _class_of(status)(
            status,
            message=shorten(body),
            retry_after_seconds=retry_after,
            request=request,
        )
    if retry_after is None and told.details is not None and told.details.retry_after_seconds > 0:
        retry_after = min(told.details.retry_after_seconds, RETRY_AFTER_LIMIT_SECONDS)
    return _class_of(status)(
        status,
        reason=told.reason,
        message=shorten(told.message),
        retry_after_seconds=retry_after,
        request=request,
    )


def from_status(status_object: bytes, *, request: str = "") -> ApiError:
    """Make the error that a ``Status`` inside a watch means; 500 where it has no code."""
    told = _decode_status(status_object)
    return from_response((told.code if told else 0) or 500, {}, status_object, request=request)


def shorten(text: str | bytes) -> str:
    """Cut a text to `SHOWN_BODY_CHARACTERS`, on one line, for messages."""
    if isinstance(text, bytes):
        text = text[: 4 * SHOWN_BODY_CHARACTERS].decode("utf-8", "replace")
    text = " ".join(text.split())
    if len(text) <= SHOWN_BODY_CHARACTERS:
        return text
    return text[:SHOWN_BODY_CHARACTERS] + "…"


def _class_of(status: int) -> type[ApiError]:
    return _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)


def _decode_status(body: bytes) -> Status | None:
    try:
        told = _status_decoder.decode(body)
    except msgspec.DecodeError:
        return None
    return told if told.kind == "Status" else None


def _retry_after_seconds(value: str | None) -> float | None:
    """Read a Retry-After header: seconds or an HTTP date; None if it is neither."""
    if value is None:
        return None
    if value.strip().isdigit():
        return min(float(value), RETRY_AFTER_LIMIT_SECONDS)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return min(max((when - datetime.now(UTC)).total_seconds(), 0.0), RETRY_AFTER_LIMIT_SECONDS)
