"""The shapes' extender answers what schedulers ask, by name and with whole Nodes."""

import asyncio
from typing import Any

import msgspec
import pytest

from benchmarks.extender_rule import allows, score
from benchmarks.extender_server import Connection, answer

POD = {"metadata": {"name": "pod-00001", "namespace": "measured"}, "spec": {}}
NAMES = [f"node-{index:05d}" for index in range(7)]
ALLOWED = [name for name in NAMES if allows("pod-00001", name)]


def ask(verb: str, **nodes: Any) -> Any:
    question = {"Pod": POD, "Nodes": None, "NodeNames": None, **nodes}
    given = answer(f"/{verb}".encode(), msgspec.json.encode(question))
    return None if given is None else msgspec.json.decode(given)


def whole(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"a": "b"}}, "status": {"x": 1}}


def test_names_are_answered_with_names() -> None:
    told = ask("filter", NodeNames=NAMES)
    assert told["NodeNames"] == ALLOWED
    assert told["FailedNodes"].keys() == set(NAMES) - set(ALLOWED)
    assert "Nodes" not in told


def test_whole_nodes_are_given_back_whole() -> None:
    told = ask("filter", Nodes={"kind": "NodeList", "items": [whole(name) for name in NAMES]})
    assert told["Nodes"]["items"] == [whole(name) for name in ALLOWED]
    assert told["FailedNodes"].keys() == set(NAMES) - set(ALLOWED)
    assert "NodeNames" not in told


@pytest.mark.parametrize(
    "nodes", [{"NodeNames": NAMES}, {"Nodes": {"items": [*map(whole, NAMES)]}}]
)
def test_every_node_has_its_score(nodes: dict[str, Any]) -> None:
    assert ask("prioritize", **nodes) == [{"Host": name, "Score": score(name)} for name in NAMES]


def test_no_nodes_pass_where_there_are_none() -> None:
    assert ask("filter", NodeNames=[])["NodeNames"] == []


def test_there_are_no_other_verbs() -> None:
    assert ask("bind", NodeNames=NAMES) is None


async def test_questions_on_one_connection_are_answered_in_turn() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(host, port)
        body = msgspec.json.encode({"Pod": POD, "NodeNames": NAMES})
        for path, status in (("/filter", "200"), ("/bind", "404"), ("/prioritize", "200")):
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body[:10])
            await writer.drain()
            writer.write(body[10:])
            told = (await reader.readuntil(b"\r\n\r\n")).decode()
            assert told.split()[1] == status
            length = int(told.rpartition("Content-Length:")[2])
            given = await reader.readexactly(length)
            assert given == (answer(path.encode(), body) or b"")
        writer.close()
