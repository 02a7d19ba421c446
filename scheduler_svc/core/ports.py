"""Host ports in use, counted per Node.

Upstream's set of ports forgets an entry that two Pods share as soon as one of them leaves. Here
the port stays taken until both have; only who asks what would be if Pods left has it forgotten.
Source: pkg/scheduler/framework/types.go and
staging/src/k8s.io/kube-scheduler/framework (`HostPortInfo`), v1.36.3.
"""

from collections.abc import Iterable
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.labels import BoolArray, Rows
from scheduler_svc.core.pods import HostPort

EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - the API's word for it; nothing is bound here

_Key = TypeVar("_Key")
_Counts = npt.NDArray[np.int32]


class PortIndex:
    """How many Pods hold a (protocol, port, address) on each row. Memory: O(N) for each entry."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._exact: dict[HostPort, _Counts] = {}
        self._any_address: dict[tuple[str, int], _Counts] = {}
        # The rows on which a port counts as free, whoever holds it.
        self._forgotten: dict[HostPort, frozenset[int]] = {}

    @property
    def forgotten(self) -> dict[HostPort, frozenset[int]]:
        """What to give to `restore`."""
        return dict(self._forgotten)

    def restore(self, forgotten: dict[HostPort, frozenset[int]]) -> None:
        """Have those ports be forgotten that were."""
        self._forgotten = forgotten

    def forget(self, row: int, ports: Iterable[HostPort], sign: int) -> None:
        """Take the ports of a Pod for free whoever else holds them (`sign` -1), or no more (1)."""
        for port in ports:
            rows = self._forgotten.get(port, frozenset())
            self._forgotten[port] = rows | {row} if sign < 0 else rows - {row}

    def add(self, row: int, ports: Iterable[HostPort], sign: int) -> None:
        """Count the ports of one Pod in (`sign` 1) or out (-1)."""
        for protocol, port, address in ports:
            self._counts(self._exact, (protocol, port, address))[row] += sign
            self._counts(self._any_address, (protocol, port))[row] += sign

    def _counts(self, table: dict[_Key, _Counts], key: _Key) -> _Counts:
        counts = table.get(key)
        if counts is None:
            counts = table[key] = np.zeros(self._capacity, dtype=np.int32)
        return counts

    def free(self, wanted: Iterable[HostPort], rows: Rows) -> BoolArray | None:
        """Give the mask over `rows` where every wanted port is free; None if it is everywhere.

        The address 0.0.0.0 conflicts with every address of the same protocol and port.
        """
        mask: BoolArray | None = None
        for protocol, port, address in wanted:
            for counts in self._conflicting(protocol, port, address):
                unused = counts[rows] == 0
                mask = unused if mask is None else mask & unused
        return mask

    def _conflicting(self, protocol: str, port: int, address: str) -> Iterable[_Counts]:
        if address == EVERY_ADDRESS:
            counts = self._any_address.get((protocol, port))
            return [] if counts is None else [self._without_forgotten(counts, protocol, port)]
        exact = [(protocol, port, address), (protocol, port, EVERY_ADDRESS)]
        return [
            self._without_forgotten(self._exact[key], *key) for key in exact if key in self._exact
        ]

    def _without_forgotten(
        self, counts: _Counts, protocol: str, port: int, address: str | None = None
    ) -> _Counts:
        """Leave out what is forgotten of a port, at one address or at all of them."""
        for key, rows in self._forgotten.items():
            is_counted = key[:2] == (protocol, port) and address in (None, key[2])
            if is_counted and rows:
                at = sorted(rows)
                counts = counts.copy()
                counts[at] -= self._exact[key][at]
        return counts

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        self._capacity = capacity
        for table in (self._exact, self._any_address):
            for key, counts in table.items():
                table[key] = np.concatenate(  # type: ignore[index]
                    [counts, np.zeros(capacity - len(counts), dtype=np.int32)]
                )

    def held(self, row: int) -> dict[HostPort, int]:
        """Give how many Pods of one Node hold each port. O(distinct ports)."""
        return {port: int(counts[row]) for port, counts in self._exact.items() if counts[row]}


def conflicts(wanted: Iterable[HostPort], held: Iterable[HostPort]) -> bool:
    """Whether two sets of ports cannot be on one Node."""
    held = tuple(held)
    return any(
        (protocol, port) == (other_protocol, other_port)
        and (address == other or EVERY_ADDRESS in (address, other))
        for protocol, port, address in wanted
        for other_protocol, other_port, other in held
    )
