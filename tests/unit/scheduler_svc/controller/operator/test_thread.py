"""kopf in its thread: it tells here, ends when asked, and is begun again when it fails."""

import asyncio
import getpass
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from scheduler_svc.controller.custom_resources import (
    POD_GROUPS,
    SCHEDULER_PROFILES,
    CustomResource,
)
from scheduler_svc.controller.operator import settings as settings_module
from scheduler_svc.controller.operator import thread as module
from scheduler_svc.controller.operator.thread import OperatorThread
from tests.faultproxy import wait_until
from tests.unit.scheduler_svc.controller.operator.fake_cluster import FakeCluster


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_module, "RETRY_SECONDS", (0.05, 0.05))
    monkeypatch.setattr(module, "FIRST_RESTART_SECONDS", 0.1)


class Listener:
    """What was told, and in which thread."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.threads: set[int] = set()

    def tell(self, resource: CustomResource, is_gone: bool, body: Mapping[str, Any]) -> None:
        assert resource == POD_GROUPS
        assert not is_gone
        self.names.append(body["metadata"]["name"])
        self.threads.add(threading.get_ident())


def kopf_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "kopf"]


@asynccontextmanager
async def operating(cluster: FakeCluster, listener: Listener) -> AsyncIterator[OperatorThread]:
    operator = OperatorThread(
        listener.tell, cluster.load_credentials, user_agent="berthmaster/test", seed=1
    )
    task = asyncio.create_task(operator.run([POD_GROUPS, SCHEDULER_PROFILES]))
    try:
        yield operator
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_user_needs_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, whose numeric user is in no list."""

    def no_name() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr(getpass, "getuser", no_name)
    listener = Listener()
    async with FakeCluster() as cluster, operating(cluster, listener):
        await wait_until(lambda: listener.names == ["train"], what="the group is told of")


async def test_objects_are_told_of_in_our_own_loop_and_its_end_is_quick() -> None:
    listener = Listener()
    async with FakeCluster() as cluster:
        async with operating(cluster, listener) as operator:
            await wait_until(lambda: listener.names == ["train"], what="the group is told of")
            await wait_until(lambda: cluster.watch_count == 2, what="both are watched")
            beat = operator.beat_age_seconds()
            assert beat is not None
            assert beat < 10
        assert operator.beat_age_seconds() is None
        await wait_until(lambda: not kopf_threads(), what="its thread has ended")
    assert listener.threads == {threading.get_ident()}
    assert operator.start_count == 1


@pytest.mark.parametrize("status", [503, 500, 403])
async def test_what_is_fatal_to_kopf_is_survived(status: int) -> None:
    listener = Listener()
    async with FakeCluster() as cluster, operating(cluster, listener) as operator:
        await wait_until(lambda: cluster.watch_count == 2, what="both are watched")
        cluster.watch_status = status
        cluster.end_watches()
        await wait_until(lambda: operator.start_count >= 2, what="it is begun again")
        cluster.watch_status = 200
        count = cluster.list_count
        await wait_until(lambda: cluster.list_count > count, what="it is listed again")
        await wait_until(lambda: len(listener.names) > 1, what="the group is told of again")
        assert len(kopf_threads()) <= 1


async def test_a_watch_that_is_refused_again_and_again_is_told_with_the_answer() -> None:
    """Of profiles there are none: nothing else shows that they are not watched."""
    async with FakeCluster() as cluster:
        cluster.watch_status = 403
        async with operating(cluster, Listener()) as operator:
            await wait_until(lambda: operator.start_count >= 2, what="it is begun again")
            problem = operator.watch_problem()
            assert problem == f"{POD_GROUPS.name} is not watched yet: 403 Forbidden"
            cluster.watch_status = 200
            await wait_until(lambda: operator.watch_problem() is None, what="all is watched")


async def test_lists_that_break_again_and_again_are_told() -> None:
    """kopf itself tries again, for ever, and does not end."""
    async with FakeCluster() as cluster:
        cluster.hangs_up = True
        async with operating(cluster, Listener()) as operator:
            await wait_until(lambda: cluster.list_count > 8, what="it is tried again")
            problem = operator.watch_problem()
            assert problem == f"{POD_GROUPS.name} is not watched yet: Server disconnected"
            assert operator.start_count == 1
            cluster.hangs_up = False
            await wait_until(lambda: operator.watch_problem() is None, what="all is watched")


async def test_what_kopf_has_overlooked_is_watched_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "OVERLOOKED_SECONDS", 0.5)
    async with FakeCluster() as cluster:
        cluster.overlooked = {"schedulerprofiles"}
        async with operating(cluster, Listener()) as operator:
            problem = "schedulerprofiles.berthmaster.dev is not watched yet"
            await wait_until(lambda: operator.watch_problem() == problem, what="groups are watched")
            cluster.overlooked = set()
            await wait_until(lambda: operator.watch_problem() is None, what="all is watched")
            assert operator.start_count >= 2
        assert operator.watch_problem() is None
