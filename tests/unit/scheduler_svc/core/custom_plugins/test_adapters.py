"""The extension points around a decision: asked as the framework asks, safe when they fail."""

from collections.abc import AsyncIterator, Sequence
from itertools import product
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from berthmaster.testing import cluster, node, pod
from scheduler_svc.core.custom_plugins.adapt import METHODS, adapt, points_of
from scheduler_svc.core.custom_plugins.adapters import (
    Adapter,
    EventsAdapter,
    PostBindAdapter,
    PreEnqueueAdapter,
    PreFilterAdapter,
    QueueSortAdapter,
    ReserveAdapter,
)
from scheduler_svc.core.custom_plugins.base import (
    FeedApi,
    NodePlugin,
    Reject,
    VectorPlugin,
    Wait,
)
from scheduler_svc.core.custom_plugins.guard import PlainGuard, shown
from scheduler_svc.core.custom_plugins.views import Node, Pod
from scheduler_svc.core.events import PermitDecided
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.framework.interface import PermitPlugin, PreBindPlugin, PreBindWork
from scheduler_svc.core.status import SUCCESS, Code, Status
from tests.builders import make_cluster

NODES = [node("a"), node("b")]
NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)


class Diary(NodePlugin[Any]):
    """Stands at every point and notes what it is asked."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.notes: list[str] = []
        self.answers = dict.fromkeys(("enqueue", "pre_filter", "reserve", "permit"))
        self.answers.update(zip(self.answers, answers, strict=False))

    def pre_enqueue(self, pod: Pod) -> Any:
        self.notes.append(f"enqueue {pod.name}")
        return self.answers["enqueue"]

    def pre_filter(self, pod: Pod) -> Any:
        self.notes.append("pre-filter")
        return self.answers["pre_filter"]

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        return None

    def reserve(self, pod: Pod, node_name: str) -> Any:
        self.notes.append(f"reserve {pod.name} on {node_name}")
        return self.answers["reserve"]

    def unreserve(self, pod: Pod, node_name: str) -> None:
        self.notes.append(f"unreserve {pod.name}")

    def permit(self, pod: Pod, node_name: str) -> Any:
        self.notes.append(f"permit {pod.name}")
        return self.answers["permit"]

    async def pre_bind(self, pod: Pod, node_name: str) -> None:
        self.notes.append(f"pre-bind {pod.name}")

    def post_bind(self, pod: Pod, node_name: str) -> None:
        self.notes.append(f"post-bind {pod.name}")


def test_points_are_asked_in_order() -> None:
    diary = Diary()
    outcome = cluster(nodes=NODES[:1], plugins=[diary]).schedule(pod("p"))
    assert outcome.node == "a"
    assert diary.notes == [
        "enqueue p",
        "pre-filter",
        "reserve p on a",
        "permit p",
        "pre-bind p",
        "post-bind p",
    ]


def test_a_pod_may_be_kept_out_of_the_queue() -> None:
    diary = Diary("not before noon")
    outcome = cluster(nodes=NODES, plugins=[diary]).schedule(pod("p"))
    assert (outcome.node, outcome.message) == ("", "not before noon")
    assert diary.notes == ["enqueue p"]


def test_pre_filter_may_reject_or_name_the_nodes() -> None:
    assert cluster(nodes=NODES, plugins=[Diary(None, frozenset({"b"}))]).schedule(pod()).node == "b"
    assert cluster(nodes=NODES, plugins=[Diary(None, {"a"})]).schedule(pod()).node == "a"
    rejected = cluster(nodes=NODES, plugins=[Diary(None, "closed")]).schedule(pod())
    assert rejected.message == "0/2 nodes are available: closed."


def test_a_reservation_that_fails_is_given_back() -> None:
    diary = Diary(None, None, "out of licences")
    outcome = cluster(nodes=NODES[:1], plugins=[diary]).schedule(pod("p"))
    assert outcome.message == "0/1 nodes are available: 1 out of licences."
    assert diary.notes[-2:] == ["reserve p on a", "unreserve p"]


def test_a_pod_may_be_held_back_until_it_is_too_late() -> None:
    diary = Diary(None, None, None, Wait(30))
    world = cluster(nodes=NODES[:1], plugins=[diary])
    assert world.schedule(pod("p")).node == ""
    assert diary.notes[-1] == "permit p"
    world.wait(31)
    assert diary.notes[-1] == "unreserve p"


class Holding(NodePlugin[Any]):
    """Holds each Pod back at first."""

    pod_fields = frozenset({"name"})

    def permit(self, pod: Pod, node_name: str) -> Any:
        return Wait(30)


def told(plugin: NodePlugin[Any]) -> list[PermitDecided]:
    decisions: list[PermitDecided] = []
    adapt(plugin, PlainGuard()).connect(decisions.append)
    return decisions


def test_a_plugin_decides_on_pods_that_it_holds_back() -> None:
    holding = Holding()
    decisions = told(holding)
    holding.allow(Pod(pod("p"), frozenset()))
    holding.allow("uid")
    holding.reject("uid", "quota is used up")
    assert decisions == [
        PermitDecided("default/p", "Holding"),
        PermitDecided("uid", "Holding"),
        PermitDecided("uid", "Holding", "quota is used up"),
    ]


def test_a_plugin_may_have_any_methods_of_its_own() -> None:
    class Connecting(Holding):
        def connect(self) -> None:
            """Mean its own service."""

    connecting = Connecting()
    decisions = told(connecting)
    connecting.allow("uid")
    assert decisions == [PermitDecided("uid", "Connecting")]


@pytest.mark.parametrize("reason", ["", None, 5])
def test_a_rejection_has_a_reason(reason: Any) -> None:
    holding = Holding()
    decisions = told(holding)
    with pytest.raises(ValueError, match="reject needs a reason, a text"):
        holding.reject("uid", reason)
    assert decisions == []


@pytest.mark.parametrize("given", [None, 7, pod("p")])
def test_only_pods_and_uids_are_decided_on(given: Any) -> None:
    with pytest.raises(TypeError, match="a Pod or its uid is needed, not "):
        Holding().allow(given)


def test_decisions_that_nobody_takes_are_lost() -> None:
    Holding().allow("uid")


def test_permit_may_reject() -> None:
    diary = Diary(None, None, None, Reject("not today"))
    outcome = cluster(nodes=NODES[:1], plugins=[diary]).schedule(pod("p"))
    assert outcome.message == "0/1 nodes are available: 1 not today."


def test_outside_work_can_be_undone_where_the_plugin_says_how() -> None:
    class Undoing(Diary):
        async def undo_pre_bind(self, pod: Pod, node_name: str) -> None:
            return None

    plain, undoing = adapt(Diary(), PlainGuard()), adapt(Undoing(), PlainGuard())
    assert isinstance(plain, ReserveAdapter)
    assert plain.undo(pod(), "a") is None
    assert isinstance(undoing, ReserveAdapter)
    undo = undoing.undo(pod("p"), "a")
    assert undo is not None
    assert (undo.pod.name, undo.node_name) == ("p", "a")


def test_a_plugin_that_only_undoes_reserves_nothing() -> None:
    class OnlyUndoing(NodePlugin[Any]):
        async def pre_bind(self, pod: Pod, node_name: str) -> None:
            return None

        async def undo_pre_bind(self, pod: Pod, node_name: str) -> None:
            return None

    assert points_of(OnlyUndoing) == {"preBind", "reserve"}
    adapter, nothing = adapt(OnlyUndoing(), PlainGuard()), make_cluster([])
    assert isinstance(adapter, ReserveAdapter)
    assert adapter.reserve(pod(), "a", nothing) is SUCCESS
    adapter.unreserve(pod(), "a", nothing)
    assert cluster(nodes=NODES[:1], plugins=[OnlyUndoing()]).schedule(pod("p")).node == "a"


class Failing(NodePlugin[Any]):
    """Raises wherever it is asked."""

    def pre_enqueue(self, pod: Pod) -> str | None:
        raise ValueError("enqueue")

    def sort_key(self, pod: Pod, timestamp_seconds: float) -> tuple[float, ...]:
        raise ValueError("sort")

    def pre_filter(self, pod: Pod) -> str | Reject | frozenset[str] | None:
        raise ValueError("pre-filter")

    def reserve(self, pod: Pod, node_name: str) -> str | Reject | None:
        raise ValueError("reserve")

    def permit(self, pod: Pod, node_name: str) -> str | Reject | Wait | None:
        raise ValueError("permit")

    def post_bind(self, pod: Pod, node_name: str) -> None:
        raise ValueError("post-bind")

    def on_feed(self, value: Any) -> None:
        raise ValueError("feed")

    def events_to_register(self) -> Sequence[EventRegistration]:
        return [EventRegistration(NODE_ADD, self.hint), EventRegistration(NODE_ADD)]  # type: ignore[arg-type]

    def hint(self, pod: Pod, old: Any, new: Any) -> QueueingHint:
        raise ValueError("hint")


def failed(point: str, text: str) -> Status:
    return Status(Code.ERROR, (f'plugin "Failing" failed in {point}: ValueError: {text}',))


def test_failures_are_errors_that_name_the_plugin() -> None:
    adapter, nothing = adapt(Failing(), PlainGuard()), make_cluster([])
    assert isinstance(adapter, PreEnqueueAdapter)
    assert adapter.pre_enqueue(pod()) == failed("pre_enqueue", "enqueue")
    assert isinstance(adapter, PreFilterAdapter)
    assert adapter.pre_filter(pod(), nothing).status == failed("pre_filter", "pre-filter")
    assert isinstance(adapter, ReserveAdapter)
    assert adapter.reserve(pod(), "a", nothing) == failed("reserve", "reserve")
    assert isinstance(adapter, PermitPlugin)
    assert adapter.permit(pod(), "a") == (failed("permit", "permit"), 0.0)
    assert adapter.take_in(7) == failed("on_feed", "feed")
    assert isinstance(adapter, PostBindAdapter)
    adapter.post_bind(pod(), "a")
    adapter.unreserve(pod(), "a", nothing)


def test_pods_are_sorted_all_the_same() -> None:
    adapter = adapt(Failing(), PlainGuard())
    assert isinstance(adapter, QueueSortAdapter)
    assert adapter.sort_key(pod(spec={"priority": 5}), 12.5) == (-5, 12.5)

    class Nonsense(Failing):
        def sort_key(self, pod: Pod, timestamp_seconds: float) -> Any:
            return "first"

    sorting = adapt(Nonsense(), PlainGuard())
    assert isinstance(sorting, QueueSortAdapter)
    assert sorting.sort_key(pod(), 1.0) == (0, 1.0)


ANSWERS: list[Any] = [
    None,
    5,
    nan,
    "",
    "\udc80",
    Reject(5),  # type: ignore[arg-type]
    Wait("5"),  # type: ignore[arg-type]
    Wait(nan),
    Wait(None),  # type: ignore[arg-type]
    Wait(inf),
    Wait(-1),
    {1},
    [None],
    object(),
    np.zeros(3),
    SystemExit(3),
    OSError("\udc80"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=shown)
def test_no_answer_at_any_point_comes_through(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole scheduler goes on, whatever a plugin gives at its points, alone or at all."""

    class Guarded(PlainGuard):
        refusal = ""

    def give(*_: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    monkeypatch.setattr("berthmaster.testing._Unguarded", Guarded)
    points = [name for name in METHODS if name != "events_to_register"]
    bases = (NodePlugin, VectorPlugin)
    for base, names in product(bases, [points, *([name] for name in points if name != "on_feed")]):
        plugin = type("Giving", (base,), dict.fromkeys(names, give))()
        world = cluster(nodes=NODES, plugins=[plugin])
        world.feed("Giving", answer)
        world.schedule(pod("p"))
        world.schedule(pod("q", spec={"priority": 5}))
        world.wait(20 * 60)
        world.schedule(pod("r"))


@pytest.mark.parametrize("answer", [*ANSWERS[6:9], Wait(-1), 5, SystemExit(3)], ids=shown)
def test_the_event_names_the_plugin(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Guarded(PlainGuard):
        refusal = ""

    class Answering(NodePlugin[Any]):
        def permit(self, pod: Pod, node_name: str) -> Any:
            if isinstance(answer, BaseException):
                raise answer
            return answer

    monkeypatch.setattr("berthmaster.testing._Unguarded", Guarded)
    outcome = cluster(nodes=NODES, plugins=[Answering()]).schedule(pod("p"))
    assert outcome.node == ""
    assert 'plugin "Answering" failed in permit: ' in outcome.message


def test_a_plugin_may_sort() -> None:
    class Latest(Failing):
        def sort_key(self, pod: Pod, timestamp_seconds: float) -> tuple[float, ...]:
            return (-timestamp_seconds,)

    sorting = adapt(Latest(), PlainGuard())
    assert isinstance(sorting, QueueSortAdapter)
    assert sorting.sort_key(pod(), 3.0) == (-3.0,)


def hints(adapter: Adapter) -> list[EventRegistration]:
    assert isinstance(adapter, EventsAdapter)
    return list(adapter.events_to_register())


def test_a_hint_that_fails_brings_the_pod_back() -> None:
    failing, without, feed = hints(adapt(Failing(), PlainGuard()))
    assert failing.hint is not None
    assert failing.hint(pod(), None, NODES[0]) is QueueingHint.QUEUE
    assert without.hint is None
    assert feed.event == ClusterEvent("Feed/Failing", ActionType.UPDATE)


@pytest.mark.parametrize("answer", [QueueingHint.SKIP, QueueingHint.QUEUE, "nonsense"])
def test_hints_see_pods_as_plugins_do(answer: Any) -> None:
    seen: list[Any] = []

    class Hinting(Failing):
        def hint(self, pod: Pod, old: Any, new: Any) -> QueueingHint:
            seen.extend([pod.name, old.name, new])
            result: QueueingHint = answer
            return result

    registration = hints(adapt(Hinting(), PlainGuard()))[0]
    assert registration.hint is not None
    expected = QueueingHint.QUEUE if answer == "nonsense" else answer
    assert registration.hint(pod("p"), pod("gone"), None) is expected
    assert seen == ["p", "gone", None]


class Denylist(NodePlugin[Any]):
    """Rejects the Nodes that its feed names."""

    denied: frozenset[str] = frozenset()

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        return "node(s) were denied" if node.name in self.denied else None

    async def feed(self, api: FeedApi) -> AsyncIterator[frozenset[str]]:
        yield frozenset()

    def on_feed(self, value: Any) -> None:
        self.denied = value


def test_a_feed_changes_verdicts_and_calls_waiting_pods() -> None:
    world = cluster(nodes=NODES[:1], plugins=[Denylist()])
    world.feed("Denylist", frozenset({"a"}))
    outcome = world.schedule(pod("p"))
    assert outcome.message == "0/1 nodes are available: 1 node(s) were denied."
    world.feed("SomebodyElse", frozenset())
    world.wait(2)
    assert world.schedule(pod("q")).node == ""
    world.feed("Denylist", frozenset())
    world.wait(10)
    bound = world.schedule(pod("r"))
    assert bound.node == "a"
    assert {e.pod.name for e in bound.effects if hasattr(e, "decision_id")} == {"p", "q", "r"}


def test_outside_work_has_its_own_time() -> None:
    class Slow(Diary):
        pre_bind_timeout_seconds = 7.5

    adapter = adapt(Slow(), PlainGuard())
    assert isinstance(adapter, PreBindPlugin)
    work = adapter.pre_bind(pod(), "a", make_cluster([]))
    assert isinstance(work, PreBindWork)
    assert work.timeout_seconds == 7.5
    assert adapter.take_in.__name__ == "take_in"
    assert SUCCESS.code is Code.SUCCESS
