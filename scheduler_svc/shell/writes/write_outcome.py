"""What the answer to a write means where repeating it does no harm.

A patch that sets a value, and an event whose name we chose, may be sent again after any
failure. (A Binding may not: `binding_outcome`.)
"""

from collections.abc import Awaitable
from enum import Enum, auto

import msgspec

from kubeio.errors import ApiError, KubeError, NotFoundError, from_response
from kubeio.response import Response


class WriteVerdict(Enum):
    """What became of a write.

    `FAILED`: the server, or the way to it, was not able to; the same may work later.
    `REJECTED`: it never will.
    """

    WRITTEN = auto()
    NOT_FOUND = auto()
    CONFLICT = auto()
    FAILED = auto()
    REJECTED = auto()


class WriteOutcome(msgspec.Struct, frozen=True):
    """A verdict, what the server said, and how long it asked us to wait, if it did."""

    verdict: WriteVerdict
    message: str = ""
    retry_after_seconds: float | None = None


_WRITTEN = WriteOutcome(WriteVerdict.WRITTEN)


async def settle(call: Awaitable[Response]) -> WriteOutcome:
    """Wait for the answer and say what it means."""
    try:
        response = await call
    except KubeError as error:
        return _judge(error)
    if response.ok:
        return _WRITTEN
    return _judge(from_response(response.status, response.headers, response.body))


def _judge(error: KubeError) -> WriteOutcome:
    text = (error.message if isinstance(error, ApiError) else "") or str(error)
    match error:
        case NotFoundError():
            return WriteOutcome(WriteVerdict.NOT_FOUND, text)
        case ApiError(status=409):
            return WriteOutcome(WriteVerdict.CONFLICT, text)
        case ApiError(status=401 | 429):
            return WriteOutcome(WriteVerdict.FAILED, text, error.retry_after_seconds)
        case ApiError(status=status) if status < 500:
            return WriteOutcome(WriteVerdict.REJECTED, text)
        case _:
            return WriteOutcome(WriteVerdict.FAILED, text, error.retry_after_seconds)
