"""The kit for tests of plugins does as the running scheduler does."""

from collections.abc import AsyncIterator
from threading import Thread
from typing import Any, ClassVar

import pytest

from berthmaster.plugin import FeedApi, NodePlugin, Wait
from berthmaster.testing import cluster, node, pod
from scheduler_svc.shell.custom_plugins import PluginLoadError


class Typo(NodePlugin[Any]):
    """Means filter."""

    def fliter(self, pod: Any, node: Any) -> None:
        return None


class NodeName(NodePlugin[Any]):
    """Has the name of one of kube-scheduler's."""

    def filter(self, pod: Any, node: Any) -> None:
        return None


class Broad(NodeName):
    """Has a scope that is none."""

    name = "Broad"
    scope: ClassVar[Any] = "cluster"


class Late(NodeName):
    """Sets it when it is made."""

    name = "Late"

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["scope"] = "cluster"


class Same(NodeName):
    """Has a name."""

    name = "Same"


class SameName(NodeName):
    """Has it, too."""

    name = "Same"


@pytest.mark.parametrize(
    ("plugins", "said"),
    [
        ([Typo], ["Typo: Typo defines no method of a plugin, such as filter or score"]),
        (
            [NodeName],
            ["NodeName: NodeName is one of kube-scheduler's own plugins; give it another `name`"],
        ),
        (
            [Same, SameName],
            [
                "SameName: another plugin is called Same, too; give one of them another `name`",
            ],
        ),
        (
            [Broad, Late, Typo],
            [
                "Broad: scope is 'cluster'; it must be Scope.SPEC, Scope.USAGE or Scope.CLUSTER",
                "Late: scope is 'cluster'; it must be Scope.SPEC, Scope.USAGE or Scope.CLUSTER",
                "Typo: Typo defines no method of a plugin, such as filter or score",
            ],
        ),
    ],
)
def test_what_the_scheduler_refuses_is_refused(plugins: list[Any], said: list[str]) -> None:
    with pytest.raises(PluginLoadError) as caught:
        cluster(plugins=[plugin() for plugin in plugins])
    assert str(caught.value).splitlines() == said


class Quota(NodePlugin[Any]):
    """Holds Pods back until its service has answered, by the feed or in a thread of its own."""

    def permit(self, pod: Any, node_name: str) -> Wait:
        return Wait(60)

    async def feed(self, api: FeedApi) -> AsyncIterator[str]:
        yield ""

    def on_feed(self, value: tuple[str, str]) -> None:
        uid, reason = value
        if reason:
            self.reject(uid, reason)
        else:
            self.allow(uid)


FIRST, SECOND = pod("first"), pod("second")


def test_a_feed_allows_pods_that_wait() -> None:
    world = cluster(nodes=[node("a")], plugins=[Quota()])
    assert (world.schedule(FIRST).node, world.schedule(SECOND).node) == ("", "")
    world.feed("Quota", (SECOND.uid, ""))
    assert (world.node_of(FIRST), world.node_of(SECOND)) == ("", "a")


def test_a_feed_rejects_pods_that_wait() -> None:
    world = cluster(nodes=[node("a")], plugins=[Quota()])
    world.schedule(FIRST)
    world.feed("Quota", (FIRST.uid, "quota is used up"))
    world.feed("Quota", (FIRST.uid, ""))
    assert world.node_of(FIRST) == ""


def test_a_thread_allows_pods_that_wait() -> None:
    quota = Quota()
    world = cluster(nodes=[node("a")], plugins=[quota])
    world.schedule(FIRST)
    thread = Thread(target=quota.allow, args=(FIRST.uid,))
    thread.start()
    thread.join()
    assert world.node_of(FIRST) == "a"


def test_pods_that_do_not_wait_are_no_error() -> None:
    quota = Quota()
    world = cluster(nodes=[node("a")], plugins=[quota])
    quota.allow("unheard-of")
    quota.reject(FIRST.uid, "too early")
    assert world.schedule(FIRST).node == ""
    assert world.node_of(FIRST) == ""
