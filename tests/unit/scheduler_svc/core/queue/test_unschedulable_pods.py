from math import inf

import msgspec
import pytest

from scheduler_svc.core.framework.cluster_events import (
    FORCE_ACTIVATE,
    ActionType,
    ClusterEvent,
    EventResource,
)
from scheduler_svc.core.queue.queued_pod import QueuedPodInfo
from scheduler_svc.core.queue.unschedulable_pods import RejectorKey, UnschedulablePods
from tests.unit.scheduler_svc.core.queue.builders import PROFILE, make_pod, queued_pod

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
FIT, PORTS, GATES = (PROFILE, "NodeResourcesFit"), (PROFILE, "NodePorts"), (PROFILE, "Gates")


def rejected(name: str, *plugins: str, gate: str | None = None) -> QueuedPodInfo:
    return queued_pod(name, unschedulable_plugins=frozenset(plugins), gating_plugin=gate)


def make_pool(*pods: QueuedPodInfo, max_seconds: float = 300) -> UnschedulablePods:
    pool = UnschedulablePods(max_seconds=max_seconds)
    for queued in pods:
        pool.add(queued, 0)
    return pool


def everyone(_key: RejectorKey, _queued: QueuedPodInfo) -> bool:
    return True


def test_an_event_calls_the_pods_that_its_registrants_rejected_each_once() -> None:
    both = rejected("both", "NodeResourcesFit", "NodePorts")
    fit, ports = rejected("fit", "NodeResourcesFit"), rejected("ports", "NodePorts")
    pool = make_pool(both, fit, ports)
    assert pool.called_by(NODE_ADD, [FIT], everyone) == [both, fit]
    assert pool.called_by(NODE_ADD, [FIT, PORTS], everyone) == [both, fit, ports]
    assert pool.called_by(NODE_ADD, [("another profile", "NodeResourcesFit")], everyone) == []


def test_of_pods_alike_one_is_asked_and_all_are_called_in_their_order() -> None:
    first, other, second = (rejected(name, "NodeResourcesFit") for name in ("a", "b", "c"))
    second.pod = msgspec.structs.replace(second.pod, shape=first.pod.shape)
    pool = make_pool(first, other, second)
    asked: list[str] = []

    def concerns(key: RejectorKey, queued: QueuedPodInfo) -> bool:
        assert key == FIT
        asked.append(queued.pod.name)
        return True

    assert pool.called_by(NODE_ADD, [FIT], concerns) == [first, other, second]
    assert asked == ["a", "b"]
    refuses_first = lambda _key, queued: queued is not first  # noqa: E731
    assert pool.called_by(NODE_ADD, [FIT], refuses_first) == [other]


def test_a_pod_of_a_new_shape_is_asked_for_itself() -> None:
    first, second = rejected("a", "NodeResourcesFit"), rejected("b", "NodeResourcesFit")
    second.pod = msgspec.structs.replace(second.pod, shape=first.pod.shape)
    pool = make_pool(first, second)
    changed = msgspec.structs.replace(second.pod, shape=make_pod("b").shape)
    assert pool.replace(changed)
    assert second.pod is changed
    assert pool.find_fault() is None
    is_second = lambda _key, queued: queued is second  # noqa: E731
    assert pool.called_by(NODE_ADD, [FIT], is_second) == [second]
    assert not pool.replace(make_pod("c"))


def test_a_pod_that_is_filed_under_a_shape_that_it_has_not_is_a_fault() -> None:
    queued = rejected("a", "NodeResourcesFit")
    pool = make_pool(queued)
    queued.pod = make_pod("a")
    assert pool.find_fault() == "default/a is filed under another shape than its own"


def test_a_gated_pod_is_called_by_its_gating_plugin_only() -> None:
    gated = rejected("gated", "NodeResourcesFit", "Gates", gate="Gates")
    pool = make_pool(gated)
    assert pool.called_by(NODE_ADD, [FIT], everyone) == []
    assert pool.called_by(NODE_ADD, [GATES], everyone) == [gated]


def test_a_wildcard_calls_all_but_gated_pods_whose_plugin_did_not_register_it() -> None:
    gated, fit = rejected("gated", "Gates", gate="Gates"), rejected("fit", "NodeResourcesFit")
    pool = make_pool(gated, fit)
    assert pool.called_by(FORCE_ACTIVATE, [], everyone) == [fit]
    assert pool.called_by(FORCE_ACTIVATE, [GATES], everyone) == [gated, fit]


def test_gated_pods_are_counted() -> None:
    pool = make_pool(rejected("gated", "Gates", gate="Gates"), rejected("fit", "NodeResourcesFit"))
    assert (len(pool), pool.gated_count) == (2, 1)
    pool.remove("uid-gated")
    assert (len(pool), pool.gated_count) == (1, 0)


def test_a_removed_pod_is_called_by_nothing() -> None:
    first, second = rejected("a", "NodeResourcesFit"), rejected("b", "NodeResourcesFit")
    pool = make_pool(first, second)
    assert pool.remove("uid-a") is first
    assert pool.remove("uid-a") is None
    assert pool.get("uid-a") is None
    assert pool.get("uid-b") is second
    assert list(pool) == [second]
    assert pool.called_by(NODE_ADD, [FIT], everyone) == [second]


def test_pods_are_overdue_at_the_first_half_minute_after_the_limit() -> None:
    pool = UnschedulablePods(max_seconds=300)
    assert pool.next_flush_seconds() == inf
    pool.add(rejected("a", "NodeResourcesFit"), 10)
    pool.add(rejected("b", "NodeResourcesFit"), 25)
    pool.add(rejected("c", "NodeResourcesFit"), 30)
    assert pool.next_flush_seconds() == 330
    assert [q.pod.name for q in pool.pop_overdue(329.9)] == []
    assert [q.pod.name for q in pool.pop_overdue(330)] == ["a", "b"]
    assert pool.next_flush_seconds() == 360  # at 330 the age of c is not above 300


def test_a_pod_that_comes_back_while_the_pool_is_emptied_is_not_overdue_again() -> None:
    pool = make_pool(rejected("a", "Gates", gate="Gates"), max_seconds=0)
    seen = []
    for queued in pool.pop_overdue(30):
        seen.append(queued.pod.name)
        pool.add(queued, 30)
    assert seen == ["a"]
    assert pool.next_flush_seconds() == 60


def test_a_sound_pool_has_no_fault() -> None:
    pool = make_pool(rejected("a", "NodeResourcesFit"), rejected("b", "Gates", gate="Gates"))
    assert pool.find_fault() is None


@pytest.mark.parametrize("plugins", [frozenset({"NodePorts"}), frozenset()])
def test_changed_rejectors_are_a_fault(plugins: frozenset[str]) -> None:
    queued = rejected("a", "NodeResourcesFit")
    pool = make_pool(queued)
    queued.unschedulable_plugins = plugins
    assert pool.find_fault() == f"default/a is filed under ({FIT!r},)"


def test_a_pod_without_rejectors_is_a_fault() -> None:
    assert make_pool(rejected("a")).find_fault() == "default/a is filed under ()"


def test_a_wrong_index_is_a_fault() -> None:
    pool = make_pool(rejected("a", "NodeResourcesFit"))
    pool._filed[PORTS] = {}
    fault = "the index of the unschedulable pool does not match the Pods in it"
    assert pool.find_fault() == fault


def test_a_wrong_count_is_a_fault() -> None:
    pool = make_pool(rejected("a", "NodeResourcesFit"))
    pool.gated_count = 1
    assert pool.find_fault() == "gated_count is 1"
