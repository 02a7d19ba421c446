"""Lists of the API server: whole ones only, in order, and the newest where there are too many."""

import asyncio

import pytest

from kubeio.changes import Deleted, Listed, ReflectorEvent, Upserted
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.login import Login
from node_agent.core.events import PodsListed
from node_agent.core.objects import Pod
from node_agent.shell.api_source import PENDING_LISTS, ApiSource, pods_of_node
from tests.faultproxy import wait_until
from tests.unit.kubeio.fake_api import unchanged
from tests.unit.node_agent.core.pods import make_pod
from tests.unit.node_agent.shell.lists import Lists, stop
from tests.unit.scheduler_svc.shell.registry import Samples


def make_source(lists: Lists) -> ApiSource:
    """Give a source whose API server nobody answers for."""
    login = Login(server_url="http://127.0.0.1:1")
    client = KubeClient(Credentials(login, unchanged), user_agent="test")
    return ApiSource(client, "n", lists.emit)


class Stage:
    """A source that a test plays the reflector of."""

    def __init__(self) -> None:
        self.lists = Lists()
        self.source = make_source(self.lists)

    def deliver(self, *changes: ReflectorEvent[Pod]) -> None:
        for change in changes:
            self.source._deliver(change)

    async def hand_over(self) -> None:
        """Let the source hand over what it has."""
        task = asyncio.create_task(self.source._hand_over())
        await wait_until(lambda: not self.source._pending, what="all is handed over")
        await stop(task)


@pytest.fixture
async def stage() -> Stage:
    return Stage()


def gone(name: str) -> Deleted:
    return Deleted("default", name, f"uid-{name}")


def test_only_the_nodes_own_pods_are_asked_for() -> None:
    query = pods_of_node("worker-1")
    assert query.parameters() == {"fieldSelector": "spec.nodeName=worker-1"}
    assert query.resource.collection == "/api/v1/pods"


async def test_half_a_first_list_is_not_handed_over(stage: Stage) -> None:
    stage.deliver(Upserted(make_pod("a")), Upserted(make_pod("b")))
    assert not stage.source._pending
    stage.deliver(Listed("7"))
    await stage.hand_over()
    assert stage.lists.names == [["a", "b"]]


async def test_a_first_list_may_be_empty(stage: Stage) -> None:
    stage.deliver(Listed("7"))
    await stage.hand_over()
    assert stage.lists.names == [[]]


async def test_every_change_hands_over_all_pods(stage: Stage) -> None:
    stage.deliver(Upserted(make_pod("a")), Listed("7"))
    stage.deliver(Upserted(make_pod("b")), Upserted(make_pod("a", labels={"x": "1"})))
    stage.deliver(gone("a"), gone("unknown"))
    await stage.hand_over()
    assert stage.lists.names == [["a"], ["a", "b"], ["a", "b"], ["b"], ["b"]]
    assert stage.lists.events[2].pods[0].metadata.labels == {"x": "1"}


async def test_another_list_says_nothing_by_itself(stage: Stage) -> None:
    stage.deliver(Listed("7"), Upserted(make_pod("a")), Listed("9"))
    await stage.hand_over()
    assert stage.lists.names == [[], ["a"]]


async def test_where_lists_pile_up_the_newest_is_kept(stage: Stage) -> None:
    sample = Samples(stage.source.collect)
    stage.deliver(Listed("7"))
    for number in range(PENDING_LISTS + 9):
        stage.deliver(Upserted(make_pod("a", labels={"n": str(number)})))
    assert len(stage.source._pending) == PENDING_LISTS
    newest: PodsListed = stage.source._pending[-1]
    assert newest.pods[0].metadata.labels == {"n": str(PENDING_LISTS + 8)}
    assert sample("berthmaster_agent_lists_overtaken_total") == 10


async def test_without_a_list_it_says_so(stage: Stage) -> None:
    assert stage.source.problem() == "pods not listed yet"
