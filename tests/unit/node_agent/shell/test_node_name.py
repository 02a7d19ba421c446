"""Whether a mistyped Node's name is told of; the answers are a kube-apiserver's."""

import logging

import pytest
from aiohttp import web

from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.login import Login
from node_agent.shell.node_name import warn_of_missing_node
from tests.unit.kubeio.fake_api import client_of, unchanged


def status(code: int, reason: str) -> web.Response:
    answer = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason}
    return web.json_response(answer | {"code": code, "message": reason}, status=code)


async def serve(request: web.Request) -> web.Response:
    """Know two Nodes."""
    if request.path == "/api/v1/nodes":
        names = ["worker-1", "worker-2"][: int(request.query["limit"])]
        return web.json_response({"items": [{"metadata": {"name": name}} for name in names]})
    if request.path == "/api/v1/nodes/worker-1":
        return web.json_response({"metadata": {"name": "worker-1"}})
    return status(404, "NotFound")


async def forbid(request: web.Request) -> web.Response:
    """Tell of no Node, and not of their names."""
    return status(404, "NotFound") if request.path.endswith("/x") else status(403, "Forbidden")


def warnings(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_name_that_no_node_has_is_told_with_some_that_there_are(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with client_of(serve) as client:
        await warn_of_missing_node(client, "worker1")
    (record,) = warnings(caplog)
    assert record.getMessage() == "There is no Node of this name (yet): no Pods will be seen"
    assert vars(record)["fields"] == {"node": "worker1", "nodes": "worker-1,worker-2"}


async def test_a_name_that_a_node_has_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    async with client_of(serve) as client:
        await warn_of_missing_node(client, "worker-1")
    assert not warnings(caplog)


async def test_names_that_may_not_be_listed_are_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with client_of(forbid) as client:
        await warn_of_missing_node(client, "x")
        (record,) = warnings(caplog)
        assert vars(record)["fields"] == {"node": "x"}
        await warn_of_missing_node(client, "forbidden")
    assert warnings(caplog) == [record]


async def test_a_server_that_is_away_tells_nothing_of_names(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nowhere = Credentials(Login(server_url="http://127.0.0.1:1"), unchanged)
    async with KubeClient(nowhere, user_agent="test") as client:
        await warn_of_missing_node(client, "worker-1")
    assert not warnings(caplog)
