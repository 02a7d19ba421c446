"""What kopf is given: handlers that never make it write, and settings that end everything."""

import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kubeio.credentials import Credentials
from kubeio.login import Login
from scheduler_svc.controller.custom_resources import (
    ALL_RESOURCES,
    BUILT_IN_POD_GROUPS,
)
from scheduler_svc.controller.operator.framework import kopf
from scheduler_svc.controller.operator.login import log_in
from scheduler_svc.controller.operator.logs import ShortLines
from scheduler_svc.controller.operator.registry import make_registry
from scheduler_svc.controller.operator.settings import operator_settings
from scheduler_svc.controller.operator.watches import Watches


async def no_login() -> kopf.AiohttpSession:
    raise AssertionError("nobody logs in here")


def test_only_events_are_handled_since_all_else_writes_to_objects() -> None:
    registry = make_registry(ALL_RESOURCES, lambda *_: None, no_login)
    ids = [handler.id for handler in registry._watching.get_all_handlers()]
    assert ids == [
        "podgroups.scheduling.x-k8s.io",
        "podgroups.scheduling.k8s.io",
        "schedulerprofiles.berthmaster.dev",
    ]
    for part in (registry._changing, registry._spawning, registry._indexing, registry._webhooks):
        assert list(part.get_all_handlers()) == []


async def test_an_event_is_handed_on_as_it_is() -> None:
    told: list[Any] = []
    registry = make_registry([BUILT_IN_POD_GROUPS], lambda *args: told.append(args), no_login)
    [handler] = registry._watching.get_all_handlers()
    handle: Any = handler.fn
    body = {"metadata": {"name": "a"}}
    for type_ in (None, "ADDED", "MODIFIED", "DELETED"):
        await handle(event={"type": type_, "object": body}, memo=None)
    assert told == [(BUILT_IN_POD_GROUPS, gone, body) for gone in (False, False, False, True)]
    assert handler.selector is not None
    assert (handler.selector.group, handler.selector.version, handler.selector.any_name) == (
        "scheduling.k8s.io",
        "v1alpha2",
        "podgroups",
    )


def test_nothing_of_kopf_is_kept_on_objects() -> None:
    persistence = operator_settings().persistence
    body: Any = kopf.Body({"metadata": {"name": "a"}, "spec": {"minMember": 1}, "status": {}})
    patch: Any = kopf.Patch()
    progress, diffbase = persistence.progress_storage, persistence.diffbase_storage
    record: Any = {"started": "x"}
    key: Any = "handler"
    progress.store(key=key, record=record, body=body, patch=patch)
    progress.touch(body=body, patch=patch, value="now")
    progress.purge(key=key, body=body, patch=patch)
    diffbase.store(body=body, patch=patch, essence=diffbase.build(body=body))
    assert not patch
    assert progress.fetch(key=key, body=body) is None
    assert diffbase.fetch(body=body) is None
    assert progress.clear(essence=diffbase.build(body=body)) == {}


def test_every_wait_has_an_end_and_nobody_kills_the_process() -> None:
    settings = operator_settings()
    assert settings.process.ultimate_exiting_timeout is None
    assert settings.peering.standalone
    assert settings.scanning.disabled
    assert not settings.posting.enabled
    assert settings.watching.server_timeout
    assert settings.watching.inactivity_timeout
    assert settings.networking.request_timeout
    assert settings.queueing.worker_limit


def test_kopf_does_not_bring_the_kubernetes_client_with_it() -> None:
    """38 MiB: half of what the controller takes."""
    import subprocess  # noqa: PLC0415 - for this test alone

    code = (
        "import sys; from scheduler_svc.controller.operator.framework import kopf; "
        "sys.exit(kopf.__name__ != 'kopf' or 'kubernetes_asyncio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_each_request_has_the_token_as_it_is_then() -> None:
    token = ["Bearer old"]

    async def read_again() -> Login:
        return Login(server_url="http://127.0.0.1:1", authorization=token[0])

    credentials = Credentials(await read_again(), read_again, check_interval_seconds=0.0)
    kopfs = log_in(credentials, Watches(()), user_agent="berthmaster/test")
    session = kopfs.aiohttp_session
    sent: list[str] = []

    class Request:
        def __init__(self) -> None:
            self.headers: dict[str, str] = {}

    async def send(request: Any) -> Any:
        sent.append(request.headers["Authorization"])

    [_, authorize] = session._middlewares
    request: Any = Request()
    await authorize(request, send)
    token[0] = "Bearer new"
    await credentials.refresh_after_unauthorized("Bearer old", 0)
    await authorize(request, send)
    await session.close()
    assert sent[0] == "Bearer old"


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """Give what the process's log gets."""

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert record.exc_info is None
            kept.append(record.getMessage())

    kept: list[str] = []
    root = logging.getLogger()
    handler = Keeping()
    root.addHandler(handler)
    yield kept
    root.removeHandler(handler)


def test_of_kopfs_troubles_each_is_told_in_one_line_once_in_a_while(lines: list[str]) -> None:
    logger = logging.Logger("kopf")
    logger.addHandler(ShortLines())
    try:
        raise ValueError("x")
    except ValueError:
        logger.exception("Watcher has failed: %s", "x")
    for number in range(1, 6):
        text = "Request attempt #1/5 failed; will retry: GET https://127.0.0.1:1/apis/x%s"
        logger.error(text, number)
    logger.warning("OS signals are ignored: running not in the main thread.")
    assert lines == [
        "kopf: Watcher has failed: x",
        "kopf: Request attempt #1/5 failed; will retry: GET https://127.0.0.1:1/apis/x1",
    ]
