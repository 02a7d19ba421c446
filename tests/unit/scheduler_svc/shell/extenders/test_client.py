"""Calls to an extender, on a real socket."""

import asyncio
import socket
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scheduler_svc.shell.config.schema import Extender, ExtenderTlsConfig
from scheduler_svc.shell.extenders.client import CONCURRENCY, ExtenderClient
from scheduler_svc.shell.extenders.full_objects import FullObjects
from scheduler_svc.shell.extenders.metrics import ExtenderMetrics
from scheduler_svc.shell.extenders.questions import ask_to_filter
from scheduler_svc.shell.extenders.wire import ExtenderError, decode_scores
from tests.extender_server import RawAnswer, serve_extender, write_certificate
from tests.unit.scheduler_svc.shell.extenders.rig import extender, planned
from tests.unit.scheduler_svc.shell.registry import Samples
from tests.unit.scheduler_svc.shell.scripted_api import ScriptedApi, ScriptedClient


async def ask(client: ExtenderClient, verb: str = "v", kind: str = "prioritize") -> dict[str, int]:
    try:
        return await client.ask(kind, verb, b"{}", decode_scores)
    finally:
        await client.close()


@pytest.mark.parametrize("slashes", ["", "/", "//"])
async def test_the_verb_follows_the_prefix_after_one_slash(slashes: str) -> None:
    with serve_extender({"v": lambda _: [{"Host": "a", "Score": 1}]}) as server:
        config = Extender(url_prefix=f"{server.url}{slashes}")
        assert await ask(ExtenderClient(planned(config), ExtenderMetrics())) == {"a": 1}
        assert server.asked == [("/x/v", {})]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (RawAnswer(b"{}", 500), "failed v with extender at URL {url}/v, code 500"),
        (RawAnswer(b"[]", 201), "failed v with extender at URL {url}/v, code 201"),
        (RawAnswer(b"", 307), "failed v with extender at URL {url}/v, code 307"),
        (RawAnswer(b"<html>"), "the answer of prioritize from the extender at URL {url}/v"),
        (RawAnswer(b""), "cannot be read"),
        (RawAnswer(b"[]", length=9), 'Post "{url}/v": '),
    ],
)
async def test_only_200_and_a_whole_answer_will_do(answer: RawAnswer, text: str) -> None:
    metrics = ExtenderMetrics()
    with extender({"v": lambda _: answer}, metrics) as (server, client):
        with pytest.raises(ExtenderError) as caught:
            await ask(client)
        assert text.format(url=server.url) in str(caught.value)
    errors = Samples(metrics.collect)
    labels = {"extender": server.url, "verb": "prioritize"}
    assert errors("berthmaster_extender_errors_total", **labels) == 1
    assert errors("berthmaster_extender_duration_seconds_count", **labels) == 1


@pytest.mark.parametrize(("kind", "is_repeated"), [("filter", True), ("bind", False)])
async def test_what_is_no_binding_is_sent_again_where_the_connection_ends(
    kind: str, is_repeated: bool
) -> None:
    answers: list[Any] = [RawAnswer(status=0), []]
    with extender({"v": lambda _: answers.pop(0)}) as (server, client):
        if is_repeated:
            assert await ask(client, kind=kind) == {}
        else:
            with pytest.raises(ExtenderError, match="the connection ended without an answer"):
                await ask(client, kind=kind)
        assert len(server.asked) == 1 + is_repeated


async def test_success_counts_as_no_error() -> None:
    metrics = ExtenderMetrics()
    with extender({"v": lambda _: []}, metrics) as (server, client):
        await ask(client)
    labels = {"extender": server.url, "verb": "prioritize"}
    assert Samples(metrics.collect)("berthmaster_extender_errors_total", **labels) == 0


async def test_an_extender_that_is_not_there_is_an_error() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        client = ExtenderClient(planned(Extender(url_prefix=url)), ExtenderMetrics())
        with pytest.raises(ExtenderError, match=r"cannot connect to 127.0.0.1:\d+: "):
            await ask(client)


async def test_a_url_that_is_none_is_an_error_and_shows_no_login() -> None:
    config = Extender(url_prefix="http://me:secret@:bad")
    with pytest.raises(ExtenderError) as caught:
        await ask(ExtenderClient(planned(config), ExtenderMetrics()))
    assert "secret" not in str(caught.value)


async def test_an_answer_must_come_in_time() -> None:
    release = threading.Event()

    def hang(_: Any) -> Any:
        release.wait(30)
        return []

    with extender({"v": hang}, http_timeout_seconds=0.05) as (server, client):
        with pytest.raises(ExtenderError) as caught:
            await ask(client)
        release.set()
        assert str(caught.value) == f'Post "{server.url}/v": no answer within 0.05 s'


async def test_a_time_limit_below_zero_is_none() -> None:
    with extender({"v": lambda _: []}, http_timeout_seconds=-1.0) as (_, client):
        assert await ask(client) == {}


async def test_there_is_a_limit_to_what_is_under_way_and_made() -> None:
    lock, together = threading.Lock(), threading.Barrier(CONCURRENCY)
    under_way = [0, 0]
    made: list[int] = []

    def answer(_: Any) -> Any:
        with lock:
            under_way[0] += 1
            under_way[1] = max(under_way)
        together.wait(30)
        with lock:
            under_way[0] -= 1
        return {"NodeNames": ["a"]}

    class Counting(FullObjects):
        async def nodes(self, names: Iterable[str]) -> dict[str, msgspec.Raw]:
            made.append(len(server.asked))
            return dict.fromkeys(names, msgspec.Raw(b'{"metadata":{"name":"a"}}'))

    objects = Counting(ScriptedClient(ScriptedApi()))
    with extender({"filter": answer}, node_cache_capable=False) as (server, client):
        pod = msgspec.Raw(b"{}")
        asking = [ask_to_filter(client, objects, pod, ("a",)) for _ in range(2 * CONCURRENCY)]
        await asyncio.gather(*asking)
        await client.close()
    assert CONCURRENCY == under_way[1] == 32
    assert made.count(0) <= CONCURRENCY


@pytest.mark.parametrize(
    ("tls", "enable_https", "is_trusted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"insecure": True}, False, True),
        ({"ca": "own"}, True, True),
        ({"ca": "other"}, True, False),
    ],
)
async def test_whom_https_trusts(
    tmp_path: Path, tls: dict[str, Any], enable_https: bool, is_trusted: bool
) -> None:
    authorities = {
        "own": write_certificate(tmp_path, "127.0.0.1"),
        "other": write_certificate(tmp_path, "127.0.0.2"),
    }
    ca_file = str(authorities[tls["ca"]]) if "ca" in tls else ""
    config = ExtenderTlsConfig(insecure=tls.get("insecure", False), ca_file=ca_file)
    with serve_extender({"v": lambda _: []}, authorities["own"]) as server:
        given = Extender(url_prefix=server.url, enable_https=enable_https, tls_config=config)
        client = ExtenderClient(planned(given), ExtenderMetrics())
        if is_trusted:
            assert await ask(client) == {}
        else:
            with pytest.raises(ExtenderError, match="certificate verify failed"):
                await ask(client)
