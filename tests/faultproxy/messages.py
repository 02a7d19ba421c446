"""HTTP/1.1 framing, just as much as the proxy needs."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

HEAD_LIMIT_BYTES = 2**20


@dataclass(frozen=True)
class Head:
    """First line and headers of a request or an answer."""

    first_line: str
    headers: list[tuple[str, str]]

    def get(self, name: str) -> str | None:
        """Give a header by lower-case name."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    def has_token(self, name: str, token: str) -> bool:
        """Tell whether a comma-separated header holds a token."""
        return token in [part.strip().lower() for part in (self.get(name) or "").split(",")]


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """Read up to the empty line; None where the other side has hung up."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = raw.decode("latin-1").rstrip().split("\r\n")
    headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines]
    return Head(first, [(name, value) for name, value in headers])


async def read_body(reader: asyncio.StreamReader, head: Head) -> AsyncIterator[bytes]:
    """Give the pieces of a body, without its framing."""
    if head.has_token("transfer-encoding", "chunked"):
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        return
    left = int(head.get("content-length") or 0)
    while left:
        piece = await reader.read(min(left, 2**16))
        if not piece:
            raise ConnectionError("hung up inside a body")
        left -= len(piece)
        yield piece


def write_head(head: Head, *, without: tuple[str, ...] = (), extra: str = "") -> bytes:
    """Write a head again, without some headers and with others."""
    lines = [head.first_line]
    lines += [f"{name}: {value}" for name, value in head.headers if name.lower() not in without]
    return ("\r\n".join(lines) + "\r\n" + extra + "\r\n").encode("latin-1")


def write_chunk(piece: bytes) -> bytes:
    """Frame a piece; an empty one ends the body."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)
