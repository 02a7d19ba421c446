"""Why lists and watches end: short names for log lines and metrics, and the lines."""

import logging
from collections.abc import Callable
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
from kubeio.logs import V2, fields
from kubeio.outage import OF_ALL, TOLD_AGAIN_SECONDS, Outage

_logger = logging.getLogger(__name__)

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


class EndingLog:
    """Logs how the lists and watches of one resource end; `outage` is shared by some."""

    def __init__(self, resource: str, clock: Callable[[], float], outage: Outage) -> None:
        self._resource = resource
        self._clock = clock
        self._outage = outage
        self._told_reason = ""
        self._told_at = clock()

    def tell_answer(self) -> None:
        """Log that the API server answers again, if it did not."""
        seconds = self._outage.end(self._clock())
        if seconds is not None:
            _logger.info("The API server answers again", extra=fields(after_seconds=round(seconds)))

    def forget(self) -> None:
        """Have the next failure told of, whatever it is."""
        self._told_reason = ""

    def tell_end(self, lasted_seconds: float) -> None:
        """Log that a watch has ended as asked."""
        self.forget()
        ended = fields(resource=self._resource, lasted_seconds=round(lasted_seconds, 1))
        _logger.debug("Watch ended", extra=ended)

    def tell_silence(self, lasted_seconds: float) -> None:
        """Log that a watch was given up since it brought nothing; what is asked next may fail."""
        self.forget()
        given_up = fields(resource=self._resource, lasted_seconds=round(lasted_seconds, 1))
        _logger.log(V2, "Watch was silent, asking anew", extra=given_up)

    def tell_failure(self, reason: str, error: str, *, retry_in_seconds: float) -> None:
        """Log a failure: as a warning the first of its kind, then one a while.

        Tries come at short intervals, and what befalls all is told of one resource.
        """
        _logger.log(
            logging.WARNING if self._is_news(reason) else logging.DEBUG,
            "List or watch failed",
            extra=fields(
                resource=self._resource,
                reason=reason,
                retry_in_seconds=round(retry_in_seconds, 1),
                error=error,
            ),
        )

    def _is_news(self, reason: str) -> bool:
        now = self._clock()
        if reason in OF_ALL:
            return self._outage.is_news(reason, now)
        is_news = reason != self._told_reason or now - self._told_at >= TOLD_AGAIN_SECONDS
        if is_news:
            self._told_reason, self._told_at = reason, now
        return is_news
