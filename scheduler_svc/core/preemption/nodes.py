"""A Node while victims are looked for on it."""

import msgspec

from scheduler_svc.core.pods import PodInfo


class SearchedNode(msgspec.Struct):
    """A row and its less important Pods; then those that may be spared in turn, and the victims.

    The first `violating_count` of the turns are of Pods whose eviction breaks a budget.
    """

    row: int
    pods: list[PodInfo]
    violating_count: int = 0
    turns: list[PodInfo] = []
    victims: list[PodInfo] = []
    violation_count: int = 0

    def take_turns(self, violating: list[PodInfo], others: list[PodInfo]) -> None:
        """Set who may be spared, in this order."""
        self.violating_count = len(violating)
        self.turns = [*violating, *others]

    def evict(self, turn: int) -> None:
        """Make the Pod of a turn a victim."""
        self.victims.append(self.turns[turn])
        self.violation_count += turn < self.violating_count
