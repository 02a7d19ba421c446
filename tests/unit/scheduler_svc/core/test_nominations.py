"""A nomination that ends: whoever had to leave room for it is called."""

from collections.abc import Callable

import pytest

from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventRegistration,
    EventResource,
    QueueingHint,
)
from scheduler_svc.core.nominations import Nominations
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Place, SchedulingQueue
from tests.builders import at, make_columns, make_node_info, make_pod_info

NOMINEE = make_pod_info("nominee", priority=5)


class Stage:
    """Pods of priority 4, 5 and 6 that wait for what Pods do, and one that is nominated."""

    def __init__(self, action: ActionType = ActionType.DELETE) -> None:
        self.seen: list[tuple[str, str, str]] = []
        event = ClusterEvent(EventResource.POD, action)
        self.queue = SchedulingQueue(
            sort_key=lambda _, seconds: (seconds,),
            pre_enqueue=lambda _: None,
            registrations={"berthmaster": {"P": [EventRegistration(event, self._hint)]}},
        )
        for pod in (NOMINEE, *(make_pod_info(f"p{i}", priority=i) for i in (4, 5, 6))):
            self.queue.add(pod, at(0))
            queued = self.queue.pop(at(0))
            assert queued is not None
            self.queue.put_back(queued, at(0), unschedulable_plugins=["P"])
        self.nominator = Nominator(make_columns([make_node_info("n1"), make_node_info("n2")]))
        self.nominations = Nominations(self.nominator, self.queue)
        self.nominator.nominate(NOMINEE, "n1")

    def _hint(self, pod: PodInfo, old: PodInfo, new: PodInfo | None) -> QueueingHint:
        self.seen.append((pod.name, old.name, old.nominated_node_name))
        return QueueingHint.QUEUE

    def called(self) -> set[str]:
        names = ("nominee", "p4", "p5", "p6")
        waiting = {n for n in names if self.queue.place_of(f"uid-{n}") is Place.UNSCHEDULABLE}
        return set(names) - waiting


Change = Callable[[Nominations], object]


@pytest.mark.parametrize(
    ("change", "node_name", "called"),
    [
        (lambda n: n.set(NOMINEE, "", at(1)), "", {"p4", "p5"}),
        (lambda n: n.set(NOMINEE, "n2", at(1)), "n2", {"p4", "p5"}),
        (lambda n: n.set(NOMINEE, "n1", at(1)), "n1", set()),
        (lambda n: n.end(NOMINEE, at(1)), "", {"p4", "p5"}),
        (lambda n: n.end(NOMINEE, at(1), placed_on="n2"), "", {"p4", "p5"}),
        (lambda n: n.end(NOMINEE, at(1), placed_on="n1"), "", set()),
        (lambda n: n.cancel(NOMINEE, at(1)), "", {"nominee", "p4", "p5"}),
        (lambda n: n.update(NOMINEE, make_pod_info("nominee", priority=5), at(1)), "n1", set()),
        (
            lambda n: n.update(
                make_pod_info("nominee", priority=5, nominated="n1"),
                make_pod_info("nominee", priority=5),
                at(1),
            ),
            "",
            {"p4", "p5"},
        ),
        (
            lambda n: n.update(None, make_pod_info("other", nominated="n2"), at(1)),
            "n1",
            set(),
        ),
    ],
    ids=[
        "cleared",
        "moved",
        "kept",
        "gone",
        "placed elsewhere",
        "placed there",
        "cancelled",
        "not shown yet",
        "cleared in the status",
        "another one",
    ],
)
def test_equals_and_lower_ones_are_called(change: Change, node_name: str, called: set[str]) -> None:
    stage = Stage()
    change(stage.nominations)
    assert stage.nominator.node_name_of("uid-nominee") == node_name
    assert stage.called() == called


def test_hints_see_the_pod_as_if_it_left_the_node() -> None:
    stage = Stage()
    stage.nominations.end(NOMINEE, at(1))
    assert sorted(stage.seen) == [("p4", "nominee", "n1"), ("p5", "nominee", "n1")]


@pytest.mark.parametrize(("labels", "called"), [({"app": "b"}, {"p4", "p5"}), ({}, set())])
def test_other_labels_of_who_is_nominated_are_told(
    labels: dict[str, str], called: set[str]
) -> None:
    stage = Stage(ActionType.UPDATE_POD_LABEL)
    new = make_pod_info("nominee", priority=5, version="2", labels=labels)
    stage.nominations.update(NOMINEE, new, at(1))
    assert stage.called() == called
    assert stage.seen == [(name, "nominee", "n1") for name in sorted(called)]


def test_the_former_node_is_told() -> None:
    assert Stage().nominations.set(NOMINEE, "n2", at(1)) == "n1"


def test_without_nominations_nothing_is_looked_at() -> None:
    stage = Stage()
    stage.nominator.forget(NOMINEE.uid)
    stage.nominations.update(None, make_pod_info("other"), at(1))
    stage.nominations.end(NOMINEE, at(1))
    assert stage.called() == set()


def test_what_was_asked_for_last_counts_until_it_is_shown() -> None:
    nominations = Stage().nominations
    plain, shown = make_pod_info("a"), make_pod_info("a", nominated="n1")
    assert not nominations.ask(plain, "")
    assert nominations.ask(plain, "n1")
    # The status is still empty, but will not stay so.
    assert nominations.ask(plain, "")
    nominations.note_shown(plain)
    assert not nominations.ask(plain, "")
    assert nominations.ask(plain, "n1")
    nominations.update(plain, shown, at(1))
    assert not nominations.ask(shown, "n1")
    assert nominations.ask(shown, "")
    # A late word of what was asked for before.
    nominations.note_shown(shown)
    assert nominations.ask(shown, "")


def test_nothing_is_remembered_of_pods_that_are_gone() -> None:
    nominations = Stage().nominations
    pod = make_pod_info("a")
    nominations.ask(pod, "n1")
    nominations.leave(pod, at(1))
    assert not nominations.ask(pod, "")
