"""Why lists and watches end: short names for log lines and metrics."""

from typing import Final

from kubeio.errors import (
    ConnectionFailedError,
    ConnectionLostError,
    ForbiddenError,
    GoneError,
    InvalidError,
    KubeError,
    MalformedResponseError,
    NotFoundError,
    RequestTimeoutError,
    ServerError,
    TooManyRequestsError,
    UnauthorizedError,
)

_REASONS: Final[tuple[tuple[type[KubeError], str], ...]] = (
    (GoneError, "expired"),
    (TooManyRequestsError, "throttled"),
    (UnauthorizedError, "unauthorized"),
    (ForbiddenError, "forbidden"),
    (NotFoundError, "not_found"),
    (InvalidError, "invalid"),
    (ServerError, "server_error"),
    (ConnectionFailedError, "connect"),
    (ConnectionLostError, "lost"),
    (RequestTimeoutError, "silent"),
    (MalformedResponseError, "malformed"),
)


def reason_of(error: KubeError) -> str:
    """Name what went wrong; ``other`` where there is no name for it."""
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return reason
    return "other"
