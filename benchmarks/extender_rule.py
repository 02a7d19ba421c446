"""What the extender of the shapes says of Pods and Nodes: the numbers in their names decide.

Each Pod may be on two Nodes of five, those of its own number. Every eleventh Node is liked best.
"""

from functools import cache
from typing import Final

HIGHEST_SCORE: Final = 10
_NODES_OF_A_TURN: Final = 5
_ALLOWED_OF_A_TURN: Final = 2


def allows(pod_name: str, node_name: str) -> bool:
    """Whether a Pod may be on a Node."""
    return (number_of(pod_name) + number_of(node_name)) % _NODES_OF_A_TURN < _ALLOWED_OF_A_TURN


def score(node_name: str) -> int:
    """Say how much a Node is liked by any Pod, from 0 to `HIGHEST_SCORE`."""
    return number_of(node_name) % (HIGHEST_SCORE + 1)


@cache
def number_of(name: str) -> int:
    """Give the number that a name ends with: 7 of ``node-00007``."""
    return int(name.rpartition("-")[2])
