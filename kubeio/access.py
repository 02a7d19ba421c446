"""Who may read what a daemon serves: the API server decides.

A bearer token is shown to TokenReview, and the user it names to SubjectAccessReview
for the path, as kube-scheduler does (``system:auth-delegator`` allows us to ask).
Members of ``system:masters`` may read all. Verdicts are kept for a few seconds, by
the token's digest, so that scrapes do not become load. Client certificates are not
looked at.
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
from kubeio.errors import KubeError
from kubeio.logs import fields

CACHE_SECONDS: Final = 10.0
CACHE_ENTRIES: Final = 1024
REVIEW_TIMEOUT_SECONDS: Final = 10.0
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
        self._verdicts: OrderedDict[tuple[bytes, str, str], tuple[float, Refusal | None]] = (
            OrderedDict()
        )
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
        if known is not None and known[0] > self._clock():
            return known[1]
        try:
            async with self._gate:
                verdict = await self._review(token, path, verb)
        except KubeError as error:
            self._tell(path, error)
            return Refusal(503, f"cannot ask the API server who may read this: {error}")
        self._verdicts[key] = (self._clock() + CACHE_SECONDS, verdict)
        self._verdicts.move_to_end(key)
        while len(self._verdicts) > CACHE_ENTRIES:
            self._verdicts.popitem(last=False)
        return verdict

    def _tell(self, path: str, error: KubeError) -> None:
        now = self._clock()
        if now - self._told_at >= TOLD_AGAIN_SECONDS:
            self._told_at = now
            said = fields(path=path, error=str(error))
            _logger.warning("Cannot ask the API server who may read what is served", extra=said)

    async def _review(self, token: str, path: str, verb: str) -> Refusal | None:
        token_review = await self._client.send_json(
            "POST",
            _TOKEN_REVIEWS,
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "spec": {"token": token},
            },
            _TokenReview,
            timeout_seconds=REVIEW_TIMEOUT_SECONDS,
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
            timeout_seconds=REVIEW_TIMEOUT_SECONDS,
            lane=Lane.READS,
        )
        if access_review.status.allowed:
            return None
        return Refusal(403, f'forbidden: User "{user.username}" cannot {verb} path "{path}"')
