"""Choosing loopback ports that are free.

No choice made in advance is safe from a race, so the caller starts its servers and, when one finds
its port taken, chooses anew. Ports are taken below Linux's range for outgoing connections (32768
and up), where any client on the machine could take one at any moment.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable

FIRST_PORT = 20_000
LAST_PORT = 32_000
LOOPBACK = "127.0.0.1"


def is_free(port: int) -> bool:
    """Tell whether a server could listen on ``port`` of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Go's servers do: a connection of an earlier server in TIME_WAIT doesn't count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def choose(wanted: dict[str, int | None]) -> dict[str, int]:
    """Choose a distinct free port for each name, the wanted one if it is free.

    Parameters
    ----------
    wanted
        The preferred port per name; None where any will do.
    """
    chosen: dict[str, int] = {}
    for name, preferred in wanted.items():
        if preferred is not None and preferred not in chosen.values() and is_free(preferred):
            chosen[name] = preferred
        else:
            chosen[name] = _random_free(chosen.values())
    return chosen


def _random_free(taken: Iterable[int]) -> int:
    generator = random.SystemRandom()
    excluded = set(taken)
    while True:
        port = generator.randint(FIRST_PORT, LAST_PORT)
        if port not in excluded and is_free(port):
            return port
