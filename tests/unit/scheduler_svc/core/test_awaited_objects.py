"""Who waits for which object."""

from scheduler_svc.core.awaited_objects import AwaitedObjects
from scheduler_svc.core.cluster_objects import ObjectKind

VOLUME = (ObjectKind.PERSISTENT_VOLUME, "pv")
CLAIM = (ObjectKind.PERSISTENT_VOLUME_CLAIM, "default/data")


def test_those_that_wait_for_the_object_or_for_any() -> None:
    awaited = AwaitedObjects()
    awaited.add("a", {VOLUME, CLAIM})
    awaited.add("b", {VOLUME})
    awaited.add("c", None)
    assert awaited.concerned(VOLUME) == ["c", "a", "b"]
    assert awaited.concerned(CLAIM) == ["c", "a"]
    assert awaited.concerned((ObjectKind.CSI_NODE, "pv")) == ["c"]
    awaited.discard("a")
    assert awaited.concerned(VOLUME) == ["c", "b"]


def test_the_last_word_counts() -> None:
    awaited = AwaitedObjects()
    awaited.add("a", {VOLUME})
    awaited.add("a", {CLAIM})
    assert awaited.concerned(VOLUME) == []
    assert awaited.concerned(CLAIM) == ["a"]
    awaited.add("a", None)
    awaited.add("a", ())
    assert awaited.concerned(CLAIM) == []


def test_those_that_wait_no_longer() -> None:
    awaited = AwaitedObjects()
    awaited.add("a", [VOLUME, VOLUME])
    awaited.add("b", None)
    for uid in ("a", "b", "unknown"):
        awaited.discard(uid)
    assert awaited.concerned(VOLUME) == []
