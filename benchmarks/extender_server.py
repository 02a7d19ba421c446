"""The extender of the shapes: an HTTP server in a process of its own, as plain as can be.

``python -m benchmarks.extender_server`` writes its port on a line of its own and serves until it is
ended. It is the same for all schedulers; `extender_rule` decides. Nodes that are sent with all
their fields are given back with all of them, as extenders do.
"""

import asyncio
import sys
from typing import Any, Final, cast

import httptools
import msgspec
import uvloop

from benchmarks.extender_rule import allows, score

_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_NOT_FOUND: Final = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
_REASON: Final = "the extender keeps it for others"
_encode: Final = msgspec.json.Encoder().encode


class _Metadata(msgspec.Struct, gc=False):
    name: str


class _Named(msgspec.Struct, gc=False):
    metadata: _Metadata


class _NodeList(msgspec.Struct):
    items: list[msgspec.Raw]


class _Question(msgspec.Struct, rename="pascal"):
    """ExtenderArgs of k8s.io/kube-scheduler/extender/v1: Nodes, or their names."""

    pod: _Named
    nodes: _NodeList | None = None
    node_names: list[str] | None = None


_decode_question: Final = msgspec.json.Decoder(_Question).decode
_decode_node: Final = msgspec.json.Decoder(_Named).decode


def answer(path: bytes, body: bytes) -> bytes | None:
    """Answer a question, as JSON; None for a verb that there is not."""
    question = _decode_question(body)
    nodes: dict[str, msgspec.Raw] | None = None
    if question.nodes is not None:
        nodes = {_decode_node(node).metadata.name: node for node in question.nodes.items}
    names = question.node_names or list(nodes or ())
    if path == b"/filter":
        return _filter(question.pod.metadata.name, names, nodes)
    if path == b"/prioritize":
        return _encode([{"Host": name, "Score": score(name)} for name in names])
    return None


def _filter(pod: str, names: list[str], nodes: dict[str, msgspec.Raw] | None) -> bytes:
    passing = [name for name in names if allows(pod, name)]
    known = frozenset(passing)
    result: dict[str, Any] = {"FailedNodes": {name: _REASON for name in names if name not in known}}
    if nodes is None:
        result["NodeNames"] = passing
    else:
        result["Nodes"] = {"items": [nodes[name] for name in passing]}
    return _encode(result)


class Connection(asyncio.Protocol):
    """Answers one request after the other."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._path = b""
        self._body: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; its callbacks below collect the question."""
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        """Collect the path (parser callback)."""
        self._path += url

    def on_body(self, body: bytes) -> None:
        """Collect a piece of the body (parser callback)."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Answer (parser callback)."""
        body = answer(self._path, b"".join(self._body))
        self._path, self._body = b"", []
        self._transport.write(_NOT_FOUND if body is None else _HEAD % len(body) + body)


async def serve() -> None:
    """Serve on a free port of loopback until cancelled."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve())
