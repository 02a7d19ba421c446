from collections.abc import Awaitable, Callable

import pytest

from kubeio.credentials import Credentials
from kubeio.login import Login
from kubeio.response import Response, ignore_call
from kubeio.writes import WritePool
from scheduler_svc.shell.rate_limit import LimitedWritePool, TokenBucket


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_burst_passes_at_once_and_then_the_rate_counts() -> None:
    bucket = TokenBucket(10, 3, clock=Clock())
    assert [bucket.take() for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])


def test_tokens_come_back_up_to_the_burst() -> None:
    clock = Clock()
    bucket = TokenBucket(10, 2, clock=clock)
    bucket.take()
    clock.seconds += 60
    assert [bucket.take() for _ in range(3)] == pytest.approx([0, 0, 0.1])


def test_those_who_wait_keep_the_rate() -> None:
    clock = Clock()
    bucket = TokenBucket(10, 1, clock=clock)
    assert [bucket.take() for _ in range(3)] == pytest.approx([0, 0.1, 0.2])
    clock.seconds += 0.2
    assert bucket.take() == pytest.approx(0.1)


def test_burst_of_none_lets_single_requests_through() -> None:
    assert TokenBucket(1, 0, clock=Clock()).take() == 0


async def test_pool_waits_for_a_token_before_it_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[object] = []

    async def sleep(seconds: float) -> None:
        steps.append(round(seconds, 6))

    async def send(self: WritePool, method: str, path: str, body: bytes, **_: object) -> Response:
        steps.append((method, path, body))
        return Response(201, (), b"")

    async def same() -> Login:
        return login

    monkeypatch.setattr("scheduler_svc.shell.rate_limit.asyncio.sleep", sleep)
    monkeypatch.setattr(WritePool, "request", send)
    login = Login(server_url="http://127.0.0.1:1")
    read: Callable[[], Awaitable[Login]] = same
    pool = LimitedWritePool(
        Credentials(login, read),
        user_agent="test",
        observe_call=ignore_call,
        bucket=TokenBucket(4, 1, clock=Clock()),
    )
    for name in ("/a", "/b"):
        await pool.post(name, b"{}", resource="pods/binding")
    assert steps == [("POST", "/a", b"{}"), 0.25, ("POST", "/b", b"{}")]
