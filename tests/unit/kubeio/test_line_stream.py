"""Lines out of chunks that are cut anywhere."""

import asyncio

import aiohttp
import pytest

from kubeio.errors import ConnectionLostError, MalformedResponseError, WatchSilentError
from kubeio.stream import LineStream


class Chunks:
    """Stands for aiohttp's reader: gives chunks, then raises or ends."""

    def __init__(self, *chunks: bytes | Exception) -> None:
        self.chunks = list(chunks)

    async def readany(self) -> bytes:
        if not self.chunks:
            return b""
        chunk = self.chunks.pop(0)
        if isinstance(chunk, Exception):
            raise chunk
        return chunk


async def all_lines(*chunks: bytes | Exception, limit: int = 100) -> list[bytes]:
    stream = LineStream(Chunks(*chunks), request="WATCH /x", line_limit_bytes=limit)
    lines = []
    while batch := await stream.read_lines():
        lines += batch
    return lines


TEXT = b"one\ntwo\n\nthree\n"


@pytest.mark.parametrize("size", range(1, len(TEXT) + 1))
async def test_lines_do_not_depend_on_chunks(size: int) -> None:
    chunks = [TEXT[i : i + size] for i in range(0, len(TEXT), size)]
    assert await all_lines(*chunks) == [b"one", b"two", b"", b"three"]


async def test_lines_that_came_together_are_given_together() -> None:
    stream = LineStream(Chunks(b"a\nb\nc", b"d\n"), request="x")
    assert await stream.read_lines() == [b"a", b"b"]
    assert await stream.read_lines() == [b"cd"]
    assert await stream.read_lines() == []


async def test_line_longer_than_the_limit_is_refused() -> None:
    assert await all_lines(b"x" * 60, b"x" * 39, b"x\n") == [b"x" * 100]
    with pytest.raises(MalformedResponseError, match="longer than 100 bytes"):
        await all_lines(b"x" * 60, b"x" * 60)
    with pytest.raises(MalformedResponseError):
        await all_lines(b"x" * 101, b"\n")


async def test_end_inside_a_line_is_a_lost_connection() -> None:
    with pytest.raises(ConnectionLostError, match="inside a line"):
        await all_lines(b"a\nb")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (aiohttp.ClientPayloadError("cut"), ConnectionLostError),
        (ConnectionResetError(104, "reset"), ConnectionLostError),
        (aiohttp.SocketTimeoutError("silent"), WatchSilentError),
    ],
)
async def test_endings_are_named(error: Exception, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="WATCH /x"):
        await all_lines(b"a\n", error)


async def test_time_of_the_last_byte_is_kept() -> None:
    times = iter([1.0, 2.0, 3.0])
    stream = LineStream(Chunks(b"a", b"\n"), request="x", clock=lambda: next(times))
    assert stream.last_byte_at == 1.0
    await stream.read_lines()
    assert stream.last_byte_at == 3.0


async def test_reading_can_be_cancelled() -> None:
    class Silent:
        async def readany(self) -> bytes:
            await asyncio.Event().wait()
            raise AssertionError

    task = asyncio.create_task(LineStream(Silent(), request="x").read_lines())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
