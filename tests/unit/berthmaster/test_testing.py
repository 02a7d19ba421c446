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


NOTHING = (
    "Typo defines no method of an extension point; there are pre_enqueue, sort_key, pre_filter, "
    "filter, score, reserve, unreserve, permit, pre_bind, undo_pre_bind, post_bind"
)
MEANT = "plugin Typo has a method 'fliter', which no extension point calls; did you mean 'filter'?"


class Short(NodePlugin[Any]):
    """Scores by the Pod alone."""

    score: Any = lambda self, pod: 1


class HalfTypo(Typo):
    """Scores, and means to filter."""

    def score(self, pod: Any, node: Any) -> float:
        return 1.0


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
        ([Typo], [f"Typo: {NOTHING}", f"Typo: {MEANT}"]),
        (
            [Short],
            [
                (
                    "Short: score cannot be called with (pod, node): too many positional "
                    "arguments; it must be score(self, pod, node)"
                )
            ],
        ),
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
                f"Typo: {NOTHING}",
                f"Typo: {MEANT}",
            ],
        ),
    ],
)
def test_what_the_scheduler_refuses_is_refused(plugins: list[Any], said: list[str]) -> None:
    with pytest.raises(PluginLoadError) as caught:
        cluster(plugins=[plugin() for plugin in plugins])
    assert str(caught.value).splitlines() == said


def test_a_misspelt_method_is_warned_of_where_the_test_is() -> None:
    with pytest.warns(UserWarning, match="'fliter', which no extension point calls") as caught:
        cluster(plugins=[HalfTypo()])
    assert [warning.filename for warning in caught] == [__file__]


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
