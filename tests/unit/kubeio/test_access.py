"""Who may read: what is asked of the API server, and for how long it counts."""

import logging
from typing import Any

import pytest
from aiohttp import web

from kubeio.access import CACHE_ENTRIES, CACHE_SECONDS, OUTAGE_SECONDS, KubeAuthorizer, Refusal
from tests.unit.kubeio.fake_api import client_of


class Reviews:
    """Answers TokenReviews and SubjectAccessReviews; keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.users: dict[str, dict[str, Any]] = {
            "reader": {
                "username": "system:serviceaccount:monitoring:prometheus",
                "uid": "u-1",
                "groups": ["system:authenticated"],
                "extra": {"k": ["v"]},
            },
            "root": {"username": "admin", "groups": ["system:masters"]},
        }
        self.is_allowed = True
        self.status: int | str = 201

    async def answer(self, request: web.Request) -> web.Response:
        review = await request.json()
        self.asked.append(review)
        if self.status == GONE:
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if isinstance(self.status, int) and self.status != 201:
            return web.json_response({"kind": "Status", "message": "no"}, status=self.status)
        if review["kind"] == "TokenReview":
            assert request.path == "/apis/authentication.k8s.io/v1/tokenreviews"
            user = self.users.get(review["spec"]["token"])
            status: dict[str, Any] = {"error": "bad"}
            if user is not None:
                status = {"authenticated": True, "user": user}
        else:
            assert request.path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
            status = {"allowed": self.is_allowed}
        return web.json_response({**review, "status": status}, status=201)


async def test_user_of_the_token_is_asked_about() -> None:
    reviews = Reviews()
    async with client_of(reviews.answer) as client:
        authorizer = KubeAuthorizer(client)
        assert await authorizer.refusal("Bearer reader", "/metrics", "get") is None
    assert reviews.asked[0]["spec"] == {"token": "reader"}
    assert reviews.asked[1]["spec"] == {
        "user": "system:serviceaccount:monitoring:prometheus",
        "uid": "u-1",
        "groups": ["system:authenticated"],
        "extra": {"k": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


async def test_masters_are_let_in_without_asking_further() -> None:
    reviews = Reviews()
    async with client_of(reviews.answer) as client:
        assert await KubeAuthorizer(client).refusal("bearer root", "/metrics", "get") is None
    assert len(reviews.asked) == 1


async def test_refusals() -> None:
    reviews = Reviews()
    reviews.is_allowed = False
    async with client_of(reviews.answer) as client:
        authorizer = KubeAuthorizer(client)
        for authorization in (None, "", "Bearer", "Bearer  ", "Basic abc"):
            refusal = await authorizer.refusal(authorization, "/metrics", "get")
            assert refusal is not None
            assert refusal.status == 401
        assert reviews.asked == []
        assert await authorizer.refusal("Bearer stranger", "/metrics", "get") == Refusal(
            401, "the API server does not know this token"
        )
        assert await authorizer.refusal("Bearer reader", "/metrics", "get") == Refusal(
            403,
            'forbidden: User "system:serviceaccount:monitoring:prometheus" '
            'cannot get path "/metrics"',
        )


async def test_verdicts_are_kept_for_ten_seconds() -> None:
    reviews, now = Reviews(), [100.0]
    async with client_of(reviews.answer) as client:
        authorizer = KubeAuthorizer(client, clock=lambda: now[0])
        for _ in range(3):
            await authorizer.refusal("Bearer reader", "/metrics", "get")
        assert len(reviews.asked) == 2
        await authorizer.refusal("Bearer reader", "/configz", "get")
        assert len(reviews.asked) == 4
        reviews.is_allowed = False
        now[0] += 9.9
        assert await authorizer.refusal("Bearer reader", "/metrics", "get") is None
        now[0] += 0.2
        refusal = await authorizer.refusal("Bearer reader", "/metrics", "get")
        assert refusal is not None
        assert refusal.status == 403


async def test_cache_is_bounded_and_holds_no_token() -> None:
    reviews = Reviews()
    async with client_of(reviews.answer) as client:
        authorizer = KubeAuthorizer(client)
        for i in range(CACHE_ENTRIES + 1):
            await authorizer.refusal("Bearer root", f"/{i}", "get")
        assert len(authorizer._verdicts) == CACHE_ENTRIES
        assert b"root" not in {digest for digest, _, _ in authorizer._verdicts}


async def test_api_server_that_cannot_be_asked_lets_nobody_in_and_is_not_remembered() -> None:
    reviews = Reviews()
    reviews.status = 403
    async with client_of(reviews.answer) as client:
        authorizer = KubeAuthorizer(client)
        refusal = await authorizer.refusal("Bearer reader", "/metrics", "get")
        assert refusal is not None
        assert refusal.status == 503
        assert "cannot ask the API server" in refusal.message
        reviews.status = 201
        assert await authorizer.refusal("Bearer reader", "/metrics", "get") is None


async def test_api_server_that_cannot_be_asked_is_told_of_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reviews, now = Reviews(), [100.0]
    reviews.status = 403
    async with client_of(reviews.answer) as client:
        authorizer = KubeAuthorizer(client, clock=lambda: now[0])
        for _ in range(3):
            await authorizer.refusal("Bearer reader", "/metrics", "get")
        now[0] += 30
        await authorizer.refusal("Bearer reader", "/metrics", "get")
    told = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == 2
    assert "tokenreviews" in vars(told[0])["fields"]["error"]
    assert "reader" not in str(vars(told[0])["fields"])


GONE = "gone"
"""In place of a status: the connection ends without an answer."""


@pytest.mark.parametrize("outage", [429, 500, 503, 504, GONE])
async def test_who_was_let_in_stays_so_while_the_api_server_cannot_be_asked(
    outage: int | str,
) -> None:
    reviews, now = Reviews(), [100.0]
    async with client_of(reviews.answer) as client:
        authorizer = KubeAuthorizer(client, clock=lambda: now[0])
        assert await authorizer.refusal("Bearer reader", "/metrics", "get") is None
        reviews.status = outage
        now[0] += OUTAGE_SECONDS - 0.1
        for _ in range(2):
            assert await authorizer.refusal("Bearer reader", "/metrics", "get") is None
        # Another path, and another token, were never let in.
        await assert_unavailable(authorizer, "Bearer reader", "/configz")
        await assert_unavailable(authorizer, "Bearer root", "/metrics")
        now[0] += 0.2
        await assert_unavailable(authorizer, "Bearer reader", "/metrics")


async def test_the_api_server_is_believed_as_soon_as_it_answers_again() -> None:
    reviews, now = Reviews(), [100.0]
    async with client_of(reviews.answer) as client:
        authorizer = KubeAuthorizer(client, clock=lambda: now[0])
        assert await authorizer.refusal("Bearer reader", "/metrics", "get") is None
        reviews.status = 503
        now[0] += CACHE_SECONDS
        assert await authorizer.refusal("Bearer reader", "/metrics", "get") is None
        reviews.status, reviews.is_allowed = 201, False
        refusal = await authorizer.refusal("Bearer reader", "/metrics", "get")
        assert refusal is not None
        assert refusal.status == 403
        # That no outlives no outage: once it is old, nobody knows.
        reviews.status = 503
        now[0] += CACHE_SECONDS
        await assert_unavailable(authorizer, "Bearer reader", "/metrics")


async def test_being_refused_the_question_is_no_outage() -> None:
    reviews, now = Reviews(), [100.0]
    async with client_of(reviews.answer) as client:
        authorizer = KubeAuthorizer(client, clock=lambda: now[0])
        assert await authorizer.refusal("Bearer reader", "/metrics", "get") is None
        reviews.status = 403
        now[0] += CACHE_SECONDS
        await assert_unavailable(authorizer, "Bearer reader", "/metrics")


async def assert_unavailable(authorizer: KubeAuthorizer, authorization: str, path: str) -> None:
    refusal = await authorizer.refusal(authorization, path, "get")
    assert refusal is not None
    assert refusal.status == 503
