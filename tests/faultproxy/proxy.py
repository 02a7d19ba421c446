"""The proxy: ends TLS on both sides, so that it can strike at single requests and lines."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlsplit

import msgspec

from kubeio.certificates import make_self_signed
from tests.faultproxy.faults import (
    Cut,
    Delay,
    End,
    Fault,
    HalfOpen,
    Inject,
    LoseAnswer,
    LoseRequest,
    Respond,
    Silence,
)
from tests.faultproxy.messages import (
    HEAD_LIMIT_BYTES,
    Head,
    read_body,
    read_head,
    write_chunk,
    write_head,
)

F = TypeVar("F", bound=Fault)
_FRAMING = ("content-length", "transfer-encoding", "connection")


@dataclass
class RequestRecord:
    """A request that came in, and what became of it; `status` None: no answer came.

    `answered_at` is when the server had answered: it may be more than whoever asked ever learned.
    """

    method: str
    target: str
    body: bytes
    at: float
    status: int | None = None
    faults: tuple[str, ...] = ()
    answered_at: float | None = None


class FaultProxy:
    """Listens on loopback with a certificate of its own, passes on to `upstream_url`.

    Parameters
    ----------
    upstream_url
        The real API server.
    ca_path
        Its CA.
    token
        A bearer token for the kubeconfig that is written.
    directory
        Where kubeconfig and certificate go.

    Attributes
    ----------
    kubeconfig_path
        For the clients that are to suffer.
    requests
        Every request so far.
    """

    def __init__(
        self, upstream_url: str, *, ca_path: Path | str, token: str, directory: Path
    ) -> None:
        self._upstream = urlsplit(upstream_url)
        self._upstream_context = ssl.create_default_context(cafile=str(ca_path))
        self._token = token
        self._directory = directory
        self._faults: list[Fault] = []
        self._server: asyncio.Server | None = None
        self._port = 0
        self._clients: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self.kubeconfig_path = directory / "fault-proxy.kubeconfig"
        self.ca_path = directory / "fault-proxy.pem"
        self.requests: list[RequestRecord] = []

    async def __aenter__(self) -> Self:
        self.ca_path.write_bytes(make_self_signed(("127.0.0.1", "localhost")))
        self.ca_path.chmod(0o600)
        await self.accept_connections()
        self._write_kubeconfig()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.thaw()
        await self.refuse_connections()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        """Where it listens; the same port all its life."""
        return f"https://127.0.0.1:{self._port}"

    def add(self, fault: F) -> F:
        """Put a fault in force; the first that matches strikes, of each kind one."""
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """End all faults for new requests."""
        self._faults.clear()

    async def refuse_connections(self) -> None:
        """Stop listening and drop every connection: the server is down."""
        if self._server is not None:
            server, self._server = self._server, None
            for listener in server.sockets:
                asyncio.get_running_loop().remove_reader(listener.fileno())
            # What was accepted just now gets its transport; a closed server has none to give.
            await asyncio.sleep(0)
            server.close()
        await self.drop_connections()

    async def accept_connections(self) -> None:
        """Listen (again), on the same port."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca_path)
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", self._port, ssl=context, limit=HEAD_LIMIT_BYTES
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def drop_connections(self) -> None:
        """Reset every connection there is."""
        for writer in list(self._clients):
            writer.transport.abort()

    def freeze(self) -> None:
        """Let nothing pass, in either direction, and keep connections open."""
        self._flows.clear()

    def thaw(self) -> None:
        """Let what was held up pass."""
        self._flows.set()

    def count(self, predicate: Callable[[RequestRecord], bool]) -> int:
        """Count the requests that a test asks for."""
        return sum(predicate(request) for request in self.requests)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._hold(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until either side ends it."""
        if self._server is None:
            writer.transport.abort()
            return
        self._clients.add(writer)
        writer.transport.set_write_buffer_limits(1, 0)  # drain() waits for all of it
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                await self._serve(reader, writer)
        finally:
            self._clients.discard(writer)
            if not writer.is_closing():
                writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on request after request of one connection, over one to the server."""
        up_reader, up_writer = await asyncio.open_connection(
            self._upstream.hostname,
            self._upstream.port,
            ssl=self._upstream_context,
            limit=HEAD_LIMIT_BYTES,
        )
        try:
            while head := await read_head(reader):
                body = b"".join([piece async for piece in read_body(reader, head)])
                await self._flows.wait()
                if not await self._exchange(head, body, writer, (up_reader, up_writer)):
                    return
        finally:
            up_writer.transport.abort()

    async def _exchange(
        self,
        head: Head,
        body: bytes,
        writer: asyncio.StreamWriter,
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> bool:
        """Answer one request; False ends the connection."""
        method, target, _ = head.first_line.split(" ")
        struck = [fault for fault in self._faults if fault.strikes(method, target)]
        names = tuple(type(fault).__name__ for fault in struck)
        record = RequestRecord(method, target, body, time.monotonic(), faults=names)
        self.requests.append(record)
        for fault in struck:
            if isinstance(fault, LoseRequest):
                return False
            if await _strike_request(fault, writer, record):
                return True
        up_reader, up_writer = upstream
        up_writer.write(
            write_head(head, without=_FRAMING, extra=f"Content-Length: {len(body)}\r\n")
        )
        up_writer.write(body)
        answer = await read_head(up_reader)
        if answer is None:
            return False
        record.status = int(answer.first_line.split(" ")[1])
        record.answered_at = time.monotonic()
        if any(isinstance(fault, LoseAnswer) for fault in struck):
            async for _ in read_body(up_reader, answer):
                pass
            return False
        writer.write(write_head(answer, without=_FRAMING, extra="Transfer-Encoding: chunked\r\n"))
        relay = _Relay(writer, struck)
        if not await relay.pass_on(b""):
            return False
        async for piece in read_body(up_reader, answer):
            await self._flows.wait()
            if not await relay.pass_on(piece):
                return False
        writer.write(write_chunk(b""))
        await writer.drain()
        return not answer.has_token("connection", "close")

    def _write_kubeconfig(self) -> None:
        # JSON is YAML, and the project need not quote anything by hand.
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "proxy",
                    "cluster": {"server": self.url, "certificate-authority": str(self.ca_path)},
                }
            ],
            "users": [{"name": "admin", "user": {"token": self._token}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "admin"}}],
            "current-context": "proxy",
        }
        self.kubeconfig_path.write_bytes(msgspec.json.encode(kubeconfig))
        self.kubeconfig_path.chmod(0o600)


class _Relay:
    """Passes on a body, counting lines, until a fault says otherwise."""

    def __init__(self, writer: asyncio.StreamWriter, faults: list[Fault]) -> None:
        self._writer = writer
        self._lines = 0
        self._faults = [f for f in faults if isinstance(f, Cut | End | Silence | Inject)]

    async def pass_on(self, piece: bytes) -> bool:
        """Pass on a piece; False ends the connection."""
        while True:
            due = min(self._faults, key=lambda fault: fault.after_lines, default=None)
            if due is None:
                break
            before, piece = self._split(piece, due.after_lines - self._lines)
            self._send(before)
            if self._lines < due.after_lines:
                return await self._flushed()
            self._faults.remove(due)
            if not await self._strike(due, piece):
                return False
        self._send(piece)
        return await self._flushed()

    async def _strike(self, fault: Fault, rest: bytes) -> bool:
        match fault:
            case Cut(extra_bytes=extra):
                self._send(rest[:extra])
                await self._flushed()
                # FIN after what was sent, or a reset would throw it away.
                self._writer.close()
                return False
            case End():
                self._writer.write(write_chunk(b""))
                await self._flushed()
                self._writer.close()
                return False
            case Silence():
                await self._flushed()
                await _for_ever()
            case Inject(line=line):
                self._send(line + b"\n")
        return True

    def _split(self, piece: bytes, line_count: int) -> tuple[bytes, bytes]:
        """Cut off so many lines at most, and count them."""
        end = 0
        for _ in range(line_count):
            found = piece.find(b"\n", end)
            if found < 0:
                return piece, b""
            end = found + 1
            self._lines += 1
        return piece[:end], piece[end:]

    def _send(self, piece: bytes) -> None:
        if piece:
            self._writer.write(write_chunk(piece))

    async def _flushed(self) -> bool:
        await self._writer.drain()
        return True


async def _strike_request(
    fault: Fault, writer: asyncio.StreamWriter, record: RequestRecord
) -> bool:
    """Do what a fault does before the server is asked; True if that was the answer."""
    match fault:
        case Delay(seconds=seconds):
            await asyncio.sleep(seconds)
        case HalfOpen():
            await _for_ever()
        case Respond():
            record.status = fault.status
            await _respond(writer, fault)
            return True
    return False


async def _respond(writer: asyncio.StreamWriter, fault: Respond) -> None:
    headers = {"Content-Type": "application/json", **fault.headers}
    lines = [f"HTTP/1.1 {fault.status} Fault", f"Content-Length: {len(fault.body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + fault.body)
    await writer.drain()


async def _for_ever() -> None:
    await asyncio.Event().wait()
