"""What happens when the leader dies without a word: another replica must go on.

The leader is killed (SIGKILL), so it does not give its Lease back: the standby may take it only
when it has not been renewed for the lease's duration. A Pod that is created at once shows when
somebody schedules again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deploy.demo.cluster import ClusterWriter
from deploy.demo.plan import PlannedPod
from deploy.demo.replicas import Replica
from deploy.demo.shapes import AFTER_LEADER
from deploy.demo.watcher import Watcher

WAIT_SECONDS = 40.0
WITNESS = PlannedPod("after-leader", AFTER_LEADER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """How the loss of the leader went.

    Attributes
    ----------
    seconds
        From the kill to the binding of a Pod created right after it; infinite if it wasn't bound.
    successor
        The replica that leads now, "" if none does.
    """

    killed: str
    killed_pid: int
    seconds: float
    successor: str
    node: str


async def kill_leader(
    replicas: list[Replica],
    leader: Replica,
    writer: ClusterWriter,
    watcher: Watcher,
    *,
    show: Callable[[float], None],
) -> Takeover:
    """Kill the leader, create a Pod, and wait until another replica has bound it.

    Parameters
    ----------
    replicas
        Those that run; the leader is taken out.
    show
        Told how many seconds have passed.
    """
    replicas.remove(leader)
    leader.kill()
    killed_seconds = time.monotonic()
    await writer.create_pod(WITNESS)

    def is_bound() -> bool:
        show(time.monotonic() - killed_seconds)
        return _bound_seconds(watcher) is not None

    await watcher.wait(is_bound, timeout_seconds=WAIT_SECONDS)
    record = watcher.find(WITNESS.name)
    bound_seconds = _bound_seconds(watcher)
    return Takeover(
        killed=leader.name,
        killed_pid=leader.pid,
        seconds=math.inf if bound_seconds is None else bound_seconds - killed_seconds,
        successor=await _name_leader(replicas),
        node=record.node if record else "",
    )


def _bound_seconds(watcher: Watcher) -> float | None:
    record = watcher.find(WITNESS.name)
    return None if record is None else record.bound_seconds


async def _name_leader(replicas: Sequence[Replica]) -> str:
    for replica in replicas:
        if await replica.is_leading():
            return replica.name
    return ""
