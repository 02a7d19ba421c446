"""Who may read what a daemon serves: the API server decides.

A bearer token is shown to TokenReview, and the user it names to SubjectAccessReview
for the path, as kube-scheduler does (``system:auth-delegator`` allows us to ask).
Members of ``system:masters`` may read all. Verdicts are kept for a few seconds, by
the token's digest, so that scrapes do not become load; while the API server cannot be
asked, whoever was let in before stays so for some minutes. Client certificates are
not looked at.
"""

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec

from kubeio.client import KubeClient, Lane
from kubeio.errors import KubeError, ServerError, TooManyRequestsError, TransportError
from kubeio.logs import fields

CACHE_SECONDS: Final = 10.0
OUTAGE_SECONDS: Final = 600.0
"""So long after it was given a verdict that lets in may be used, and only while the API
server gives no other: what is served tells of that outage, to whoever watches for it. A
right that is taken away in an outage could not be heard of; ten minutes bound that."""
CACHE_ENTRIES: Final = 1024
REVIEW_TIMEOUT_SECONDS: Final = 10.0
RENEWAL_TIMEOUT_SECONDS: Final = 3.0
"""For a review where a verdict that lets in is at hand: Prometheus waits 10 s for it all."""
REVIEWS_AT_ONCE: Final = 8
TOLD_AGAIN_SECONDS: Final = 30.0
"""So often the log tells that the API server cannot be asked."""
_TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
_ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served: 401, 403 or 503, and one line."""

    status: int
    message: str


class Authorizer(Protocol):
    """Says who may read a path that is not open to all."""

    async def refusal(self, authorization: str | None, path: str, verb: str) -> Refusal | None:
        """Decide on a request; None lets it through.

        Parameters
        ----------
        authorization
            The request's header.
        verb
            HTTP method in lower case.
        """


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What was decided, and when, in the clock's seconds; no refusal means let in."""

    refusal: Refusal | None
    given_at: float


class _User(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _User = _User()
    error: str = ""


class _TokenReview(msgspec.Struct, frozen=True):
    status: _TokenStatus


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False
    reason: str = ""


class _AccessReview(msgspec.Struct, frozen=True):
    status: _AccessStatus


class KubeAuthorizer:
    """Asks the API server, and remembers its verdicts for a while.

    Parameters
    ----------
    client
        Whose user may create TokenReviews and SubjectAccessReviews.
    clock
        Monotonic seconds.
    """

    def __init__(self, client: KubeClient, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._verdicts: OrderedDict[tuple[bytes, str, str], _Verdict] = OrderedDict()
        self._gate = asyncio.Semaphore(REVIEWS_AT_ONCE)
        self._told_at = float("-inf")

    async def refusal(self, authorization: str | None, path: str, verb: str) -> Refusal | None:
        """Decide on a request; None lets it through (`Authorizer`)."""
        scheme, _, token = (authorization or "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return Refusal(401, "a bearer token is needed: Authorization: Bearer <token>")
        key = (hashlib.sha256(token.encode("latin-1", "replace")).digest(), path, verb)
        known = self._verdicts.get(key)
        age = self._clock() - known.given_at if known is not None else 0.0
        if known is not None and age < CACHE_SECONDS:
            return known.refusal
        may_outlast = known is not None and known.refusal is None and age < OUTAGE_SECONDS
        try:
            async with self._gate:
                refusal = await self._review(
                    token,
                    path,
                    verb,
                    RENEWAL_TIMEOUT_SECONDS if may_outlast else REVIEW_TIMEOUT_SECONDS,
                )
        except KubeError as error:
            is_let_in = may_outlast and _is_outage(error)
            self._tell(path, error, is_let_in=is_let_in)
            if is_let_in:
                return None
            return Refusal(503, f"cannot ask the API server who may read this: {error}")
        self._verdicts[key] = _Verdict(refusal, self._clock())
        self._verdicts.move_to_end(key)
        while len(self._verdicts) > CACHE_ENTRIES:
            self._verdicts.popitem(last=False)
        return refusal

    def _tell(self, path: str, error: KubeError, *, is_let_in: bool) -> None:
        now = self._clock()
        if now - self._told_at >= TOLD_AGAIN_SECONDS:
            self._told_at = now
            answer = "by what it said before" if is_let_in else "with 503"
            said = fields(path=path, answered=answer, error=str(error))
            _logger.warning("Cannot ask the API server who may read what is served", extra=said)

    async def _review(
        self, token: str, path: str, verb: str, timeout_seconds: float
    ) -> Refusal | None:
        token_review = await self._client.send_json(
            "POST",
            _TOKEN_REVIEWS,
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "spec": {"token": token},
            },
            _TokenReview,
            timeout_seconds=timeout_seconds,
            lane=Lane.READS,
        )
        if not token_review.status.authenticated:
            return Refusal(401, "the API server does not know this token")
        user = token_review.status.user
        if "system:masters" in user.groups:
            return None
        access_review = await self._client.send_json(
            "POST",
            _ACCESS_REVIEWS,
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {
                    "user": user.username,
                    "uid": user.uid,
                    "groups": user.groups,
                    "extra": user.extra,
                    "nonResourceAttributes": {"path": path, "verb": verb},
                },
            },
            _AccessReview,
            timeout_seconds=timeout_seconds,
            lane=Lane.READS,
        )
        if access_review.status.allowed:
            return None
        return Refusal(403, f'forbidden: User "{user.username}" cannot {verb} path "{path}"')


def _is_outage(error: KubeError) -> bool:
    """Whether the API server gave no answer of its own; being refused the question is one."""
    return isinstance(error, TransportError | ServerError | TooManyRequestsError)
