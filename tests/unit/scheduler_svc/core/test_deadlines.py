"""Deadlines: the earliest that holds, whose are over, and that nothing piles up."""

from random import Random

from scheduler_svc.core.deadlines import Deadlines


class Holding:
    """Deadlines by uid, and what is kept of them."""

    def __init__(self) -> None:
        self.held: dict[str, float] = {}
        self.deadlines = Deadlines(lambda uid, seconds: self.held.get(uid) == seconds)

    def add(self, uid: str, seconds: float) -> None:
        self.held[uid] = seconds
        self.deadlines.add(uid, seconds)


def test_the_earliest_that_holds_is_given() -> None:
    some = Holding()
    assert some.deadlines.earliest() is None
    some.add("a", 30)
    some.add("b", 20)
    assert some.deadlines.earliest() == 20
    del some.held["b"]
    assert some.deadlines.earliest() == 30
    some.add("a", 40)
    assert some.deadlines.earliest() == 40
    assert some.deadlines.take_due(39) == []
    some.add("c", 35)
    some.add("d", 10)
    del some.held["d"]
    assert some.deadlines.take_due(40) == ["c", "a"]
    assert some.deadlines.earliest() is None


def test_what_no_longer_holds_does_not_pile_up() -> None:
    some, random = Holding(), Random(1)
    for number in range(5000):
        some.add(f"uid-{number}", 600 + random.random())
        if number >= 10:
            del some.held[f"uid-{number - 10}"]
        assert some.deadlines.earliest() == min(some.held.values())
        assert len(some.deadlines) <= 200
